/** The database of programs that open an engine. The `detent` command uses the same one. */
import type { DatabaseAddress } from "@detent/durable/promise"

export const database: DatabaseAddress = "sqlite:.detent/detent.db"
