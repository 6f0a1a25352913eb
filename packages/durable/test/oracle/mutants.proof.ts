/** Of all mutants of five machines, the oracle finds those that break something, and reports no change of words. */
import { Journal } from "@detent/store"
import { readerIn } from "@detent/store/Database"
import { JournalReader } from "@detent/store/internal"
import * as SqliteStore from "@detent/store/SqliteStore"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import { commitsOf, experiment, scriptsOf } from "./experiment.ts"
import { make, specimens } from "./machines.ts"

it.live("at least 99 of 100 harmful mutants are found, and nothing is invented", () =>
  Effect.gen(function* () {
    const outcomes = yield* Effect.forEach([...specimens], ([name, text]) =>
      Effect.gen(function* () {
        const filename = yield* freshFile
        const specimen = make(text)
        const scripts = scriptsOf(specimen, 60)
        const stored = Effect.flatMap(Journal, (journal) => journal.commit(commitsOf(specimen, scripts)))
        yield* Effect.provide(stored, SqliteStore.layer({ filename }))
        const judging = Effect.flatMap(JournalReader, (reader) => experiment(reader, name, scripts))
        return yield* Effect.provide(judging, readerIn({ _tag: "Sqlite", file: filename }))
      }),
    )
    const harmful = outcomes.reduce((sum, outcome) => sum + outcome.harmful, 0)
    const missed = outcomes.flatMap((outcome) => outcome.missed)
    assert.isAbove(harmful, 400)
    assert.isAtMost(missed.length / harmful, 0.01, missed.join("\n"))
    assert.deepStrictEqual(
      outcomes.flatMap(({ invented }) => invented),
      [],
    )
  }),
)
