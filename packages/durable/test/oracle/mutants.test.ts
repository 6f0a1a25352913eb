/** Some mutants of each machine. `mutants.proof.ts` tries all of them. */
import { Journal } from "@detent/store"
import { readerIn } from "@detent/store/Database"
import { JournalReader } from "@detent/store/internal"
import * as SqliteStore from "@detent/store/SqliteStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import { commitsOf, isReported, judged, scriptsOf } from "./experiment.ts"
import { make, specimens } from "./machines.ts"

/** Breaks a guard, a target, a field, a timer and a requested effect; then says the same in other words. */
const changes: ReadonlyArray<readonly [name: string, from: string, to: string, isHarmful: boolean]> = [
  ["order", "event.amount >= state.total", "event.amount > state.total - 1000", true],
  [
    "approval",
    "S.Rejected, ({ state }) => S.Rejected({ amount: state.amount }",
    "S.Expired, ({ state }) => S.Expired({ reminders: 0 }",
    true,
  ],
  ["subscription", "credit: state.credit - event.amount", "credit: state.credit", true],
  ["ticket", '"3 days"', '"2 days"', true],
  ["stock", "count: 20 - state.count", "count: 21 - state.count", true],
  ["order", "state.total > 100", "!(state.total <= 100)", false],
  ["ticket", '"3 days"', '"72 hours"', false],
]

describe("changes of machines", () => {
  for (const [name, from, to, isHarmful] of changes)
    it.live(`${name}: ${from} → ${to} is ${isHarmful ? "found" : "the same"}`, () =>
      Effect.gen(function* () {
        const text = specimens.get(name) ?? ""
        // The text is that of the compiled function: only its spaces may differ.
        const spaced = new RegExp(
          from
            .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
            .replace(/\s+/g, "\\s*")
            .replace(/ ?([{}(),]) ?/g, "$1"),
        )
        assert.match(text, spaced)
        const filename = yield* freshFile
        const specimen = make(text)
        const scripts = scriptsOf(specimen, 40)
        const stored = Effect.flatMap(Journal, (journal) => journal.commit(commitsOf(specimen, scripts)))
        yield* Effect.provide(stored, SqliteStore.layer({ filename }))
        const judging = Effect.flatMap(JournalReader, (reader) => judged(reader, specimen.machine, make(text.replace(spaced, to)).machine))
        const findings = yield* Effect.provide(judging, readerIn({ _tag: "Sqlite", file: filename }))
        assert.strictEqual(isReported(findings), isHarmful, JSON.stringify(findings.reasons))
      }),
    )
})
