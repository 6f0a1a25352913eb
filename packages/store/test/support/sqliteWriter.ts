/** A process of its own that writes to a SQLite file: its own instance many times, and one that all writers want to create. */
import * as Effect from "effect/Effect"
import { Journal } from "../../src/contract/Journal.ts"
import * as SqliteStore from "../../src/SqliteStore.ts"
import { commit } from "../../testing/samples.ts"

const [filename = "", id = ""] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const journal = yield* Journal
  const own = { machine: "Writer", id }
  const [created] = yield* journal.commit([commit({ machine: "Shared", id: "one" }, -1)])
  for (let expected = -1; expected < 50; expected++) {
    const [outcome] = yield* journal.commit([commit(own, expected)])
    if (outcome?._tag !== "Stored") return yield* Effect.die(new Error(`${id} at ${expected}: ${JSON.stringify(outcome)}`))
  }
  return created?._tag
})

console.log(await Effect.runPromise(Effect.provide(program, SqliteStore.layer({ filename }))))
