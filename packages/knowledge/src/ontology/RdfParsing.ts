/**
 * Reads Turtle, N-Triples, RDF/XML and JSON-LD into triples. Nothing is fetched: contexts and imports that live elsewhere are
 * refused or left alone, so that the same file means the same ontology everywhere and always.
 */
import * as Effect from "effect/Effect"
import { type LibraryQuad, tripleOf } from "../rdf/RdfReading.ts"
import type { Triple } from "../rdf/Term.ts"
import { findJsonFault } from "./JsonFault.ts"
import { type OntologyFormat, OntologySyntaxError } from "./Ontology.ts"

export interface RdfSource {
  readonly text: string
  /** What error messages call it: a path or a URI. */
  readonly name: string
  readonly format: OntologyFormat
  /** What relative IRIs are relative to. */
  readonly base: string
}

export const parseRdf = (source: RdfSource): Effect.Effect<ReadonlyArray<Triple>, OntologySyntaxError> => parsers[source.format](source)

/** The format by the name's ending, else by how the text begins. */
export const formatOf = (name: string, text: string): OntologyFormat => {
  const ending = /\.([a-z]+)$/.exec(name.toLowerCase())?.[1] ?? ""
  const named = endings[ending]
  if (named !== undefined) return named
  const start = text.replace(/^\uFEFF/, "").trimStart()
  if (/^<(?:\?xml|!--|!DOCTYPE|rdf:RDF)/i.test(start)) return "rdfxml"
  // A Turtle file may begin with a bracket too, but not with one followed by what begins a JSON value.
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

// Each parser is loaded when its format is first met: the three together take 50 ms.
const parseByN3 = (source: RdfSource) =>
  Effect.tryPromise({
    try: async () => {
      const { Parser } = await import("n3")
      const options = source.format === "ntriples" ? { format: "application/n-triples" } : { baseIRI: source.base }
      return new Parser(options).parse(source.text).flatMap(triplesOf)
    },
    catch: (error) => syntaxError(source, messageOf(error)),
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
      catch: (error) => syntaxError(source, messageOf(error)),
    })
  })

/** The parser looks through all elements that are open for each one that it meets. */
const deepestXml = 500

/** How deep elements are nested, in one pass. */
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

/** Where a tag is closed: not inside the value of an attribute. */
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
      catch: (error) => syntaxError(source, messageOf(error)),
    })
  })

const parsers: Readonly<Record<OntologyFormat, (source: RdfSource) => Effect.Effect<ReadonlyArray<Triple>, OntologySyntaxError>>> = {
  turtle: parseByN3,
  ntriples: parseByN3,
  rdfxml: parseRdfXml,
  jsonld: parseJsonLd,
}

/** Statements about statements name nothing an ontology needs, so they are left out. */
const triplesOf = (quad: LibraryQuad): ReadonlyArray<Triple> => {
  const triple = tripleOf(quad)
  return triple === undefined ? [] : [triple]
}

const refuseToLoad = {
  load: (url: string) => Promise.reject(new Error(`${url} is not fetched; write the context into the file itself`)),
}

/** What a streaming parser has of a Node stream. */
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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

// The parsers tell the line only in their messages: "… on line 3.", "3:79: …", "Line 3 column 84: …".
const linePatterns = [/^(\d+):\d+: /, /^Line (\d+) column \d+: /, / on line (\d+)\.?$/]

const syntaxError = (source: RdfSource, message: string, line?: number): OntologySyntaxError => {
  const pattern = line === undefined ? linePatterns.find((one) => one.test(message)) : undefined
  const told = pattern === undefined ? line : Number(pattern.exec(message)?.[1])
  const problem = (pattern === undefined ? message : message.replace(pattern, "")).replace(/\.$/, "")
  return new OntologySyntaxError({
    source: source.name,
    format: source.format,
    problem,
    ...(told === undefined ? {} : { line: told }),
  })
}
