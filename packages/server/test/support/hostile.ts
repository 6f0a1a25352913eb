/** Content that is made to cost as much as possible, and what must become of it. */
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib"

/** Of the server that is attacked: the second may only look. */
export const tokens = { operate: "operate-0123456789", read: "read-0123456789abc" }

const text = (part: string, length: number) => part.repeat(Math.ceil(length / part.length))

const nested = (open: string, close: string, depth: number, inner = "x") => `${open.repeat(depth)}${inner}${close.repeat(depth)}`

/** A PDF with one page whose content unpacks to `size` bytes. */
const flateBomb = (size: number) => {
  const packed = deflateSync(Buffer.alloc(size, " "), { level: 1 })
  return Buffer.concat([
    Buffer.from(
      "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n" +
        "3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >> endobj\n" +
        `4 0 obj << /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`,
    ),
    packed,
    Buffer.from("\nendstream endobj\ntrailer << /Root 1 0 R /Size 5 >>\n%%EOF\n"),
  ])
}

/** Documents by name. Each may be read or refused, as long as it has an outcome. */
export const documents = (): Readonly<Record<string, string | Uint8Array>> => ({
  "marks.md": text("<", 100_000),
  "marks.html": text("<", 100_000),
  "marks.txt": text("<", 100_000),
  "objects.pdf": `%PDF-1.4\n${text("1 0 obj <<", 200_000)}`,
  "bomb.pdf": flateBomb(1_000_000_000),
  "deep.html": nested("<div>", "</div>", 200_000),
  "tables.html": nested("<table><tr><td>", "</td></tr></table>", 600),
  "deep.json": nested("[", "]", 100_000, "1"),
  "keys.json": nested(`{"${"k".repeat(4000)}":`, "}", 150, "[1,2]"),
  "columns.csv": `${text("a,", 30_000)}\n${text("1,", 30_000)}\n`,
  "header.csv": `${"h".repeat(50_000)}\n${text("1\n", 100_000)}`,
  "quote.csv": `a,b\n"${text("x\n", 2_000_000)}`,
  "backticks.md": text("`a``b```c", 60_000),
  "emphasis.md": text("**_a", 60_000),
  "points.txt": text("A. B. C. ", 60_000),
  "digits.txt": text("1,1.1", 60_000),
  "words.txt": text("Aaaa-", 60_000),
  "spaces.txt": `${text(" ", 20_000)}x`,
  "combining.txt": `e${text("\u0301", 40_000)} ends.`,
  "archive.txt": gzipSync(Buffer.alloc(10_000_000)),
  "zstandard.txt": zstdCompressSync(Buffer.alloc(10_000_000)),
})

const prefixes =
  "@prefix : <urn:x#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
const classes = (count: number, parentOf: (at: number) => number) =>
  `${prefixes}:p a owl:ObjectProperty .\n${Array.from({ length: count }, (_, at) => `:C${at} a owl:Class ; rdfs:subClassOf :C${parentOf(at)} .`).join("\n")}`
const rdf = (body: string, doctype = "") =>
  `<?xml version="1.0"?>${doctype}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">${body}</rdf:RDF>`
const entities = Array.from({ length: 12 }, (_, at) =>
  at === 0 ? `<!ENTITY e0 "xxxxxxxxxx">` : `<!ENTITY e${at} "${`&e${at - 1};`.repeat(10)}">`,
)

/** Ontologies by name. */
export const ontologies = (): Readonly<Record<string, string>> => ({
  "chain.ttl": classes(10_000, (at) => at + 1),
  "cycle.ttl": classes(10_000, (at) => (at + 1) % 10_000),
  "deep.rdf": rdf(nested("<rdf:Description><rdf:value>", "</rdf:value></rdf:Description>", 50_000)),
  "entities.rdf": rdf(
    `<rdf:Description rdf:about="urn:a"><rdf:value>&e11;</rdf:value></rdf:Description>`,
    `<!DOCTYPE rdf:RDF [${entities.join("")}]>`,
  ),
  "brackets.ttl": `${prefixes}:a :p ${nested("[ :p ", " ]", 50_000, ":x")} .`,
  "context.jsonld": nested('{"@context": {"a": "urn:a"}, "a": ', "}", 20_000, "1"),
})

/** Shapes that refer to themselves, or are nested without an end. */
export const shapes = (): Readonly<Record<string, string>> => ({
  "recursive.ttl": `${prefixes}:S a sh:NodeShape ; sh:targetClass :C0 ; sh:property :P . :P sh:path :p ; sh:node :S ; sh:or ( :S :S ) .`,
  "circle.ttl": `${prefixes}@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    :S a sh:NodeShape ; sh:targetClass :C0 ; sh:or _:l . _:l rdf:first :S ; rdf:rest _:l .`,
  "path.ttl": `${prefixes}:S a sh:NodeShape ; sh:targetClass :C0 ; sh:property [ sh:path ${nested("[ sh:inversePath ", " ]", 5_000, ":p")} ; sh:maxCount 1 ] .`,
})

