import { readFile, rm } from "node:fs/promises"
import { RelativePath } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Batches } from "../../src/batch/Batches.ts"
import type { ManifestFile } from "../../src/batch/Manifest.ts"
import { canonical, harbour, lookout, manifest } from "./sea.ts"

/** A ship is called in the column "Vessel", which no label of the ontology is. */
const files = {
  "log.txt": "ShipAlba passed ShipBoreas.",
  "calls.csv": "No,Vessel,Overtook,Flag\n1,Cetus,Dorado,NO\n2,Cetus,Elektra,SE\n3,,Fjord,DE\n",
  "page.html": "<p>ShipGanymed passed ShipHelios.</p><table><tr><th>Vessel<th>Overtook<th>Flag<tr><td>Ikarus<td>Juno<td>FI</table>",
  "mapping.yaml": `files:
  - { file: calls.csv, class: Ship, name: Vessel, identifier: No, facts: [{ column: Overtook, property: passed }] }
  - { file: page.html, class: ship, name: Vessel, facts: [{ column: Overtook, property: passed }], leaveOut: [Flag] }
`,
}

const names = ["log.txt", "calls.csv", "page.html"]
const mapped = (more: Partial<ManifestFile> = {}) => manifest(names, { mapping: RelativePath.make("mapping.yaml"), ...more })

describe("a batch with a mapping", () => {
  it.live("reads its tables by the mapping, asks the extractor about the prose only, and counts the cells that give no fact", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, input, data } = yield* harbour({ files, extractor: lookout(asked) })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, mapped())
        // The batch keeps a copy of its mapping.
        yield* Effect.promise(() => rm(`${input}/mapping.yaml`))
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({
          _tag: "Completed",
          notRead: {
            count: 3,
            columns: [{ column: "Flag", count: 3, source: expect.stringMatching(/calls\.csv$/), text: "NO" }],
          },
          misfits: { count: 1, examples: [{ text: "No: 3; Overtook: Fjord; Flag: DE" }] },
        })
        expect(asked.toSorted()).toEqual(["ShipAlba passed ShipBoreas.", "ShipGanymed passed ShipHelios."])
        const graph = yield* canonical(data)
        expect(graph.passings).toBe(5)
        const quotes = graph.lines.filter((line) => line.includes(":quote>")).map((line) => /"(.*)"/.exec(line)?.[1])
        expect(quotes).toEqual(expect.arrayContaining(["Overtook: Dorado", "Overtook: Elektra", "Overtook: Juno"]))
        // Two ships of one name have different identifiers.
        expect(new Set(graph.lines.filter((line) => line.includes('label> "Cetus"')).map((line) => line.split(" ")[0])).size).toBe(2)
        const by = graph.lines.filter((line) => line.includes(":extractor>")).map((line) => /"(.*)"/.exec(line)?.[1])
        expect(by.toSorted()).toEqual(["lookout", "lookout", "mapping", "mapping", "mapping"])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("extracts documents again when the mapping has changed, and not otherwise", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const run = (file: ManifestFile) => Effect.flatMap(batches.start(folder, file), batches.awaitEnd)
        yield* run(mapped())
        expect(yield* run(mapped())).toMatchObject({ documentsUnchanged: 3 })
        const changed = { files: [{ file: "calls.csv", class: "Ship", name: "Overtook", facts: [], leaveOut: ["No", "Vessel", "Flag"] }] }
        expect(yield* run(mapped({ mapping: changed }))).toMatchObject({ _tag: "Completed", documentsUnchanged: 0 })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is refused where the mapping does not fit the ontology", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files })
      const wrong = { files: [{ file: "calls.csv", class: "Boat", name: "Vessel", facts: [] }] }
      const refused = yield* Effect.flatMap(Batches, (batches) => Effect.flip(batches.start(folder, mapped({ mapping: wrong })))).pipe(
        Effect.provide(layer),
      )
      expect(String(refused)).toContain('calls.csv: the ontology has no class "Boat"')
    }),
  )

  it.live("is estimated without its tables", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files })
      const estimates = yield* Effect.flatMap(Batches, (batches) =>
        Effect.all([batches.estimate(folder, mapped()), batches.estimate(folder, manifest(names))]),
      ).pipe(Effect.provide(layer))
      expect(estimates.map(({ chunks }) => chunks)).toEqual([2, 3])
    }),
  )
})

describe("a preview of a mapping", () => {
  it.live("proposes one by names and values, with sample facts, and stores nothing", () =>
    Effect.gen(function* () {
      const columns = "Ref,Ship name,passed,Flag\n1,Cetus,Dorado,NO\n2,Elektra,Fjord,SE\n"
      const { layer, folder, data } = yield* harbour({ files: { ...files, "ships.csv": columns } })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const preview = yield* batches.previewMapping(folder, manifest(["ships.csv", "log.txt"]))
        expect(preview).toMatchObject({
          source: "proposed",
          problems: [],
          mapping: {
            files: [
              { file: "ships.csv", class: "Ship", name: "Ship name", identifier: "Ref", facts: [{ column: "passed", property: "passed" }] },
            ],
          },
          tables: [
            {
              file: "ships.csv",
              documents: 1,
              records: 2,
              entities: 2,
              facts: 2,
              notRead: { count: 2, columns: [{ column: "Flag" }] },
            },
          ],
        })
        expect(preview.tables[0]?.samples[0]).toMatchObject({
          subject: "Cetus",
          property: "passed",
          object: "Dorado",
          quote: "passed: Dorado",
        })
        expect(preview.text).toContain("# ships.csv: no property for Flag")
        const given = yield* batches.previewMapping(folder, mapped())
        expect(given).toMatchObject({ source: "given", problems: [] })
        expect(given.tables.map(({ file, table, facts }) => [file, table, facts])).toEqual([
          ["calls.csv", undefined, 2],
          ["page.html", "table 1", 1],
        ])
      }).pipe(Effect.provide(layer))
      const stored = yield* Effect.promise(() => readFile(`${data}/batches`).catch(() => undefined))
      expect(stored).toBeUndefined()
    }),
  )
})
