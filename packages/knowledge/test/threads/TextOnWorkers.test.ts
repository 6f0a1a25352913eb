/** Chunking and the detection of the language on workers: the same results as in the caller's thread, which does neither. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { chunkText } from "../../src/document/Sentences.ts"
import { documentLanguage } from "../../src/extract/language/DocumentLanguage.ts"
import { chunksOnWorkers, languageOnWorkers } from "../../src/extract/TextOnWorkers.ts"
import { makeWorkerPool, WorkerPool } from "../../src/threads/WorkerPool.ts"
import { ontology } from "../extract/builtin/observatory.ts"

const texts = [
  "",
  "Comet Tavi was discovered by Joan Ek on 7 July 1988. She was born in Lisbon.",
  "telescope: Wren\nmirror diameter: 0.9\n",
  "Die Sternwarte wurde 1988 von Joan Ek gegründet und liegt in Lissabon.",
  "東京は首都です。大阪は違います！",
  "Dr. Ek found it. ".repeat(2000),
  "word ".repeat(5000),
]

const piecesOf = (text: string, length: number): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / length) }, (_, index) => text.slice(index * length, (index + 1) * length))

/** A pool of one worker, and the tasks that it was asked for. */
const recorded = Effect.gen(function* () {
  const pool = yield* makeWorkerPool({ size: 1 })
  const tasks: Array<string> = []
  const service: typeof WorkerPool.Service = {
    ...pool,
    run: (task, ...input) => {
      tasks.push(task)
      return pool.run(task, ...input)
    },
  }
  return { tasks, service }
})

describe("text on workers", () => {
  it.live("is cut into the same chunks, however it arrives", () =>
    Effect.gen(function* () {
      const { tasks, service } = yield* recorded
      for (const text of texts)
        for (const length of [1000, 100_000]) {
          const pieces = piecesOf(text, length)
          const before = tasks.length
          const chunks = yield* Stream.fromIterable(pieces).pipe(
            chunksOnWorkers("a.txt", { size: 2500, overlap: 300 }),
            Stream.runCollect,
            Effect.provideService(WorkerPool, service),
          )
          assert.deepStrictEqual([...chunks], chunkText(text, { size: 2500, overlap: 300 }))
          assert.deepStrictEqual(tasks.slice(before), Array<string>(pieces.length).fill("text.chunks"))
        }
    }).pipe(Effect.scoped),
  )

  it.live("has the same language", () =>
    Effect.gen(function* () {
      const { tasks, service } = yield* recorded
      const index = yield* ontology
      for (const text of texts)
        for (const declared of [undefined, "fr"])
          assert.deepStrictEqual(
            yield* Effect.provideService(languageOnWorkers("a.txt", text, declared, index), WorkerPool, service),
            documentLanguage(text, declared, index),
          )
      assert.deepStrictEqual(tasks, Array<string>(texts.length * 2).fill("text.language"))
    }).pipe(Effect.scoped),
  )

  it.live("that takes too long is set aside, and the caller's thread is free meanwhile", () =>
    Effect.gen(function* () {
      const { service } = yield* recorded
      const impatient = { ...service, limits: { ...service.limits, document: { time: "1 millis", memory: 1024 } as const } }
      let turns = 0
      const counting = Effect.forever(
        Effect.andThen(
          Effect.sleep("1 millis"),
          Effect.sync(() => turns++),
        ),
      )
      const text = "a ".repeat(4_000_000)
      const refused = yield* Effect.raceFirst(
        Effect.flip(Stream.make(text).pipe(chunksOnWorkers("a.txt"), Stream.runDrain, Effect.provideService(WorkerPool, impatient))),
        counting,
      )
      assert.strictEqual(refused._tag, "DocumentSetAside")
      assert.isAbove(turns, 0)
    }).pipe(Effect.scoped),
  )
})
