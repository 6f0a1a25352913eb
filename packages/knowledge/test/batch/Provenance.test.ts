/** Every fact can be followed to its words: in every format, the stored text at its span is its quote. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { contentHashOf } from "@detent/blobs/ContentHash"
import { RelativePath, StorageFolder } from "@detent/blobs/Storage"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import { manifestOfFolder } from "../../src/batch/ManifestMaking.ts"
import { CanonicalGraph } from "../../src/graph/CanonicalGraph.ts"
import { GraphFacts } from "../../src/graph/GraphFacts.ts"
import { nodesOfLines } from "../../src/graph/GraphLines.ts"
import * as Knowledge from "../../src/Knowledge.ts"
import { termOf } from "../../src/rdf/Turtle.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import { documentIdOf, Namespace, RunId } from "../../src/storage/Identity.ts"
import { sharedWorkers } from "../../testing/SharedWorkers.ts"
import { makePdf } from "../document/makePdf.ts"

const base = "https://example.org/firms#"
const ontology = `
@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Company a owl:Class ; rdfs:label "company" . :Person a owl:Class ; rdfs:label "person" . :City a owl:Class ; rdfs:label "city" .
:founder a owl:ObjectProperty ; rdfs:label "founder", "founded by" ; rdfs:domain :Company ; rdfs:range :Person .
:headquarters a owl:ObjectProperty ; rdfs:label "headquarters", "headquartered in" ; rdfs:domain :Company ; rdfs:range :City .
:founded a owl:DatatypeProperty ; rdfs:label "founded", "founded in" ; rdfs:domain :Company ; rdfs:range xsd:gYear .
`

const prose = (company: string, person: string) =>
  `${company} was founded in 1984 by ${person}. ${company} is headquartered in Ravenholm. It employs “many” people – 🚢 and more.`

const table = `| company | founder | headquarters |
|---|---|---|
| Tidal Works Ltd | Ines Ferreira | Porto Alto |
| Granite & Sons | Otto Brandt | Ravenholm |
`

const documents: Readonly<Record<string, string | Uint8Array>> = {
  "plain.txt": `${prose("Harbour Light Inc.", "Maria Lopez")}\n\n${prose("Old Mill Foods", "José Núñez")}`,
  "dos.txt": `\ufeff${prose("Windward Freight", "Anna Berg")}\r\n\r\n${prose("Leeward Freight", "Nils Berg")}`,
  "notes.md": `# Firms of the coast\n\n**${prose("Northern Tidal Energy", "Per Hansen")}**\n\n${table}\nSee [Ravenholm](https://example.org/ravenholm).`,
  "page.html": `<html><head><title>Firms &amp; founders</title></head><body><h1>Firms</h1><p>${prose("Salt&nbsp;Marsh Brewing", "Lena &Ouml;hman")}</p>
    <table><tr><th>company</th><th>founder</th><th>headquarters</th></tr><tr><td>Cliff  Radio</td><td>Tom<br>Hale</td><td>Port Ness</td></tr></table></body></html>`,
  "records.json": JSON.stringify([
    { company: "Amber Optics", founder: "Sofia Lind", headquarters: "Ravenholm", founded: 1991 },
    { company: "Bay Shipyard", founder: "Karl Wirth", headquarters: "Port Ness", about: prose("Bay Shipyard", "Karl Wirth") },
  ]),
  "sheet.csv": `company,founder,headquarters,founded\n"Delta Cranes, Ltd",Rita Moss,Port Ness,2001\nEcho Sonar,"Ulf ""Wolf"" Krag",Ravenholm,1977\n`,
  "paper.pdf": makePdf([
    ["Firms of the bay", "", "Fjord Robotics was founded in 1999 by Gustav Holm.", "Fjord Robotics is headquartered in Ravenholm."],
    ["Gale Instruments was founded by Helga Strand."],
  ]),
  // Many chunks, in several steps.
  "long.txt": Array.from({ length: 400 }, (_, index) => prose(`Firm Number${index} Works`, `Person Called${index}`)).join("\n\n  \n"),
}

const opened = Effect.gen(function* () {
  const root = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "detent-provenance-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true })),
  )
  const input = join(root, "input")
  yield* Effect.promise(async () => {
    await mkdir(input)
    for (const [name, content] of Object.entries({ "firms.ttl": ontology, ...documents })) await writeFile(join(input, name), content)
  })
  const layer = Knowledge.layer({ folder: join(root, "data"), readable: [input], nodeId: "test" }).pipe(
    Layer.provideMerge(SqliteStore.layer({ filename: join(root, "batches.db") })),
    Layer.provide(sharedWorkers),
  )
  return { layer, folder: StorageFolder.make(`${pathToFileURL(input)}/`) }
})

const firms = Namespace.make("firms")

/** The value of a node's property as text. */
const valueIn = (values: ReadonlyMap<string, ReadonlyArray<string>>, ending: string) => {
  const [, objects = []] = [...values].find(([predicate]) => predicate.endsWith(`${ending}>`)) ?? []
  return objects[0] === undefined ? undefined : termOf(objects[0]).value
}

