import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Chance } from "../../generators/Chance.ts"
import { CrashProcess } from "./CrashProcess.ts"
import { folderWith } from "./Sea.ts"

/** So early that the document is not done before the last. */
const kills = 24
const pauseMillis = 4

/** Some stretches name many ships and give large graphs, kept as files; the others name few and give graphs kept in their row. */
const logbook = Array.from({ length: 9000 }, (_, number) =>
  number % 400 < 60 || number % 10 === 0
    ? `Ship${number} passed Ship${number + 1} in the fog off the coast.`
    : "Nothing was seen that night but rain and the light of the cape.",
).join(" ")

/** The batches of chunks whose end is stored. */
const storedBatches = (root: string): ReadonlySet<number> => {
  const database = new DatabaseSync(join(root, "killed.db"))
  try {
    const isThere = database.prepare("select 1 from sqlite_master where name = 'run_checkpoints'").get() !== undefined
    const rows = isThere ? database.prepare("select batch_index from run_checkpoints").all() : []
    return new Set(rows.map((row) => Number(row["batch_index"])))
  } finally {
    database.close()
  }
}

const callsIn = (root: string, name: string) =>
  readFileSync(join(root, `${name}.log`), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map(Number)

describe("a run whose process is killed again and again", () => {
  it.live("extracts no stored batch twice, and ends with the same bytes as one that nobody disturbed", () =>
    Effect.gen(function* () {
      const root = yield* folderWith({ "log.txt": logbook })
      const killed = yield* Effect.promise(() => killUntilDone(root))
      yield* Effect.promise(() => undisturbed(root))
      expect(killed.repeated).toEqual([])
      // Kills fell into the middle of the work, not all before its first result.
      expect(new Set(killed.progress).size).toBeGreaterThan(kills / 4)
      const { chunks } = JSON.parse(readFileSync(join(root, "whole.json"), "utf8")).result
      expect(callsIn(root, "whole")).toHaveLength(chunks)
      expect(new Set(callsIn(root, "killed")).size).toBe(chunks)
      for (const file of ["nt", "json"]) {
        expect(readFileSync(join(root, `killed.${file}`), "utf8")).toBe(readFileSync(join(root, `whole.${file}`), "utf8"))
      }
      expect(readFileSync(join(root, "whole.nt"), "utf8").length).toBeGreaterThan(1_000_000)
    }),
  )
})

const killUntilDone = async (root: string) => {
  const chance = new Chance(Date.now() % 100_000, "kills")
  const repeated: Array<{ readonly round: number; readonly chunk: number }> = []
  const progress: Array<number> = []
  writeFileSync(join(root, "killed.log"), "")
  let next = new CrashProcess()
  for (let round = 0; round <= kills; round++) {
    const stored = storedBatches(root)
    const before = callsIn(root, "killed").length
    const worker = next
    // The next one loads its modules meanwhile.
    if (round < kills) next = new CrashProcess()
    // Every other kill comes after some results; the rest may come before the first.
    const calls = round % 2 === 0 ? chance.below(12) : 4 + chance.below(8)
    await worker.extract({ root, name: "killed", pauseMillis }, round < kills ? calls : Number.POSITIVE_INFINITY)
    if (round < kills) await sleep(chance.below(15))
    progress.push(stored.size)
    expect(worker.isDone).toBe(round === kills)
    await worker.kill()
    for (const chunk of callsIn(root, "killed").slice(before)) {
      if (stored.has(Math.floor(chunk / 2))) repeated.push({ round, chunk })
    }
  }
  return { repeated, progress }
}

const undisturbed = async (root: string) => {
  const worker = new CrashProcess()
  await worker.extract({ root, name: "whole", pauseMillis: 0 }, Number.POSITIVE_INFINITY)
  await worker.kill()
}
