import { MemoryStorage } from "@detent/blobs"
import { blobIn, StorageFolder } from "@detent/blobs/Storage"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { formatOf, largestWhole, readDocument, readStored, streamDocument, streamStored } from "../../src/document/DocumentReader.ts"
import { placesOf, type Reading } from "../../src/document/Reading.ts"
import { makePdf } from "./makePdf.ts"

const bytesOf = (content: string | Uint8Array) => (typeof content === "string" ? Buffer.from(content) : content)
const read = (name: string, content: string | Uint8Array) => readDocument({ name }, bytesOf(content))
const failure = (name: string, content: string | Uint8Array) => Effect.flip(read(name, content))

/** What the source holds where these words of the text come from. */
const sourceOf = (reading: Reading, source: string, words: string) => {
  const start = reading.text.indexOf(words)
  assert.isAtLeast(start, 0, `${words} in ${JSON.stringify(reading.text)}`)
  const places = placesOf(reading, { start, end: start + words.length })
  return places.map((place) => (place._tag === "Characters" ? source.slice(place.start, place.end) : JSON.stringify(place))).join("")
}

describe("the format", () => {
  it.effect("is found by the content type, else by the name", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* formatOf({ name: "a.TXT" }), "txt")
      assert.strictEqual(yield* formatOf({ name: "gs://b/x.tar.html" }), "html")
      assert.strictEqual(yield* formatOf({ name: "a.txt", contentType: "text/html; charset=utf-8" }), "html")
      assert.strictEqual(yield* formatOf({ name: "a", contentType: "pdf" }), "pdf")
      assert.include(
        (yield* Effect.flip(formatOf({ name: "a.docx" }))).message,
        "a.docx: its name does not show its format; name a content type of txt, md",
      )
      assert.include(
        (yield* Effect.flip(formatOf({ name: "a.txt", contentType: "image/png" }))).message,
        "there is no reader for image/png",
      )
    }),
  )
})

describe("plain text", () => {
  it.effect("is read as it is", () =>
    Effect.gen(function* () {
      const reading = yield* read("a.txt", "One\r\n  two 👩‍🚀\n")
      assert.deepInclude(reading, { text: "One\r\n  two 👩‍🚀\n", encoding: "utf-8" })
      assert.strictEqual(sourceOf(reading, reading.text, "two"), "two")
    }),
  )

  it.effect("that is empty, or no text, is refused", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* failure("a.txt", " \n\t ")).message, "a.txt contains no text; remove it from the batch, or add text to it")
      assert.strictEqual((yield* failure("a.txt", ""))._tag, "DocumentEmpty")
      assert.include(
        (yield* failure("a.txt", makePdf([["x"]], { password: "x" }))).message,
        "a.txt is not text and looks like a PDF; name its real content type",
      )
    }),
  )
})

describe("Markdown", () => {
  const source = `---
title: Harbours
---
# Port *Verran*

The **Halcyon** is a [ship](https://example.org/ship_(vessel) "a ship") of \`1250\` tons; see snake_case, 2 * 3 and <https://example.org>.
Second line\\* of it<br>.

> Quoted text.

- [x] first item
2. second item

| name | home port |
|:-----|----------:|
| *Halcyon* | Port Verran |
| Gull \\| Co | |

\`\`\`js
const x = **not bold**
\`\`\`
Last
====
`

  it.effect("loses its marks and keeps its words", () =>
    Effect.gen(function* () {
      const { text } = yield* read("a.md", source)
      assert.strictEqual(
        text,
        `title: Harbours

Port Verran

The Halcyon is a ship of 1250 tons; see snake_case, 2 * 3 and https://example.org.
Second line* of it.

Quoted text.

first item
second item

name: Halcyon
home port: Port Verran

name: Gull | Co

const x = **not bold**

Last
`,
      )
    }),
  )

  it.effect("knows where its words come from", () =>
    Effect.gen(function* () {
      const reading = yield* read("a.md", source)
      for (const words of ["Halcyon", "ship", "1250", "Port Verran", "snake_case", "Quoted text", "const x"]) {
        assert.strictEqual(sourceOf(reading, source, words).replace(/\*/g, ""), words)
      }
    }),
  )
})

