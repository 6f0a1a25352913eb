import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { chunkStream, chunkText, splitSentences } from "../../src/document/Sentences.ts"

const sentences = (text: string) => splitSentences(text).map(({ start, end }) => text.slice(start, end))

describe("sentences", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["He came. She left! Why? Nobody knows…", ["He came.", "She left!", "Why?", "Nobody knows…"]],
    ["Dr. Smith met Mr. J. R. Brown in St. Ives.", ["Dr. Smith met Mr. J. R. Brown in St. Ives."]],
    [
      "She moved to the U.S. in 1984. He stayed in the U.S. The end.",
      ["She moved to the U.S. in 1984.", "He stayed in the U.S.", "The end."],
    ],
    [
      "It costs 3.50 or 1,000.25, e.g. in No. 5. Version 2.0.1 is free.",
      ["It costs 3.50 or 1,000.25, e.g. in No. 5.", "Version 2.0.1 is free."],
    ],
    ['"Is it?" she asked. "Yes." He nodded.', ['"Is it?" she asked.', '"Yes."', "He nodded."]],
    ["(It rained.) Then it stopped... and began again.", ["(It rained.)", "Then it stopped... and began again."]],
    ["東京は首都です。大阪は違います！本当？", ["東京は首都です。", "大阪は違います！", "本当？"]],
    ["「はい。」と彼は言った。そして帰った。", ["「はい。」と彼は言った。", "そして帰った。"]],
    ["هل هذا صحيح؟ نعم. شكرا.", ["هل هذا صحيح؟", "نعم.", "شكرا."]],
    ["यह एक वाक्य है। यह दूसरा है।", ["यह एक वाक्य है।", "यह दूसरा है।"]],
    ["Olá! É o fim. ¿Qué pasa? Nada.", ["Olá!", "É o fim.", "¿Qué pasa?", "Nada."]],
    ["Great 👩‍👩‍👧! Next one 🎉. Done.", ["Great 👩‍👩‍👧!", "Next one 🎉.", "Done."]],
    ["Acme Inc. was founded. Acme Inc. The firm closed.", ["Acme Inc. was founded.", "Acme Inc.", "The firm closed."]],
    [
      "# A heading\nSome text that goes\non here. More.\n\nA new paragraph",
      ["# A heading", "Some text that goes\non here.", "More.", "A new paragraph"],
    ],
    ["- one thing\n- another\n1. first\n2. second", ["- one thing", "- another", "1. first", "2. second"]],
    ["Sur Maritima\nAnnual report\nThe year was good.", ["Sur Maritima", "Annual report", "The year was good."]],
    ["  \n ", []],
    ["", []],
  ]
  for (const [text, expected] of cases) it(`of ${JSON.stringify(text)}`, () => assert.deepStrictEqual(sentences(text), expected))

  it("are cut at a space when they do not end, and never inside a character", () => {
    const words = "word ".repeat(1000)
    assert.isTrue(sentences(words).every((sentence) => sentence.length <= 2000 && !sentence.startsWith("ord")))
    for (const character of ["😀", "é".normalize("NFD"), "👩‍👩‍👧", "🇩🇪"]) {
      const parts = sentences(character.repeat(3000))
      assert.strictEqual(parts.join(""), character.repeat(3000))
      for (const part of parts) assert.isTrue(part.isWellFormed(), character)
    }
    for (const part of sentences("é".normalize("NFD").repeat(3000))) assert.notMatch(part, /^\p{M}/u)
  })
})

/** Pieces of text that have tripped sentence splitters. */
const pieces = [
  ...[
    "Dr. ",
    "Smith ",
    "went. ",
    'He said "no." ',
    "\n\n",
    "\n",
    "\r\n",
    "  ",
    "- x\n",
    "# H\n",
    "| a | b |\n",
    "U.S. ",
    "the end. ",
    "?!",
    "… ",
    "3.14 ",
  ],
  ...[
    "東京は。",
    "大阪！",
    "「はい。」",
    "العربية؟ ",
    "हिन्दी। ",
    "e\u0301",
    "👩‍👩‍👧",
    "🇩🇪",
    "😀",
    "\u200d",
    "\ufe0f",
    "\u00a0",
    "\ud83d",
    "\ude00",
  ],
  ...["a".repeat(50), "x".repeat(900), "word ".repeat(120), "(", ")", '"', "'", "A", "b", "."],
]
const text = Arbitrary.map(Arbitrary.array(Arbitrary.schema(Schema.Literals(pieces)), { maxLength: 40 }), (found) => found.join(""))
const number = (most: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: most })))

