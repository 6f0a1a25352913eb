import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { withContext } from "../../src/document/ChunkContext.ts"

/** Chunks of a text, from each offset to the next one and a little further. */
const contextsOf = (text: string, offsets: ReadonlyArray<number>, overlap = 0) => {
  const chunks = offsets.map((offset, index) => ({
    index,
    offset,
    text: text.slice(offset, (offsets[index + 1] ?? text.length) + overlap),
  }))
  return Effect.map(Stream.runCollect(withContext(Stream.fromIterable(chunks))), (found) => found.map(({ context }) => context))
}

const text = `# Ships

Alba was built in 1901.

## Engines

Her engine came from Verran. It was replaced twice.

## Crew

Ada Sol was her captain.`

const at = (words: string) => text.indexOf(words)

it.effect("a chunk knows the headings above it, from the title on, and the text before it", () =>
  Effect.gen(function* () {
    for (const overlap of [0, 20]) {
      const contexts = yield* contextsOf(text, [0, at("Alba"), at("It was replaced"), at("Ada Sol")], overlap)
      expect(contexts.map((one) => one?.headings)).toEqual([undefined, ["Ships"], ["Ships", "Engines"], ["Ships", "Crew"]])
      expect(contexts[2]?.before.endsWith("Her engine came from Verran.")).toBe(true)
    }
  }),
)

it.effect("text before a chunk is text of the document that the chunk does not have, and not too long", () =>
  Effect.gen(function* () {
    const long = "The sea was calm that day. ".repeat(60)
    const offsets = [0, 540, 1080]
    const contexts = yield* contextsOf(long, offsets, 60)
    for (const [index, offset] of offsets.entries()) {
      if (index === 0) continue
      const before = contexts[index]?.before ?? ""
      expect(before.length).toBeGreaterThan(200)
      expect(before.length).toBeLessThanOrEqual(300)
      expect(long.slice(0, offset).trimEnd().endsWith(before)).toBe(true)
    }
  }),
)

it.effect("numbers and code with # are no headings", () =>
  Effect.gen(function* () {
    const contexts = yield* contextsOf("#1 of the list is Alba.\n#include is code.\n####### too deep\nThe rest.", [0, 60])
    expect(contexts[1]?.headings).toEqual([])
  }),
)