describe("HTML", () => {
  const source = `<!doctype html><html><head><title>Harbours &amp; ships</title><style>p { color: red }</style></head>
<body><h1>Port   <b>Verran</b></h1><p>Caf&eacute; by the
  sea.<br>Second&nbsp;line.<script>alert("no")</script></p><ul><li>one</li><li>two</li></ul>
<table><caption>Fleet</caption><tr><th>name</th><th>tons</th></tr><tr><td><a href="/h">Halcyon</a></td><td> 1250 </td></tr><tr><td>Gull</td><td></td></tr></table>
<table><tr><th>Founded</th><td>1984</td></tr><tr><th>Seat</th><td>Port Verran</td></tr></table>
<pre>  kept
  as it is</pre><p>unclosed <i>end`

  it.effect("becomes what a reader of the page would see", () =>
    Effect.gen(function* () {
      const { text } = yield* read("a.html", source)
      assert.strictEqual(
        text,
        `Harbours & ships

Port Verran

Café by the sea.
Second line.

one
two

Fleet

name: Halcyon
tons: 1250

name: Gull

Founded: 1984
Seat: Port Verran

  kept
  as it is

unclosed end

`,
      )
    }),
  )

  it.effect("knows where its words come from", () =>
    Effect.gen(function* () {
      const reading = yield* read("a.html", source)
      assert.strictEqual(sourceOf(reading, source, "Harbours"), "Harbours")
      assert.strictEqual(sourceOf(reading, source, "Halcyon"), "Halcyon")
      assert.strictEqual(sourceOf(reading, source, "Café by"), "Caf&eacute; by")
      assert.strictEqual(sourceOf(reading, source, "as it is"), "as it is")
    }),
  )

  it.effect("is decoded as it says itself", () =>
    Effect.gen(function* () {
      const greek = Buffer.concat([Buffer.from('<meta charset="iso-8859-7"><p>'), Buffer.from([0xc1, 0xe8, 0xde, 0xed, 0xe1])])
      assert.deepInclude(yield* read("a.html", greek), { text: "Αθήνα\n\n", encoding: "declared iso-8859-7" })
      assert.include(
        (yield* failure("a.html", '<meta charset="klingon"><p>x')).message,
        "it declares the encoding klingon, which is unknown",
      )
      const broken = Buffer.concat([Buffer.from('<meta charset="shift_jis"><p>'), Buffer.from([0x81, 0x20])])
      assert.include((yield* failure("a.html", broken)).message, "the encoding shift_jis, but is not valid in it")
    }),
  )

  it.effect("without words is empty", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* failure("a.html", "<html><script>x</script></html>"))._tag, "DocumentEmpty")
    }),
  )
})

describe("JSON", () => {
  const source = JSON.stringify({
    name: "Port Verran",
    founded: 1984,
    tags: ["harbour", "town"],
    seat: { street: "Quay 1", geo: { lat: 59.5 } },
    empty: null,
    ships: [
      { name: "Halcyon", "a/b": true },
      { name: "Gull", crew: [{ name: "Ada" }] },
    ],
  })

  it.effect("becomes lines of keys and values, a paragraph for every record", () =>
    Effect.gen(function* () {
      const { text } = yield* read("a.json", source)
      assert.strictEqual(
        text,
        `name: Port Verran
founded: 1984
tags: harbour; town
seat street: Quay 1
seat geo lat: 59.5
ships: Halcyon; Gull

name: Halcyon
a/b: true

name: Gull
crew: Ada

name: Ada

`,
      )
    }),
  )

  it.effect("knows where its values come from", () =>
    Effect.gen(function* () {
      const reading = yield* read("a.json", source)
      const at = (words: string) => {
        const place = placesOf(reading, { start: reading.text.indexOf(words), end: reading.text.indexOf(words) + words.length })[0]
        return place?._tag === "Pointer" ? place.pointer : undefined
      }
      assert.deepStrictEqual(
        [at("town"), at("59.5"), at("true"), at("Ada")],
        ["/tags/1", "/seat/geo/lat", "/ships/0/a~1b", "/ships/1/crew/0/name"],
      )
    }),
  )

  it.effect("that is broken, too deep or says nothing is refused", () =>
    Effect.gen(function* () {
      const broken = yield* failure("a.json", '{\n "a": 1,\n "b": }')
      assert.include(broken, { _tag: "DocumentMalformed", line: 3 })
      assert.include((yield* failure("a.json", `${"[".repeat(5000)}{}${"]".repeat(5000)}`)).message, "nested more than 200 deep")
      assert.strictEqual((yield* failure("a.json", '{"a": null, "b": []}'))._tag, "DocumentEmpty")
      assert.strictEqual((yield* read("a.json", '"half: \\ud800"')).text.isWellFormed(), true)
    }),
  )
})