describe("provenance", () => {
  it.live("is exact for every fact of every format, and every document is a node", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* opened
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const manifest = yield* manifestOfFolder(folder, { targetNamespace: firms, ontology: RelativePath.make("firms.ttl") })
        const id = yield* batches.start(folder, manifest, { config: { validation: "warn" } })
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({ _tag: "Completed" })

        const graph = yield* CanonicalGraph
        const version = Option.getOrThrow(yield* graph.current(firms))
        const nodes = yield* Stream.runCollect(nodesOfLines(graph.lines(version)))
        const sources = new Map(
          nodes.flatMap(({ subject, values }) =>
            subject.startsWith("<urn:detent:document:")
              ? [[subject, { run: valueIn(values, "#wasGeneratedBy"), source: valueIn(values, "/source"), values }] as const]
              : [],
          ),
        )
        expect([...sources.values()].map(({ source }) => source).toSorted()).toEqual(
          Object.keys(documents)
            .map((name) => `${folder}${name}`)
            .toSorted(),
        )
        const extractions = yield* Extractions
        const facts = new Map<string, number>()
        for (const { subject, values } of nodes) {
          if (!subject.startsWith("<urn:detent:statement:")) continue
          const [document = ""] = values.get("<http://www.w3.org/ns/prov#wasDerivedFrom>") ?? []
          const { run, source = "" } = sources.get(document) ?? {}
          const text = yield* extractions.text(RunId.make(run?.replace("urn:detent:run:", "") ?? ""))
          const [start, to] = [Number(valueIn(values, ":start")), Number(valueIn(values, ":end"))]
          expect({ source, words: text.slice(start, to) }).toEqual({ source, words: valueIn(values, ":quote") })
          facts.set(source, (facts.get(source) ?? 0) + 1)
        }
        // A format without facts would prove nothing.
        for (const name of Object.keys(documents))
          expect({ name, facts: facts.get(`${folder}${name}`) ?? 0 }).not.toEqual({ name, facts: 0 })
        if (end._tag === "Completed") {
          const stored = [...facts.values()].reduce((sum, one) => sum + one, 0)
          expect(end.stats.relationsExtracted).toBe(stored)
        }

        const page = sources.get(`<urn:detent:document:${documentIdOf(`${folder}page.html`)}>`)?.values ?? new Map()
        expect(valueIn(page, "#type")).toBe("http://www.w3.org/ns/prov#Entity")
        expect(valueIn(page, "/title")).toBe("Firms & founders")
        expect(valueIn(page, ":contentHash")).toBe(contentHashOf(documents["page.html"] ?? ""))
        expect(Date.parse(valueIn(page, "#generatedAtTime") ?? "")).toBeGreaterThan(Date.now() - 600_000)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("leads to the place in the source: a cell, a value, a page, or the very characters", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* opened
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const [sheet, records, paper, plain] = ["sheet.csv", "records.json", "paper.pdf", "plain.txt"]
        const manifest = {
          targetNamespace: firms,
          ontology: RelativePath.make("firms.ttl"),
          documents: [
            { source: RelativePath.make(sheet) },
            { source: RelativePath.make(records) },
            { source: RelativePath.make(paper) },
            { source: RelativePath.make(plain) },
          ] as const,
        }
        yield* Effect.flatMap(batches.start(folder, manifest, { config: { validation: "warn" } }), batches.awaitEnd)
        const version = Option.getOrThrow(yield* Effect.flatMap(CanonicalGraph, (graph) => graph.current(firms)))
        const facts = yield* GraphFacts
        const founderOf = (name: string) =>
          Effect.gen(function* () {
            const { items } = yield* facts.entities(version, { search: name })
            const sourced = yield* facts.factsOf(version, items[0]?.iri ?? "")
            const found = sourced.items.filter(({ property }) => property === `${base}founder`)
            expect({ name, found: found.length > 0 }).toEqual({ name, found: true })
            return { found, places: [...(yield* facts.placesOf(found)).values()].flat() }
          })
        expect((yield* founderOf("Echo Sonar")).places).toContainEqual({ _tag: "Cell", record: 2, column: "founder" })
        expect((yield* founderOf("Amber Optics")).places).toContainEqual({ _tag: "Pointer", pointer: "/0/founder" })
        expect((yield* founderOf("Gale Instruments")).places).toContainEqual({ _tag: "Page", page: 2 })
        const { found, places } = yield* founderOf("Old Mill Foods")
        const source = String(documents[plain])
        expect(places.map((place) => (place._tag === "Characters" ? source.slice(place.start, place.end) : place))).toEqual(
          found.map(({ quote }) => quote),
        )
        // A document that has changed since has no places.
        yield* Effect.promise(() => writeFile(new URL(sheet, folder), "company,founder\n"))
        expect((yield* founderOf("Echo Sonar")).places).toEqual([])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("gives the source, the title and the version of the document", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* opened
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const manifest = {
          targetNamespace: firms,
          ontology: RelativePath.make("firms.ttl"),
          documents: [{ source: RelativePath.make("notes.md") }] as const,
        }
        yield* Effect.flatMap(batches.start(folder, manifest, { config: { validation: "warn" } }), batches.awaitEnd)
        const version = Option.getOrThrow(yield* Effect.flatMap(CanonicalGraph, (graph) => graph.current(firms)))
        const facts = yield* GraphFacts
        const { items } = yield* facts.entities(version, { search: "Tidal Works" })
        expect(items).toHaveLength(1)
        const sourced = yield* facts.factsOf(version, items[0]?.iri ?? "")
        expect(sourced.items.length).toBeGreaterThan(0)
        for (const one of sourced.items)
          expect(one).toMatchObject({
            source: `${folder}notes.md`,
            title: "Firms of the coast",
            contentHash: contentHashOf(documents["notes.md"] ?? ""),
          })
      }).pipe(Effect.provide(layer))
    }),
  )
})
