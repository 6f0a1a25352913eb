/** The speed of the built-in extractor alone, on one core. */
import * as Effect from "effect/Effect"
import { chunkText, splitSentences } from "../../../packages/knowledge/src/document/Sentences.ts"
import type { Part } from "../../measure/Group.ts"
import { median } from "../../measure/Statistics.ts"
import { extractChunk, plain } from "./plain.ts"
import { texts } from "./Texts.ts"

export const speed: Part = async ({ quick }) => {
  const turns = await Effect.runPromise(measured(quick ? 4 : 12))
  const of = (key: keyof Turn) => median(turns.map((turn) => turn[key]))
  return {
    tables: [
      {
        title: "The built-in extractor on one core: chunks, entities and facts of dense text",
        columns: ["", "sentences/s of CPU", "MB/s of CPU", "sentences/s"],
        rows: [["built-in", of("sentences").toFixed(0), of("megabytes").toFixed(3), of("sentencesElapsed").toFixed(0)]],
        notes: [
          "Per second of CPU time, so that other load on the machine does not count; the last column is per second of wall-clock time.",
        ],
      },
    ],
    figures: { sentencesPerSecond: of("sentences"), megabytesPerSecond: of("megabytes") },
  }
}

interface Turn {
  readonly sentences: number
  readonly megabytes: number
  readonly sentencesElapsed: number
}

const measured = (turns: number) =>
  Effect.gen(function* () {
    const own = yield* plain
    const found: Array<Turn> = []
    const source = texts(40_000)
    for (let turn = 0; turn <= turns; turn++) {
      const text = source.next().value
      const sentences = splitSentences(text).length
      const cpu = process.cpuUsage()
      const began = performance.now()
      for (const chunk of chunkText(text, { size: 2000, overlap: 0 })) yield* extractChunk(own, chunk)
      const { user, system } = process.cpuUsage(cpu)
      const seconds = (user + system) / 1e6
      const elapsed = (performance.now() - began) / 1000
      // The first turn trains the extractor and warms the code.
      if (turn === 0) continue
      found.push({
        sentences: sentences / seconds,
        megabytes: Buffer.byteLength(text) / 1e6 / seconds,
        sentencesElapsed: sentences / elapsed,
      })
    }
    return found
  })
