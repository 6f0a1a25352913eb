/** A folder with documents in many languages: labels and documents carry their language, and what is not read is said. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { RelativePath, StorageFolder } from "@detent/blobs/Storage"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import { manifestOfFolder } from "../../src/batch/ManifestMaking.ts"
import { Extractor, type ExtractorService, noUsage } from "../../src/extract/Extractor.ts"
import { CanonicalGraph } from "../../src/graph/CanonicalGraph.ts"
import * as Knowledge from "../../src/Knowledge.ts"
import { Extractors } from "../../src/runs/Extractors.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import { documentIdOf, Namespace } from "../../src/storage/Identity.ts"
import { sharedWorkers } from "../../testing/SharedWorkers.ts"
import { base, ontology, others, prose } from "../extract/language/breweries.ts"

const documents: Readonly<Record<string, string>> = {
  "prosa.txt": prose.de,
  "tabelle.csv":
    "Name;Gründer;Sitz;Mitarbeiter;Ausstoß;Gründungsdatum\nHopfenstern;Änne Groß;Köln;2.480;3,75;05.11.1987\nMalzwerk;Uwe Öhler;Köln;96;0,5;1.2.2003\n",
  "prose.md": `---\nlang: fr\n---\n\n${prose.fr}`,
  "fiche.json": JSON.stringify({
    inLanguage: "fr",
    nom: "Étoile d'Orge",
    fondateur: "Zoé Châtel",
    siège: "Rouen",
    salariés: "1 080",
    "date de fondation": "14/07/1990",
  }),
  "prosa.html": `<html lang="es"><head><title>Cerveceras</title></head><body><p>${prose.es.replaceAll("\n\n", "</p><p>")}</p>
    <table><tr><th>Nombre</th><th>Fundador</th><th>Sede</th></tr><tr><td>Estrella Ñandú</td><td>Íñigo Peña</td><td>Málaga</td></tr></table></body></html>`,
  "plain.txt": "Ravenbrew was founded in 1984 by Maria Lopez. The brewery has its headquarters in Bergen.",
  "nederlands.txt": others.nl,
  "nihongo.txt": others.ja,
}

const breweries = Namespace.make("breweries")

const opened = (files: Readonly<Record<string, string>>, extractor?: ExtractorService) =>
  Effect.gen(function* () {
    const root = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "detent-languages-"))),
      (path) => Effect.promise(() => rm(path, { recursive: true })),
    )
    const input = join(root, "input")
    yield* Effect.promise(async () => {
      await mkdir(input)
      for (const [name, content] of Object.entries(files)) await writeFile(join(input, name), content)
    })
    const layer = Knowledge.layer({
      folder: join(root, "data"),
      readable: [input],
      nodeId: "test",
      ...(extractor === undefined ? {} : { extractors: Extractors.layer.pipe(Layer.provide(Layer.succeed(Extractor, extractor))) }),
    }).pipe(Layer.provideMerge(SqliteStore.layer({ filename: join(root, "batches.db") })), Layer.provide(sharedWorkers))
    return { layer, folder: StorageFolder.make(`${pathToFileURL(input)}/`) }
  })

/** Runs the folder as a batch. */
const ran = (folder: StorageFolder) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const manifest = yield* manifestOfFolder(folder, { targetNamespace: breweries, ontology: RelativePath.make("brew.ttl") })
    const id = yield* batches.start(folder, manifest, { config: { validation: "warn" } })
    const end = yield* batches.awaitEnd(id)
    const graph = yield* CanonicalGraph
    const lines = yield* Stream.runCollect(graph.lines(Option.getOrThrow(yield* graph.current(breweries))))
    return { id, end, lines }
  })