describe("chunks", () => {
  it.prop("are exact slices, in order, and no longer than asked for", { text, overlap: number(1500) }, ({ text, overlap }) => {
    const chunks = chunkText(text, { size: 2000, overlap })
    chunks.forEach((chunk, at) => {
      assert.strictEqual(chunk.index, at)
      assert.strictEqual(text.slice(chunk.offset, chunk.offset + chunk.text.length), chunk.text)
      assert.isAtMost(chunk.text.length, 2000)
      const before = chunks[at - 1]
      if (before === undefined) return
      assert.isAbove(chunk.offset, before.offset)
      assert.isAbove(chunk.offset + chunk.text.length, before.offset + before.text.length)
      assert.isAtMost(before.offset + before.text.length - chunk.offset, overlap)
    })
  })

  it.prop("cover everything but space, and so do sentences", { text }, ({ text }) => {
    for (const spans of [
      splitSentences(text),
      chunkText(text, { size: 2000 }).map(({ offset, text: own }) => ({ start: offset, end: offset + own.length })),
    ]) {
      const covered = new Uint8Array(text.length)
      for (const { start, end } of spans) covered.fill(1, start, end)
      for (let at = 0; at < text.length; at++) assert.isTrue(covered[at] === 1 || /\s/.test(text[at] ?? ""), `at ${at}`)
    }
  })

  it.prop("split no surrogate pair", { text }, ({ text }) => {
    const inside = (at: number) => /[\ud800-\udbff]/.test(text[at - 1] ?? "") && /[\udc00-\udfff]/.test(text[at] ?? "")
    for (const { start, end } of splitSentences(text)) assert.isFalse(inside(start) || inside(end))
    for (const { offset, text: own } of chunkText(text, { size: 2000 })) assert.isFalse(inside(offset) || inside(offset + own.length))
  })

  it.effect.prop(
    "are the same however the stream is cut",
    { text, cut: Arbitrary.array(number(300), { maxLength: 30 }) },
    ({ text, cut }) =>
      Effect.gen(function* () {
        const parts: Array<string> = []
        let rest = text
        for (const length of cut) {
          parts.push(rest.slice(0, length))
          rest = rest.slice(length)
        }
        parts.push(rest)
        const options = { size: 2000, overlap: 300 }
        const streamed = yield* Stream.runCollect(Stream.fromIterable(parts).pipe(chunkStream(options)))
        assert.deepStrictEqual([...streamed], chunkText(text, options))
      }),
  )

  it("begin with the sentences the chunk before ended with", () => {
    const text = Array.from({ length: 200 }, (_, at) => `This is sentence number ${at} of the document.`).join(" ")
    const [first, second] = chunkText(text, { size: 2000, overlap: 100 })
    const shared = text.slice(second?.offset, (first?.offset ?? 0) + (first?.text.length ?? 0))
    assert.match(shared, /^This is sentence number \d+ of the document\. This is sentence number \d+ of the document\.$/)
  })

  it("without overlap share nothing", () => {
    const text = "A short sentence. ".repeat(500)
    const chunks = chunkText(text, { size: 2000, overlap: 0 })
    assert.isAbove(chunks.length, 4)
    for (const [at, chunk] of chunks.entries()) {
      const before = chunks[at - 1]
      if (before !== undefined) assert.isAtLeast(chunk.offset, before.offset + before.text.length)
    }
  })

  it.effect("of a document of any size take bounded memory", () =>
    Effect.gen(function* () {
      // The arrow makes every string of it two bytes a character.
      const piece = "The harbour master rang the bell at noon → nobody came. ".repeat(1200)
      const count = 1600
      const before = process.memoryUsage().heapUsed
      let most = 0
      const measure = Effect.sync(() => {
        most = Math.max(most, process.memoryUsage().heapUsed - before)
      })
      const found = yield* Stream.range(1, count).pipe(
        Stream.map(() => piece),
        chunkStream(),
        Stream.mapEffect((chunk) => (chunk.index % 500 === 0 ? Effect.as(measure, chunk) : Effect.succeed(chunk))),
        Stream.runFold(
          () => 0,
          (_, chunk) => chunk.offset + chunk.text.length,
        ),
      )
      assert.strictEqual(found, piece.length * count - 1)
      assert.isAbove(piece.length * count, 100_000_000)
      assert.isBelow(most, 150_000_000, "of the 200 MB that the document takes")
    }),
  )
})
