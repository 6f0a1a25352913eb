/** Opens a SQLite store as the user of this process, and prints the outcome. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqliteStore from "../../src/SqliteStore.ts"

const opened = Effect.as(Effect.scoped(Layer.build(SqliteStore.layer({ filename: process.argv[2] ?? "" }))), "opened")

console.log(await Effect.runPromise(Effect.catch(opened, ({ message }) => Effect.succeed(message))))
