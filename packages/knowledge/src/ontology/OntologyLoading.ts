/**
 * Loads the text of an ontology file into an index. Reads Turtle, N-Triples, RDF/XML and JSON-LD. Fetches nothing: remote contexts are
 * refused and imports ignored, so that a file always yields the same ontology.
 *
 * ```ts
 * const index = yield* loadOntology({ name: "library.ttl", text })
 * index.label("https://example.org/library#Book") // "book"
 * ```
 */
import { createHash } from "node:crypto"
import { describe } from "@detent/machine/internal"
import { fromOutcome, type Outcome, outcomeOf, type WorkerError } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Triple } from "../rdf/Term.ts"
import { type LibraryQuad, tripleOf } from "../rdf/Turtle.ts"
import { WorkerPool } from "../threads/WorkerPool.ts"
import { findJsonFault } from "./JsonFault.ts"
import { OntologyEmpty, OntologyError, type OntologyFormat, OntologyLimitExceeded, OntologySyntaxError } from "./Ontology.ts"
import { OntologyIndex, type PackedOntology } from "./OntologyIndex.ts"
import { readOntology } from "./OntologyReading.ts"

export interface OntologySource {
  /** Its name in error messages: a path or a URI. The file extension determines the format. */
  readonly name: string
  readonly text: string
  readonly format?: OntologyFormat
  /** The base of relative IRIs in the text. */
  readonly base?: string
}

export const loadOntology = Effect.fnUntraced(function* (source: OntologySource): Effect.fn.Return<OntologyIndex, OntologyError> {
  const text = source.text.replace(/^\uFEFF/, "")
  const format = source.format ?? formatOf(source.name, text)
  const triples = yield* parseRdf({
    text,
    name: source.name,
    format,
    base: source.base ?? "urn:ontology",
  })
  if (triples.some(isOverlong))
    return yield* new OntologySyntaxError({ source: source.name, format, problem: `an IRI in it is longer than ${longestIri} characters` })
  const ontology = readOntology(triples, createHash("sha256").update(source.text).digest("hex"))
  if (ontology.classes.length === 0 && ontology.properties.length === 0) {
    return yield* new OntologyEmpty({ source: source.name, statements: triples.length })
  }
  return new OntologyIndex(ontology)
})

/** Longer than any IRI in practical use. Bounded because IRIs are repeated in every prompt, shape and line that names their terms. */
const longestIri = 4096

const isOverlong = ({ subject, predicate, object }: Triple): boolean =>
  [subject, predicate, object].some(({ termType, value }) => termType === "NamedNode" && value.length > longestIri)

/**
 * Like `loadOntology`, on the worker pool in the context, whose limits stop a file crafted to exhaust time or memory. Without a pool,
 * the caller's thread loads.
 */
export const loadOnWorker = (source: OntologySource): Effect.Effect<OntologyIndex, OntologyError> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) return yield* loadOntology(source)
    const outcome = yield* Effect.mapError(
      // One attempt: a failed load leaves nothing to recover.
      pool.value.run("ontology.load", source, undefined, { limit: pool.value.limits.ontology, attempts: 1 }),
      (error) => failureOf(source, error),
    )
    // The pool returns the output type of the named task.
    return yield* OntologyIndex.unpackInTurns(yield* fromOutcome(OntologyError, outcome as Outcome<PackedOntology>))
  })

const failureOf = (source: OntologySource, error: WorkerError): OntologyError => {
  const { name, text } = source
  return error._tag === "TaskFailed"
    ? new OntologySyntaxError({ source: name, format: source.format ?? formatOf(name, text), problem: error.problem })
    : new OntologyLimitExceeded({
        source: name,
        problem: error._tag === "LimitExceeded" ? error.problem : `the worker that read it crashed: ${error.problem}`,
      })
}

/** The worker task `ontology.load`. */
export const tasks = {
  load: (source: OntologySource) =>
    outcomeOf(
      OntologyError,
      Effect.map(loadOntology(source), (index) => index.pack()),
    ),
}

// Parses text to triples, by format.

interface RdfSource {
  readonly text: string
  /** Its name in error messages: a path or a URI. */
  readonly name: string
  readonly format: OntologyFormat
  /** The base of relative IRIs. */
  readonly base: string
}

const parseRdf = (source: RdfSource): Effect.Effect<ReadonlyArray<Triple>, OntologySyntaxError> => parsers[source.format](source)

