/** Extracts one file and reads its facts back: `node extractLarge.ts FOLDER FILE EXTRACTOR`. Prints time and peak memory. */
import { Extractions, Extractor, type ExtractorService, Extractors, noUsage } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { durableLayer, extractDurably } from "./durably.ts"

const base = "https://example.org/names#"

/** An extractor for which every pair of capitalized words is a name, with a fact from each name to the next. */
const names: ExtractorService = {
  name: "names",
  entities: (chunk) =>
    Effect.sync(() => ({
      mentions: [...chunk.text.matchAll(/\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}+/gu)].map((match) => ({
        type: `${base}Name`,
        text: match[0],
        span: { start: chunk.offset + match.index, end: chunk.offset + match.index + match[0].length },
        confidence: 0.9,
      })),
      usage: noUsage,
    })),
  facts: (chunk, mentions) =>
    Effect.sync(() => ({
      facts: mentions.slice(1).map((mention, index) => {
        const subject = mentions[index] ?? mention
        const span = { start: subject.span.start, end: mention.span.end }
        return {
          subject,
          property: `${base}before`,
          object: { _tag: "Entity" as const, mention },
          quote: chunk.text.slice(span.start - chunk.offset, span.end - chunk.offset).slice(0, 200),
          span,
          confidence: 0.9,
        }
      }),
      usage: noUsage,
    })),
}

const [folder = "", file = "", chosen = ""] = process.argv.slice(2)
const extractors = chosen === "names" ? Extractors.layer.pipe(Layer.provide(Layer.succeed(Extractor, names))) : Extractors.layerBuiltIn

const program = Effect.gen(function* () {
  const began = performance.now()
  const { runId, batches } = yield* extractDurably(file)
  const lines = yield* Effect.flatMap(Extractions, (extractions) => Stream.runCount(extractions.lines(runId)))
  const seconds = (performance.now() - began) / 1000
  console.log(JSON.stringify({ peakRssMb: process.resourceUsage().maxRSS / 1000, seconds, batches, lines }))
}).pipe(Effect.provide(durableLayer(folder, extractors)))

await Effect.runPromise(program)
