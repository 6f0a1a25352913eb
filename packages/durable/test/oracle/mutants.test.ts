/** The oracle finds what breaks a machine, and reports nothing else. `npm run bench -- durable --only oracle` tries all mutants. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Journal } from "@detent/store"
import { readerIn } from "@detent/store/Database"
import { JournalReader } from "@detent/store/internal"
import * as SqliteStore from "@detent/store/SqliteStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { commitsOf, experiment, scriptsOf } from "./experiment.ts"
import { make, specimens } from "./machines.ts"

describe("mutants of five machines", () => {
  for (const [name, text] of specimens)
    it.effect(`${name}: harmful ones are found, other words are not`, () =>
      Effect.acquireUseRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-oracle-"))),
        (folder) =>
          Effect.gen(function* () {
            const filename = join(folder, "detent.db")
            const specimen = make(text)
            const scripts = scriptsOf(specimen, 60)
            yield* Effect.provide(
              Effect.flatMap(Journal, (journal) => journal.commit(commitsOf(specimen, scripts))),
              SqliteStore.layer({ filename }),
            )
            const { harmful, missed, rewordings, invented } = yield* Effect.provide(
              Effect.flatMap(JournalReader, (reader) => experiment(reader, name, scripts, (_, index) => index % 3 === 0)),
              readerIn({ _tag: "Sqlite", file: filename }),
            )
            assert.isAbove(harmful, 10)
            assert.isAbove(rewordings, 5)
            assert.deepStrictEqual(invented, [])
            assert.deepStrictEqual(missed, [])
          }),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
      ),
    )
})