/** The format by file extension, else by the start of the text. */
export const formatOf = (name: string, text: string): OntologyFormat => {
  const ending = /\.([a-z]+)$/.exec(name.toLowerCase())?.[1] ?? ""
  const named = endings[ending]
  if (named !== undefined) return named
  const start = text.replace(/^\uFEFF/, "").trimStart()
  if (/^<(?:\?xml|!--|!DOCTYPE|rdf:RDF)/i.test(start)) return "rdfxml"
  // A Turtle file may start with a bracket too, but not with one followed by the start of a JSON value.
  if (/^[[{]\s*["{[\]}]/.test(start)) return "jsonld"
  return "turtle"
}

const endings: Readonly<Record<string, OntologyFormat>> = {
  ttl: "turtle",
  n3: "turtle",
  nt: "ntriples",
  rdf: "rdfxml",
  owl: "rdfxml",
  xml: "rdfxml",
  jsonld: "jsonld",
  json: "jsonld",
}

// Each parser is loaded on first use of its format: the three together take 50 ms.
const parseByN3 = (source: RdfSource) =>
  Effect.tryPromise({
    try: async () => {
      const { Parser } = await import("n3")
      const options = source.format === "ntriples" ? { format: "application/n-triples" } : { baseIRI: source.base }
      return new Parser(options).parse(source.text).flatMap(triplesOf)
    },
    catch: (error) => syntaxError(source, describe(error)),
  })

const parseRdfXml = (source: RdfSource) =>
  Effect.suspend(() => {
    if (xmlDepth(source.text) > deepestXml)
      return Effect.fail(syntaxError(source, `its elements are nested more than ${deepestXml} deep; write them beside each other`))
    return Effect.tryPromise({
      try: async () => {
        const { RdfXmlParser } = await import("rdfxml-streaming-parser")
        return await collect(new RdfXmlParser({ baseIRI: source.base, trackPosition: true }), source.text)
      },
      catch: (error) => syntaxError(source, describe(error)),
    })
  })

/** Bounded because the parser walks all open elements for each element, which is quadratic in the depth. */
const deepestXml = 500

/** Maximum nesting depth of elements, found in one pass. */
const xmlDepth = (text: string): number => {
  let [depth, deepest] = [0, 0]
  for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at + 1)) {
    if (text.startsWith("<!--", at)) at = endOf(text, "-->", at)
    else if (text.startsWith("<![CDATA[", at)) at = endOf(text, "]]>", at)
    else if (text[at + 1] === "/") depth--
    else if (text[at + 1] !== "?" && text[at + 1] !== "!") {
      at = tagEnd(text, at)
      if (text[at - 1] !== "/") deepest = Math.max(deepest, ++depth)
    }
  }
  return deepest
}

const endOf = (text: string, mark: string, from: number): number => {
  const found = text.indexOf(mark, from)
  return found === -1 ? text.length : found
}

/** The offset of the `>` that closes a tag; one inside an attribute value does not count. */
const tagEnd = (text: string, from: number): number => {
  let quote = ""
  for (let at = from; at < text.length; at++) {
    const character = text[at] ?? ""
    if (quote !== "") quote = character === quote ? "" : quote
    else if (character === '"' || character === "'") quote = character
    else if (character === ">") return at
  }
  return text.length
}

const parseJsonLd = (source: RdfSource) =>
  Effect.suspend(() => {
    const fault = findJsonFault(source.text)
    if (fault !== undefined) return Effect.fail(syntaxError(source, fault.problem, fault.line))
    return Effect.tryPromise({
      try: async () => {
        const { JsonLdParser } = await import("jsonld-streaming-parser")
        return await collect(new JsonLdParser({ baseIRI: source.base, documentLoader: refuseToLoad }), source.text)
      },
      catch: (error) => syntaxError(source, describe(error)),
    })
  })

const parsers: Readonly<Record<OntologyFormat, (source: RdfSource) => Effect.Effect<ReadonlyArray<Triple>, OntologySyntaxError>>> = {
  turtle: parseByN3,
  ntriples: parseByN3,
  rdfxml: parseRdfXml,
  jsonld: parseJsonLd,
}

/** Skips statements about statements, which declare no terms. */
const triplesOf = (quad: LibraryQuad): ReadonlyArray<Triple> => {
  const triple = tripleOf(quad)
  return triple === undefined ? [] : [triple]
}

const refuseToLoad = {
  load: (url: string) => Promise.reject(new Error(`${url} is not fetched; write the context into the file itself`)),
}

/** The part of Node's stream interface that the streaming parsers implement. */
interface QuadStream {
  on(event: "data", listener: (quad: LibraryQuad) => void): unknown
  on(event: "error", listener: (error: unknown) => void): unknown
  on(event: "end", listener: () => void): unknown
  end(text: string): unknown
}

const collect = (parser: QuadStream, text: string) =>
  new Promise<ReadonlyArray<Triple>>((resolve, reject) => {
    const triples: Array<Triple> = []
    parser.on("data", (quad) => triples.push(...triplesOf(quad)))
    parser.on("error", reject)
    parser.on("end", () => resolve(triples))
    parser.end(text)
  })

// The parsers report the line only in their messages: "… on line 3.", "3:79: …", "Line 3 column 84: …".
const linePatterns = [/^(\d+):\d+: /, /^Line (\d+) column \d+: /, / on line (\d+)\.?$/]

const syntaxError = (source: RdfSource, message: string, line?: number): OntologySyntaxError => {
  const pattern = line === undefined ? linePatterns.find((one) => one.test(message)) : undefined
  const lineNumber = pattern === undefined ? line : Number(pattern.exec(message)?.[1])
  const problem = (pattern === undefined ? message : message.replace(pattern, "")).replace(/\.$/, "")
  return new OntologySyntaxError({
    source: source.name,
    format: source.format,
    problem,
    ...(lineNumber === undefined ? {} : { line: lineNumber }),
  })
}