describe("CSV", () => {
  it.effect("becomes a paragraph for every record, whatever separates its cells", () =>
    Effect.gen(function* () {
      for (const [mark, name] of [
        [",", "a.csv"],
        [";", "a.csv"],
        ["\t", "a.tsv"],
      ] as const) {
        const source = [`name${mark}home port${mark}tons`, `"Halcyon${mark} the"${mark}Port Verran${mark}1250`, `Gull${mark}${mark}7`].join(
          "\r\n",
        )
        const reading = yield* read(name, source)
        assert.strictEqual(
          reading.text,
          `name: Halcyon${mark === "\t" ? " " : mark} the\nhome port: Port Verran\ntons: 1250\n\nname: Gull\ntons: 7\n\n`,
        )
        const start = reading.text.indexOf("1250")
        assert.deepStrictEqual(placesOf(reading, { start, end: start + 4 }), [{ _tag: "Cell", record: 1, column: "tons" }])
      }
    }),
  )

  it.effect("may do without names, and hold quotes, breaks and ragged lines", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* read("a.csv", "1,2\n3,4\n")).text, "column 1: 1\ncolumn 2: 2\n\ncolumn 1: 3\ncolumn 2: 4\n\n")
      assert.strictEqual(
        (yield* read("a.csv", 'name,note\n"Ada ""the Gull""","two\nlines"\nBo\nCy,x,y\n')).text,
        'name: Ada "the Gull"\nnote: two lines\n\nname: Bo\n\nname: Cy\nnote: x\ncolumn 3: y\n\n',
      )
    }),
  )

  it.effect("that is broken is reported with its line", () =>
    Effect.gen(function* () {
      const broken = yield* failure("a.csv", 'name,note\nAda,x\nBo,a"b"c\n')
      assert.include(broken, { _tag: "DocumentMalformed", line: 3 })
      assert.strictEqual((yield* failure("a.csv", 'a,b\n"never closed'))._tag, "DocumentMalformed")
      assert.strictEqual((yield* failure("a.csv", "name,note\n"))._tag, "DocumentEmpty")
    }),
  )

  it.effect("reads the same however it is cut into pieces", () =>
    Effect.gen(function* () {
      const source = 'name,note\n"Ada ""the\nGull""",one\nÅse,"two, three"\n'
      const bytes = new Uint8Array(Buffer.from(source))
      const whole = (yield* read("a.csv", source)).text
      for (const size of [1, 2, 3, 7, 100]) {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.slice(index * size, (index + 1) * size))
        assert.strictEqual(yield* Stream.mkString(streamDocument({ name: "a.csv" }, Stream.fromIterable(pieces))), whole)
      }
    }),
  )
})

