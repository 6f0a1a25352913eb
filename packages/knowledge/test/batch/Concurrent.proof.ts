/** Batches of one namespace that run at once: whichever publishes first, each entity has one IRI. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Batches } from "../../src/batch/Batches.ts"
import type { Chunk } from "../../src/document/Chunk.ts"
import { type ExtractorService, noUsage } from "../../src/extract/Extractor.ts"
import { base, canonical, harbour, manifest } from "./sea.ts"

/** Finds "[X] passed [Y]". */
const brackets: ExtractorService = {
  name: "brackets",
  entities: (chunk) => Effect.succeed({ mentions: namesIn(chunk), usage: noUsage }),
  facts: (chunk, [subject, object]) =>
    Effect.sync(() => {
      if (subject === undefined || object === undefined) return { facts: [], usage: noUsage }
      const span = { start: subject.span.start, end: object.span.end }
      const quote = chunk.text.slice(span.start - chunk.offset, span.end - chunk.offset)
      const fact = {
        subject,
        property: `${base}passed`,
        object: { _tag: "Entity" as const, mention: object },
        quote,
        span,
        confidence: 0.8,
      }
      return { facts: [fact], usage: noUsage }
    }),
}

const namesIn = (chunk: Chunk) =>
  [...chunk.text.matchAll(/\[([^\]]+)\]/g)].map(({ 1: text = "", index }) => ({
    type: `${base}Ship`,
    text,
    span: { start: chunk.offset + index + 1, end: chunk.offset + index + 1 + text.length },
    confidence: 0.9,
  }))

const others = ["Alba", "Boreas", "Cetus", "Dorado", "Elektra", "Fjord", "Ganymed", "Hydra", "Ibis", "Juno"]

/** The same ship, spelled in three ways. */
const spellings = ["Harbour Light Inc.", "Harbour Light", "The Harbour Light"]

describe("ten batches of one namespace at once", () => {
  it.live("give one IRI to each entity, and lose no fact", () =>
    Effect.gen(function* () {
      const files = Object.fromEntries(
        others.map((name, index) => [`${name}.txt`, `[${spellings[index % spellings.length]}] passed [Stout ${name}].`]),
      )
      const { layer, folder, data } = yield* harbour({ files, extractor: brackets })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const ends = yield* Effect.forEach(
          Object.keys(files),
          (name) => Effect.flatMap(batches.start(folder, manifest([name]), { config: { validation: "warn" } }), batches.awaitEnd),
          { concurrency: "unbounded" },
        )
        expect(ends.map(({ _tag }) => _tag)).toEqual(others.map(() => "Completed"))
        const { lines, passings } = yield* canonical(data)
        expect(passings).toBe(others.length)
        const subjects = new Set(lines.filter((line) => line.includes(`<${base}passed> <urn`)).map((line) => line.split(" ")[0]))
        expect([...subjects]).toHaveLength(1)
        // At least one batch found that another had published, and was resolved again.
        expect(ends.some((end) => "stats" in end && end.previousVersion !== null)).toBe(true)
      }).pipe(Effect.provide(layer))
    }),
  )
})
