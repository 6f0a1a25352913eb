/** The oracle: how many stored instances it judges a second, and which mutants of five machines it finds. */
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { Journal } from "@detent/store"
import { readerIn } from "@detent/store/Database"
import { JournalReader } from "@detent/store/internal"
import * as SqliteStore from "@detent/store/SqliteStore"
import { loadConfig } from "@detent/workspace/Config"
import { check } from "@detent/workspace/operations/oracle"
import { Workspace } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import { commitsOf, experiment, type Outcome, scriptsOf } from "../../../packages/durable/test/oracle/experiment.ts"
import { make, specimens } from "../../../packages/durable/test/oracle/machines.ts"
import type { Part } from "../../measure/Group.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"

const batch = 500

/** Different lives. The instances of a million have them in turn. */
const lives = 5000

export const oracle: Part = async ({ quick }) => {
  const folder = temporaryFolder()
  const count = quick ? 50_000 : 1_000_000
  const { seconds, events, same } = await judgeMany(folder.file("many.db"), count)
  const outcomes: Array<Outcome & { readonly name: string }> = []
  for (const name of specimens.keys()) outcomes.push({ name, ...(await mutate(folder.file(`${name}.db`), name)) })
  folder.remove()
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0)
  return {
    tables: [
      {
        title: `${count.toLocaleString("en")} instances on SQLite, their decisions compared with those of other code by ${availableParallelism()} workers`,
        columns: ["instances", "events", "seconds", "instances a second", "the same"],
        rows: [[count, events, seconds.toFixed(1), (count / seconds).toFixed(0), same].map(String)],
      },
      {
        title: "Mutants of five machines",
        columns: ["machine", "harmful", "found", "rewordings", "reported though the same"],
        rows: outcomes.map(({ name, harmful, found, rewordings, invented }) =>
          [name, harmful, found, rewordings, invented.length].map(String),
        ),
      },
    ],
    figures: {
      "oracle.instancesPerSecond": count / seconds,
      "oracle.mutantsFound": sum(({ found }) => found) / sum(({ harmful }) => harmful),
      "oracle.falseAlarms": sum(({ invented }) => invented.length),
    },
  }
}

const fileBeside = (name: string): string => fileURLToPath(new URL(`./oracle/${name}.ts`, import.meta.url))

/** Stores the instances, then judges them by code that decides the same. */
const judgeMany = async (filename: string, count: number) => {
  const specimen = make(specimens.get("order") ?? "")
  const made = commitsOf(specimen, scriptsOf(specimen, Math.min(lives, count)))
  let events = 0
  const fill = Effect.gen(function* () {
    const journal = yield* Journal
    for (let first = 0; first < count; first += batch) {
      const commits = Array.from({ length: Math.min(batch, count - first) }, (_, index) => {
        const commit = made[(first + index) % made.length]
        if (commit === undefined) throw new Error("there is no life")
        events += commit.events.length
        return { ...commit, id: String(first + index).padStart(8, "0") }
      })
      yield* journal.commit(commits)
    }
  })
  await Effect.runPromise(Effect.provide(fill, SqliteStore.layer({ filename, synchronous: "normal" })))
  const config = await Effect.runPromise(loadConfig(fileBeside("before")))
  const judged = Effect.gen(function* () {
    const start = performance.now()
    const [report] = yield* check({ machine: "order", against: fileBeside("after"), ended: {} })
    if (report?.checked !== count) throw new Error(`${report?.checked} of ${count} instances were judged`)
    return { seconds: (performance.now() - start) / 1000, same: report.same, events }
  })
  return Effect.runPromise(
    Effect.provide(judged, Workspace.open({ data: `${filename}.data`, database: `sqlite:${filename}`, role: "observe", config })),
  )
}

const mutate = async (filename: string, name: string): Promise<Outcome> => {
  const specimen = make(specimens.get(name) ?? "")
  const scripts = scriptsOf(specimen, 60)
  const fill = Effect.flatMap(Journal, (journal) => journal.commit(commitsOf(specimen, scripts)))
  await Effect.runPromise(Effect.provide(fill, SqliteStore.layer({ filename })))
  const judged = Effect.flatMap(JournalReader, (reader) => experiment(reader, name, scripts))
  return Effect.runPromise(Effect.provide(judged, readerIn({ _tag: "Sqlite", file: filename })))
}