/** Files of examples, by name. */
export const examples = (): Readonly<Record<string, string>> => ({
  "lines.jsonl": text("\n", 5_000_000),
  "deep.jsonl": nested("[", "]", 1_000_000, "1"),
  "sentence.jsonl": JSON.stringify({ sent: text("A. B met C. ", 20_000), triples: [{ sub: "A", rel: "knows", obj: "B" }] }),
  "many.jsonl": `${text(`${JSON.stringify({ sent: "A met B.", triples: [{ sub: "A", rel: "knows", obj: "B" }] })}\n`, 10_000_000)}no example`,
})

/** A document of many chunks, each of which is compared with every class of an ontology where it is estimated. */
export const longText = text("A class and another class met in the harbour. ", 400_000)

/** Items of uploads by what they are made of, each 300 kB long. */
export const items: ReadonlyArray<readonly [name: string, content: string]> = [
  ["tags that never close", text("<", 300_000)],
  ["entities that never end", text("&", 300_000)],
  ["accents without letters", text("\u0301", 150_000)],
  ["white space", text(" \t", 300_000)],
]

/** Requests that change nothing, besides queries. */
export const readings = (
  batchId: string,
): ReadonlyArray<readonly [path: string, init?: { readonly body: string; readonly type: string }]> => {
  const long = encodeURIComponent(text("<", 3_000))
  return [
    [`/api/v1/knowledge/coast/sparql?query=${encodeURIComponent(text('"\\', 2_000))}`],
    [`/api/v1/knowledge/coast/entities?search=${encodeURIComponent(text("(a*)*", 200))}`],
    [`/api/v1/knowledge/coast/entities?after=${long}`],
    [`/api/v1/knowledge/coast/relations?after=${Buffer.from(text('"\\', 8_000)).toString("base64url")}`],
    [`/api/v1/knowledge/coast/provenance?entity=urn:${text("a:", 1_900)}`],
    [`/api/v1/batch/${batchId}/documents?limit=1000`],
    [`/api/v1/batch/${batchId}/changes?limit=1000`],
    [`/api/v1/batch/${batchId}/artifacts/${encodeURIComponent(text("../", 3_000))}`],
    [`/api/v1/instances?after=${Buffer.from(text("[", 8_000)).toString("base64url")}`],
    [`/api/v1/upload-kinds/Items/items?text=${encodeURIComponent(text('"', 500))}`],
    [`/api/v1/upload-kinds/Items/items?text=${encodeURIComponent(text("a* ", 500))}`],
    [`/api/v1/upload-kinds/hn/items?where=${encodeURIComponent(nested("[", "]", 3_000))}`],
    ["/rpc", { body: nested("[", "]", 400_000, "1"), type: "application/json" }],
    ["/rpc", { body: nested('{"a":', "}", 150_000, "1"), type: "application/json" }],
  ]
}

/** Queries by what is in them, at most 100,000 characters long. */
export const queries = (): ReadonlyArray<string> => Object.values(everyQuery)

const everyQuery: Readonly<Record<string, string>> = {
  quotes: text('"\\', 60_000),
  braces: `SELECT * ${nested("{", "}", 800, "?s ?p ?o")}`,
  brackets: `SELECT * { ?s ?p ?o FILTER(${nested("(", ")", 20_000, "1")}) }`,
  negations: `SELECT * { ?s ?p ?o FILTER(${text("!", 50_000)}true) }`,
  inverses: `SELECT * { ?s ${text("^", 50_000)}<urn:p> ?o }`,
  sums: `SELECT * { ?s ?p ?o FILTER(${text("1+", 80_000)}1 > 0) }`,
  repetition: `SELECT * { ?s ?p ?o FILTER(REGEX(STR(?o), "${text("(a*)*", 500)}b")) }`,
  prefixes: text("prefix x: <urn:x> ", 90_000),
  marks: text("<", 90_000),
  comments: text("#", 90_000),
  order: "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a ?d ?g ?c ?f ?i",
  count: "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
  service: `SELECT * { SERVICE <http://${text("a-", 90_000)}> { ?s ?p ?o } }`,
  ways: "SELECT * { ?a (<urn:a>|!<urn:a>)* ?b . ?b (<urn:a>|!<urn:a>)* ?c } ORDER BY ?c",
}
