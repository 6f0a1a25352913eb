import { deflateSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { readDocument, streamOnWorkers } from "../../src/document/DocumentReader.ts"
import { type ContentLimitOptions, WorkerPool } from "../../src/threads/WorkerPool.ts"
import { makePdf } from "./makePdf.ts"

const size = 300_000

const filled = (part: string) => part.repeat(Math.ceil(size / part.length))

/** Square time would take minutes for each of these. */
const lines: Readonly<Record<string, ReadonlyArray<string>>> = {
  "page.md": [
    ...["<", "<a", "<!--", "`a``b", "`", "[", "![a](", '[](x "', "[a][", "*", "_a", "**a", "> ", "\\"].map(filled),
    `a | b\n${filled(" ")}x`,
    `a | b\n|${filled("-")}x`,
    `# a${filled(" ")}b`,
    `# a${filled("#")}b`,
    filled("- "),
    filled("- \n"),
    `| a |\n| - |\n|${filled("\\|")}`,
  ],
  "page.html": [
    ...["<", "<a ", "<!--", "</a>", "&", "&amp", "<p>", "<table>", "<tr><td>", "<a href='"].map(filled),
    `<pre>${filled("\n")}x</pre>`,
    `<p>${filled(" ")}x</p>`,
  ],
  "data.json": [`"${filled('\\"')}`, filled("["), filled('{"a":'), `[${filled("1,")}`, filled(" ")],
  "data.csv": [filled(","), filled('"'), `a${filled(",b")}`, filled("a\n"), `"${filled("\n")}`],
  "text.txt": [filled("."), filled("\n"), filled(" "), filled("a."), filled('."')],
}

describe("a document made to take long", () => {
  for (const [name, texts] of Object.entries(lines))
    it.live(`is read or refused in a time that grows with its length: ${name}`, () =>
      Effect.forEach(texts, (text) => Effect.exit(readDocument({ name }, Buffer.from(text))), { discard: true }),
    )
})

const read = (name: string, bytes: Uint8Array) => Stream.mkString(streamOnWorkers({ name }, Stream.make(bytes)))

/** One worker for all that a test reads. */
const oneWorker = (limits: ContentLimitOptions = { document: { time: "2 seconds", memory: 400 } }) => WorkerPool.layer({ size: 1, limits })

/** A page whose content is a few hundred kilobytes that unpack to far more. */
const flateBomb = () => {
  const packed = deflateSync(Buffer.alloc(600_000_000, " "), { level: 1 })
  const plain = Buffer.from(makePdf([["x"]]))
  const start = plain.indexOf("<< /Length")
  const end = plain.indexOf("endstream")
  return Buffer.concat([
    plain.subarray(0, start),
    Buffer.from(`<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`),
    packed,
    Buffer.from("\n"),
    plain.subarray(end),
  ])
}

describe("a document on a worker", () => {
  it.live("gives the text that it gives without", () =>
    Effect.gen(function* () {
      const rows = Array.from({ length: 20_000 }, (_, at) => `${at},"name, ${at}"`).join("\n")
      for (const [name, text] of [
        ["a.md", "# Title\n\nSome *text* and [a link](https://example.org).\n"],
        ["a.html", "<h1>Title</h1><table><tr><th>a<th>b<tr><td>1<td>2</table>"],
        ["a.json", '{"name": "Ada", "knows": [{"name": "Bo"}]}'],
        ["a.csv", `number,name\n${rows}\n`],
        ["a.txt", "Plain text."],
      ] as const) {
        const bytes = Buffer.from(text)
        assert.strictEqual((yield* read(name, bytes)).trim(), (yield* readDocument({ name }, bytes)).text.trim())
      }
    }).pipe(Effect.provide(oneWorker({}))),
  )

  it.live("is set aside when it takes too long, with the limit and the next step", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read("slow.pdf", Buffer.from(`%PDF-1.4\n${"1 0 obj <<".repeat(20_000)}`)))
      assert.strictEqual(error._tag, "DocumentSetAside")
      assert.match(error.message, /^slow\.pdf is set aside: .*longer than 2s, in 2 attempts; .*contentLimits\.document/)
    }).pipe(Effect.provide(oneWorker())),
  )

  it.live("is set aside when it unpacks to more memory than it may take", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read("bomb.pdf", flateBomb()))
      assert.match(error.message, /^bomb\.pdf is set aside: .*(400 MB of memory|longer than)/)
    }).pipe(Effect.provide(oneWorker())),
  )

  it.live("is refused when it is nested too deep", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read("deep.html", Buffer.from("<div>".repeat(200_000))))
      assert.match(error.message, /deep\.html: no valid HTML: its elements are nested more than 2000 deep/)
      assert.match((yield* Effect.flip(read("deep.json", Buffer.from(`${"[".repeat(50_000)}1${"]".repeat(50_000)}`)))).message, /nested/)
    }).pipe(Effect.provide(oneWorker())),
  )
})