const labelled = (lines: ReadonlyArray<string>, tag: string) =>
  new Set(
    lines
      .flatMap((line) => /#label> "((?:[^"\\]|\\.)*)"@([a-z]+) \.$/.exec(line)?.slice(1, 3).join("@") ?? [])
      .filter((one) => one.endsWith(`@${tag}`)),
  )

describe("documents in several languages", () => {
  it.live("give labels in their languages, and the run says whose prose it did not read", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* opened({ "brew.ttl": ontology, ...documents })
      yield* Effect.gen(function* () {
        const { id, end, lines } = yield* ran(folder)
        expect(end).toMatchObject({ _tag: "Completed" })
        const languages = "languages" in end ? end.languages : []
        expect(languages).toEqual([
          { language: "de", documents: 2 },
          { language: "fr", documents: 2 },
          { language: "en", documents: 1 },
          { language: "es", documents: 1 },
          { language: "ja", documents: 1, unread: 1, reason: "language" },
          { language: "nl", documents: 1, unread: 1, reason: "language" },
        ])

        for (const name of ["Nordlicht", "Ilse Brandt", "Brauerei Deichkrone", "Lübeck", "Hopfenstern", "Änne Groß", "Köln", "Uwe Öhler"])
          expect(labelled(lines, "de")).toContain(`${name}@de`)
        for (const name of ["Nordlys", "Claire Morel", "Marée Haute", "Étoile d'Orge", "Zoé Châtel", "Rouen"])
          expect(labelled(lines, "fr")).toContain(`${name}@fr`)
        for (const name of ["Norteluz", "Clara Ruiz", "Marea Alta", "Estrella Ñandú", "Íñigo Peña", "Málaga"])
          expect(labelled(lines, "es")).toContain(`${name}@es`)
        expect(labelled(lines, "nl").size + labelled(lines, "ja").size).toBe(0)
        // English labels have no language tag.
        expect(lines.filter((line) => line.endsWith('#label> "Ravenbrew" .'))).toHaveLength(1)

        const values = (property: string) =>
          lines.flatMap((line) => line.match(new RegExp(`<${base}${property}> "([^"]*)"`))?.[1] ?? []).toSorted()
        expect(values("employees")).toEqual(["1080", "1250", "1250", "1250", "2480", "96"])
        expect(values("foundingDate")).toEqual(["1987-11-05", "1990-07-14", "1998-03-03", "1998-03-03", "1998-03-03", "2003-02-01"])
        expect(values("output")).toEqual(["0.5", "12500000", "12500000", "12500000", "3.75"])

        const spoken = lines.flatMap(
          (line) => /^<urn:detent:document:([^>]+)> <http:\/\/purl.org\/dc\/terms\/language> "(\w+)" \.$/.exec(line)?.slice(1, 3) ?? [],
        )
        const byDocument = new Map(Array.from({ length: spoken.length / 2 }, (_, at) => [spoken[2 * at], spoken[2 * at + 1]]))
        const languageOf = (name: string) => byDocument.get(documentIdOf(`${folder}${name}`))
        expect(Object.keys(documents).map((name) => `${name} ${languageOf(name)}`)).toEqual([
          "prosa.txt de",
          "tabelle.csv de",
          "prose.md fr",
          "fiche.json fr",
          "prosa.html es",
          "plain.txt en",
          "nederlands.txt nl",
          "nihongo.txt ja",
        ])
        const runs = yield* Effect.flatMap(RunStore, (store) => store.ofDocuments(id, [documentIdOf(`${folder}nederlands.txt`)]))
        expect(runs).toMatchObject([{ language: "nl", unread: "language", status: "succeeded" }])

        // A second run reads nothing again, and still says what is not read.
        const again = yield* ran(folder)
        expect(again.end).toMatchObject({ _tag: "Completed", documentsUnchanged: Object.keys(documents).length, languages })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("are not read as prose with an ontology that has no labels in their language, and their tables are", () =>
    Effect.gen(function* () {
      const english = ontology.replace(/, "[^"]*"@(?:de|fr|es)/g, "").replace(/ ; skos:altLabel[^.]*/g, " ")
      const { layer, folder } = yield* opened({
        "brew.ttl": english,
        "prosa.txt": prose.de,
        "liste.txt": `${prose.de}\n\nName: Hopfenstern\nfounder: Änne Groß\n`,
      })
      yield* Effect.gen(function* () {
        const { end, lines } = yield* ran(folder)
        expect(end).toMatchObject({ languages: [{ language: "de", documents: 2, unread: 2, reason: "labels" }], relationCount: 1 })
        expect([...labelled(lines, "de")].toSorted()).toEqual(["Hopfenstern@de", "Änne Groß@de"])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("are all read by a model, and named in their language", () =>
    Effect.gen(function* () {
      const asked: Array<string | undefined> = []
      const model: ExtractorService = {
        name: "model",
        entities: (chunk) =>
          Effect.sync(() => {
            asked.push(chunk.language)
            const text = chunk.text.slice(0, 4)
            return {
              mentions: [{ type: `${base}Brewery`, text, span: { start: chunk.offset, end: chunk.offset + 4 }, confidence: 0.9 }],
              usage: noUsage,
            }
          }),
        facts: () => Effect.succeed({ facts: [], usage: noUsage }),
      }
      const { layer, folder } = yield* opened({ "brew.ttl": ontology, "nihongo.txt": others.ja }, model)
      yield* Effect.gen(function* () {
        const { end, lines } = yield* ran(folder)
        expect(end).toMatchObject({ languages: [{ language: "ja", documents: 1 }] })
        expect(asked).toEqual(["ja"])
        expect([...labelled(lines, "ja")]).toEqual(["北光醸造@ja"])
      }).pipe(Effect.provide(layer))
    }),
  )
})