describe("PDF", () => {
  it.effect("joins words that the end of a line divides, and keeps the hyphens of compounds, names and addresses", () =>
    Effect.gen(function* () {
      const lines = [
        "The agree-",
        "ment of the well-known Rolls-",
        "Royce is a well-",
        "known one, of 1914-",
        "1918, at https://x.example/a-",
        "b and a -",
        "dash.",
      ]
      const { text } = yield* read("a.pdf", makePdf([lines]))
      assert.strictEqual(
        text.trim(),
        "The agreement of the well-known Rolls-Royce is a well-known one, of 1914-\n1918, at https://x.example/a-b and a -\ndash.",
      )
    }),
  )

  it.effect("gives its text page by page", () =>
    Effect.gen(function* () {
      const reading = yield* read(
        "a.pdf",
        makePdf([["Port Verran was founded in 1984.", "It has a harbour (old)."], ["Caf\u00e9 on page two."]]),
      )
      assert.match(reading.text, /Port Verran was founded in 1984\.\s+It has a harbour \(old\)\.\s+Café on page two\./)
      const start = reading.text.indexOf("Café")
      assert.deepStrictEqual(placesOf(reading, { start, end: start + 4 }), [{ _tag: "Page", page: 2 }])
    }),
  )

  it.effect("may come in pieces, and leaves the bytes it is given alone", () =>
    Effect.gen(function* () {
      const bytes = Buffer.from(makePdf([["In pieces."]]))
      const before = Buffer.from(bytes)
      const pieces = Stream.fromIterable([bytes.subarray(0, 100), bytes.subarray(100)])
      assert.include(yield* Stream.mkString(streamDocument({ name: "a.pdf" }, pieces)), "In pieces.")
      assert.include((yield* read("a.pdf", bytes)).text, "In pieces.")
      assert.isTrue(bytes.equals(before))
    }),
  )

  it.effect("that is protected, broken or a picture is refused, each in its way", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        (yield* failure("a.pdf", makePdf([["secret"]], { password: "open" }))).message,
        "a.pdf is protected by a password; save a copy without one",
      )
      assert.include((yield* read("a.pdf", makePdf([["open to all"]], { password: "" }))).text, "open to all")
      assert.strictEqual((yield* failure("a.pdf", "not a PDF at all"))._tag, "DocumentMalformed")
      assert.strictEqual((yield* failure("a.pdf", ""))._tag, "DocumentMalformed")
      assert.strictEqual((yield* failure("a.pdf", makePdf([["x"]]).slice(0, 60)))._tag, "DocumentMalformed")
      assert.include((yield* failure("a.pdf", makePdf([[]]))).message, "run OCR on them first")
    }),
  )
})

describe("documents in storage", () => {
  const folder = StorageFolder.make("mem://documents/")

  it.effect("are read whole or piece by piece", () =>
    Effect.gen(function* () {
      const storage = yield* MemoryStorage.make
      const uri = blobIn(folder, "a.md")
      yield* storage.set(uri, "# Title\n\n*Text*")
      assert.strictEqual((yield* readStored(storage, uri)).text, "Title\n\nText\n")
      assert.strictEqual(yield* Stream.mkString(streamStored(storage, uri)), "Title\n\nText\n")
      assert.strictEqual((yield* readStored(storage, uri, "text/plain")).text, "# Title\n\n*Text*")
      assert.strictEqual((yield* Effect.flip(readStored(storage, blobIn(folder, "none.txt"))))._tag, "BlobNotFound")
    }),
  )

  it.effect("are refused when they are too large to be read whole, before they are", () =>
    Effect.gen(function* () {
      const storage = yield* MemoryStorage.make
      const uri = blobIn(folder, "a.json")
      yield* storage.set(uri, new Uint8Array(largestWhole + 1).fill(32))
      const refused = yield* Effect.flip(readStored(storage, uri))
      assert.include(refused.message, "save it as plain text, which may be of any size")
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(streamStored(storage, uri))))._tag, "DocumentTooLarge")
    }),
  )

  it.effect("tell how they were written, also when they are read piece by piece", () =>
    Effect.gen(function* () {
      for (const name of ["a.txt", "a.csv", "a.md"]) {
        const told: Array<string> = []
        const bytes = Stream.fromIterable([Buffer.from("name,place\nCaf", "latin1"), Buffer.from("\u00e9,x\n", "latin1")])
        const text = streamDocument({ name }, bytes, { encoding: (encoding) => Effect.sync(() => void told.push(encoding)) })
        assert.include(yield* Stream.mkString(text), "Café")
        assert.deepStrictEqual(told, ["latin-1"])
      }
    }),
  )

  it.effect("of plain text fail at the end when they hold nothing", () =>
    Effect.gen(function* () {
      const blank = Stream.fromIterable([new Uint8Array([32]), new Uint8Array([10])])
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(streamDocument({ name: "a.txt" }, blank))))._tag, "DocumentEmpty")
    }),
  )
})
