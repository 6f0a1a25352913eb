import { writeFile } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Extractions } from "../../src/runs/Extractions.ts"
import { makePdf } from "../document/makePdf.ts"
import { base, opened, passing } from "./Sea.ts"

const failureOf = (documents: Readonly<Record<string, string | Uint8Array>>, name: string, ontology = "sea.ttl") =>
  Effect.gen(function* () {
    const asked: Array<number> = []
    const { layer, request, uri } = yield* opened(passing(asked), documents)
    const failure = yield* Effect.provide(
      Effect.flip(Effect.flatMap(Extractions, (extractions) => extractions.run({ ...request(name), ontologyUri: uri(ontology) }))),
      layer,
    )
    expect(failure._tag).toBe("RunFailed")
    return { ...failure, message: failure.message, asked }
  })

/** What a program writes that is not text. */
const binary = Uint8Array.from({ length: 4096 }, (_, index) => (index * 7919) % 256)

describe("a run of a document that", () => {
  it.live.each([
    ["is binary", binary, "DocumentBinary"],
    ["is binary behind a few words", new Uint8Array([...new TextEncoder().encode("Ship1 passed Ship2. "), ...binary]), "DocumentBinary"],
  ] as const)("%s fails and says what it is", ([, content, code]) =>
    Effect.gen(function* () {
      const failure = yield* failureOf({ "log.txt": content }, "log.txt")
      expect(failure.code).toBe(code)
      expect(failure.message).toContain("log.txt")
      expect(failure.asked).toEqual([])
    }),
  )

  it.live.each([
    ["is empty", "log.txt", ""],
    ["is only white space", "log.txt", " \n\t ".repeat(500)],
    ["is a scan without a layer of text", "scan.pdf", makePdf([[], []])],
  ] as const)("%s succeeds without facts, and is noted as not read", ([, name, content]) =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const { layer, request } = yield* opened(passing(asked), { [name]: content })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const result = yield* extractions.run(request(name))
        expect(result).toMatchObject({ chunks: 0, facts: 0, language: "zxx", unread: "empty" })
        expect(yield* extractions.get(result.runId)).toMatchObject({ status: "succeeded", language: "zxx", unread: "empty" })
        expect(asked).toEqual([])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is in another encoding finds the same as in UTF-8", () =>
    Effect.gen(function* () {
      const text = "Ship1 passed Ship2 near Ålesund. Ship3 passed Ship4 off Cádiz."
      const encodings: Readonly<Record<string, Uint8Array>> = {
        "utf16.txt": new Uint8Array(Buffer.from(`\uFEFF${text}`, "utf16le")),
        "latin.txt": new Uint8Array(Buffer.from(text, "latin1")),
        "utf8.txt": new Uint8Array(Buffer.from(text)),
      }
      const { layer, request } = yield* opened(passing([]), encodings)
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        for (const name of Object.keys(encodings)) {
          const { runId, facts } = yield* extractions.run(request(name))
          expect([name, facts]).toEqual([name, 2])
          const lines = yield* Stream.runCollect(extractions.lines(runId))
          expect(lines.filter((line) => line.includes('#label> "Ship'))).toHaveLength(4)
        }
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is not there fails and names the address", () =>
    Effect.gen(function* () {
      const failure = yield* failureOf({}, "nowhere.txt")
      expect(failure).toMatchObject({ code: "BlobNotFound", retryable: false })
      expect(failure.message).toContain("nowhere.txt")
    }),
  )
})

describe("a run with an ontology that", () => {
  it.live.each([
    ["does not parse", "@prefix : <urn:x> . :Ship a", "OntologySyntaxError"],
    ["is empty", "", "OntologyEmpty"],
    ["names no class and no property", "<urn:a> <urn:b> <urn:c> .", "OntologyEmpty"],
  ] as const)("%s fails before anything is extracted", ([, text, code]) =>
    Effect.gen(function* () {
      const failure = yield* failureOf({ "log.txt": "Ship1 passed Ship2.", "bad.ttl": text }, "log.txt", "bad.ttl")
      expect(failure.code).toBe(code)
      expect(failure.message).toContain("bad.ttl")
      expect(failure.asked).toEqual([])
    }),
  )

  it.live("is not there fails and names the address", () =>
    Effect.gen(function* () {
      const failure = yield* failureOf({ "log.txt": "Ship1 passed Ship2." }, "log.txt", "none.ttl")
      expect(failure.code).toBe("BlobNotFound")
      expect(failure.message).toContain("none.ttl")
    }),
  )

  it.live("has a cycle of classes is used all the same", () =>
    Effect.gen(function* () {
      const cyclic = `@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :Ship a owl:Class ; rdfs:subClassOf :Vessel . :Vessel a owl:Class ; rdfs:subClassOf :Ship . :passed a owl:ObjectProperty .`
      const { layer, request, uri } = yield* opened(passing([]), { "log.txt": "Ship1 passed Ship2.", "cycle.ttl": cyclic })
      const result = yield* Effect.provide(
        Effect.flatMap(Extractions, (extractions) => extractions.run({ ...request("log.txt"), ontologyUri: uri("cycle.ttl") })),
        layer,
      )
      expect(result.facts).toBe(1)
    }),
  )

  it.live("was mended after it failed is read again", () =>
    Effect.gen(function* () {
      const { layer, request, uri, root } = yield* opened(passing([]), { "log.txt": "Ship1 passed Ship2.", "bad.ttl": "nonsense" })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const wanted = { ...request("log.txt"), ontologyUri: uri("bad.ttl") }
        expect((yield* Effect.flip(extractions.run(wanted))).code).toBe("OntologySyntaxError")
        yield* Effect.promise(() => writeFile(`${root}/bad.ttl`, `<${base}Ship> a <http://www.w3.org/2002/07/owl#Class> .`))
        expect((yield* extractions.run(wanted)).facts).toBe(1)
      }).pipe(Effect.provide(layer))
    }),
  )
})
