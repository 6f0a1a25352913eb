/** The cost of durability: the same documents with runs on a SQLite file, and without, in turns. */
import { mkdirSync, writeFileSync } from "node:fs"
import { Extractors } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import type { Part } from "../../measure/Group.ts"
import { median } from "../../measure/Statistics.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import { durableLayer, extractDurably } from "./durably.ts"
import { extractPlainly, plain } from "./plain.ts"
import { texts } from "./Texts.ts"

const sizes = [5000, 20_000]

/** As many documents at once as a batch has. */
const concurrency = 16

interface Taken {
  readonly seconds: number
  readonly cpuSeconds: number
}

const timed = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<Taken, E, R> =>
  Effect.gen(function* () {
    const cpu = process.cpuUsage()
    const began = performance.now()
    yield* work
    const { user, system } = process.cpuUsage(cpu)
    return { seconds: (performance.now() - began) / 1000, cpuSeconds: (user + system) / 1e6 }
  })

export const durability: Part = async ({ quick }) => {
  const folder = temporaryFolder()
  mkdirSync(folder.file("durable"))
  const measured = await Effect.runPromise(
    Effect.gen(function* () {
      const own = yield* plain
      yield* warmUp(own, folder)
      const rows: Array<Row> = []
      for (const size of sizes) rows.push(yield* contest(own, folder, size, quick))
      return rows
      // In this thread, like the plain side: worker threads would hide or offset the cost of durability.
    }).pipe(Effect.provide(durableLayer(folder.file("durable"), Extractors.layerUnpooled))),
  )
  folder.remove()
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`
  return {
    tables: [
      {
        title:
          "Documents through runs on a SQLite file (synchronous full), beside the same documents without durability; built-in extractor, one process",
        columns: ["document", "plain, documents/s", "durable, documents/s", "longer by", "more CPU by"],
        rows: measured.map(({ size, count, plain, durable, overhead, cpuOverhead }) => [
          `${(size / 1000).toFixed(1)} kB`,
          (count / plain).toFixed(1),
          (count / durable).toFixed(1),
          percent(overhead),
          percent(cpuOverhead),
        ]),
        notes: [
          "Without durability the same code reads, chunks, extracts and creates graph, registry and review list; no run, no database.",
          `${concurrency} documents at once, both times. Turns alternate; medians of the turns' times, and of the ratios of each turn.`,
        ],
      },
    ],
    figures: {
      "durability.overhead": Math.max(...measured.map(({ overhead }) => overhead)),
      "durability.cpuOverhead": Math.max(...measured.map(({ cpuOverhead }) => cpuOverhead)),
      ...Object.fromEntries(measured.map(({ least, overhead }) => [`durability.overhead${least / 1000}kB`, overhead])),
    },
  }
}

/** Runs small documents, so that all code is compiled and all caches are warm before the measurement. */
const warmUp = (own: Effect.Success<typeof plain>, folder: ReturnType<typeof temporaryFolder>) =>
  Effect.forEach(
    Array.from({ length: 150 }, (_, number) => folder.file(`durable/small-${number}.txt`)),
    (file, number) => {
      writeFileSync(file, `Ada Sol was born in Port Verran in ${1800 + number}.`)
      return Effect.andThen(extractPlainly(own, file), extractDurably(file))
    },
    { concurrency, discard: true },
  )

interface Row {
  readonly least: number
  readonly size: number
  readonly count: number
  readonly plain: number
  readonly durable: number
  readonly overhead: number
  readonly cpuOverhead: number
}

const contest = (own: Effect.Success<typeof plain>, folder: ReturnType<typeof temporaryFolder>, least: number, quick: boolean) =>
  Effect.gen(function* () {
    const count = Math.ceil((quick ? 60_000 : 200_000) / least)
    const source = texts(least)
    let number = 0
    let characters = 0
    const fresh = () =>
      Array.from({ length: count }, () => {
        const text = source.next().value
        const file = folder.file(`durable/${least}-${number++}.txt`)
        writeFileSync(file, text)
        characters += text.length
        return file
      })
    const plainly = (files: ReadonlyArray<string>) =>
      timed(Effect.forEach(files, (file) => extractPlainly(own, file), { concurrency, discard: true }))
    const durably = (files: ReadonlyArray<string>) => timed(Effect.forEach(files, extractDurably, { concurrency, discard: true }))
    const turns: Array<{ readonly plain: Taken; readonly durable: Taken }> = []
    for (let turn = 0; turn < (quick ? 7 : 13); turn++) {
      const files = fresh()
      // The second contestant finds the files in the system's cache, so the order alternates.
      const [first, second] = turn % 2 === 0 ? ([plainly, durably] as const) : ([durably, plainly] as const)
      const [one, other] = [yield* first(files), yield* second(files)]
      turns.push(turn % 2 === 0 ? { plain: one, durable: other } : { plain: other, durable: one })
    }
    // The first turn trains the extractors and warms the code.
    const counted = turns.slice(1)
    const row: Row = {
      least,
      size: characters / number,
      count,
      plain: median(counted.map(({ plain }) => plain.seconds)),
      durable: median(counted.map(({ durable }) => durable.seconds)),
      overhead: median(counted.map(({ plain, durable }) => durable.seconds / plain.seconds)) - 1,
      cpuOverhead: median(counted.map(({ plain, durable }) => durable.cpuSeconds / plain.cpuSeconds)) - 1,
    }
    return row
  })
