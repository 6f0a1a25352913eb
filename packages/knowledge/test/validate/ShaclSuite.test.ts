/** W3C's tests of SHACL Core through our own validation. */
import { readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { unless } from "../../../store/test/support/skipping.ts"
import { OntologyIndex } from "../../src/ontology/OntologyIndex.ts"
import { readOntology } from "../../src/ontology/OntologyReading.ts"
import type { Triple } from "../../src/rdf/Term.ts"
import { lineOf, readTurtle } from "../../src/rdf/Turtle.ts"
import { pathText, ShapesGraph, shapesOf } from "../../src/validate/Shapes.ts"
import { validate, validateByLibrary } from "../../src/validate/Validation.ts"
import { shaclSuite } from "./shaclSuite.ts"

const loaded = shaclSuite()
const folder = "folder" in loaded ? loaded.folder : undefined

const sh = "http://www.w3.org/ns/shacl#"
const mf = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
const base = "http://example.org/suite/"

const read = (file: string) =>
  Stream.runCollect(readTurtle(Stream.succeed(`@base <${base}> .\n${readFileSync(file, "utf8")}`), basename(file)))

/** The files that a manifest includes, and those that these include. */
const included = (manifest: string): ReadonlyArray<string> => {
  const names = [...readFileSync(manifest, "utf8").matchAll(/mf:include\s+<([^>]+)>/g)].map(([, name]) =>
    join(dirname(manifest), name ?? ""),
  )
  return names.flatMap((name) => (basename(name) === "manifest.ttl" ? included(name) : [name]))
}

const nothing = new OntologyIndex(readOntology([], "none"))

/** Labels of blank nodes differ from one reading to the next. */
const named = (value: string | undefined) => (value === undefined || value.includes(":") ? value : "a blank node")

const expected = (triples: ReadonlyArray<Triple>) => {
  const graph = new ShapesGraph(triples)
  const [report] = triples.filter(({ predicate }) => predicate.value === `${mf}result`)
  const results = graph.values(report?.object.value ?? "", `${sh}result`).map(({ value: result }) => {
    const [focus, path, value, severity, component, shape] = [
      "focusNode",
      "resultPath",
      "value",
      "resultSeverity",
      "sourceConstraintComponent",
      "sourceShape",
    ].map((name) => graph.values(result, sh + name)[0])
    return {
      focus: focus?.termType === "BlankNode" ? "a blank node" : focus?.value,
      path: path === undefined ? undefined : pathText(graph, path),
      value: value?.termType === "BlankNode" ? "a blank node" : value?.value,
      severity: severity?.value,
      component: component?.value,
      shape: named(shape?.value),
    }
  })
  const conforms = graph.values(report?.object.value ?? "", `${sh}conforms`)[0]?.value
  const [data, shapes] = ["dataGraph", "shapesGraph"].map(
    (name) =>
      triples.find(({ predicate }) => predicate.value === `http://www.w3.org/ns/shacl-test#${name}`)?.object.value.slice(base.length) ?? "",
  )
  return { conforms, results: results.map((one) => JSON.stringify(one)).sort(), data, shapes }
}

const suite = folder === undefined ? [] : included(join(folder, "core", "manifest.ttl"))

describe("W3C's tests of SHACL Core", unless("problem" in loaded ? loaded.problem : undefined), () => {
  it("are 98", () => expect(suite).toHaveLength(98))

  it.effect.each(suite.map((file) => [file.slice((folder ?? "").length), file] as const))("%s", ([, file]) =>
    Effect.gen(function* () {
      const test = expected(yield* read(file))
      const beside = (name: string | undefined) => (name ? join(dirname(file), name) : file)
      const shapes = yield* shapesOf(yield* read(beside(test.shapes)), basename(file))
      const lines = Stream.fromIterable([...new Set((yield* read(beside(test.data))).map(lineOf))].sort())
      for (const validated of [validate, validateByLibrary]) {
        const { listed } = yield* validated({ added: lines }, shapes, nothing)
        const blank = new Set(
          shapes.triples
            .flatMap(({ subject, object }) => [subject, object])
            .filter(({ termType }) => termType === "BlankNode")
            .map(({ value }) => value),
        )
        const found = listed.map(({ focus, property, value, datatype, severity, severityIri, component, shape }) =>
          JSON.stringify({
            focus: blank.has(focus) ? "a blank node" : focus,
            path: property,
            value: datatype === undefined && value !== undefined ? named(value) : value,
            severity: severityIri ?? sh + severity,
            component,
            shape: named(shape),
          }),
        )
        expect(found.sort()).toEqual(test.results)
        expect(String(listed.length === 0)).toBe(test.conforms)
      }
    }),
  )
})
