/** The database of programs that open an engine. The `detent` command uses the same one. */
import type { DatabaseAddress } from "@detent/durable/promise"

const address = process.env["DETENT_DATABASE_URL"]
if (address === undefined) throw new Error("DETENT_DATABASE_URL is not set; use `npm start`, which reads .env, or set it as .env does")

export const database = address as DatabaseAddress
