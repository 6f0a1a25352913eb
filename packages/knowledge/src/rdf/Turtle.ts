/**
 * Writes and reads Turtle and N-Triples. The writer checks, sorts and deduplicates triples, so that equal sets of triples yield equal
 * bytes. Both directions stream: a graph may be larger than memory.
 */
import { Stream as Pushed } from "node:stream"
import { describe } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type LineSortOptions, type SortFailed, sortLines } from "./LineSort.ts"
import {
  type BlankNode,
  blankNode,
  checkIri,
  checkTriple,
  InvalidTerm,
  type Literal,
  languageLiteral,
  literal,
  type NamedNode,
  namedNode,
  type Triple,
} from "./Term.ts"
import { rdf, xsd } from "./Vocabulary.ts"

export interface TurtleOptions extends LineSortOptions {
  /** Namespace IRI by prefix name. */
  readonly prefixes?: Readonly<Record<string, string>>
}

/** The text, in chunks of many lines. */
export const writeNTriples = <E, R>(
  triples: Stream.Stream<Triple, E, R>,
  options: LineSortOptions = {},
): Stream.Stream<string, E | InvalidTerm | SortFailed, R> =>
  Stream.mapArray(sortedLines(triples, checkTriple, options), (lines) => [`${lines.join("\n")}\n`])

/** The text, in chunks of many lines. */
export const writeTurtle = <E, R>(
  triples: Stream.Stream<Triple, E, R>,
  options: TurtleOptions = {},
): Stream.Stream<string, E | InvalidTerm | SortFailed, R> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { prefixes = {} } = options
      const entries = Object.entries(prefixes)
      for (const [name, iri] of entries) {
        const invalid = checkPrefix(name, iri)
        if (invalid !== undefined) return yield* invalid
      }
      return turtleText(
        sortedLines(triples, (one) => checkTriple(one) ?? checkExpanded(one, entries), options),
        prefixes,
      )
    }),
  )

const sortedLines = <E, R>(
  triples: Stream.Stream<Triple, E, R>,
  check: (triple: Triple) => InvalidTerm | undefined,
  options: LineSortOptions,
): Stream.Stream<string, E | InvalidTerm | SortFailed, R> => {
  const lines = Stream.mapArrayEffect(triples, ([first, ...rest]) =>
    Effect.gen(function* () {
      for (const triple of [first, ...rest]) {
        const invalid = check(triple)
        if (invalid !== undefined) return yield* invalid
      }
      const lines: [string, ...Array<string>] = [lineOf(first)]
      for (const triple of rest) lines.push(lineOf(triple))
      return lines
    }),
  )
  return sortLines(lines, options)
}

const checkPrefix = (name: string, iri: string): InvalidTerm | undefined =>
  /^([A-Za-z][A-Za-z0-9_-]*)?$/.test(name) ? checkIri(iri) : new InvalidTerm({ term: name, problem: "is not a valid prefix name" })

/** Rejects an IRI that starts with a prefix name: the caller most likely forgot to expand it. */
const checkExpanded = (triple: Triple, prefixes: ReadonlyArray<readonly [string, string]>): InvalidTerm | undefined => {
  const terms = [triple.subject, triple.predicate, triple.object.termType === "Literal" ? triple.object.datatype : triple.object]
  for (const term of terms) {
    if (term.termType !== "NamedNode") continue
    const prefix = prefixes.find(([name]) => term.value.startsWith(`${name}:`))
    if (prefix === undefined) continue
    return new InvalidTerm({
      term: term.value,
      problem: `is a prefixed name where an IRI is required: write ${prefix[1]} for ${prefix[0]}:`,
    })
  }
  return undefined
}

/**
 * Sorted lines of N-Triples as Turtle, in chunks. Every N-Triples term is a Turtle term, so lines are only split, shortened and
 * grouped by subject; nothing is parsed into terms. Equal lines yield equal text. Prefixes are written in the order of their names.
 */
export const turtleText = <E, R>(
  lines: Stream.Stream<string, E, R>,
  prefixes: Readonly<Record<string, string>>,
): Stream.Stream<string, E, R> => {
  const sorted = Object.entries(prefixes).sort(([left], [right]) => (left < right ? -1 : 1))
  const header = sorted.length === 0 ? "" : `${sorted.map(([name, iri]) => `@prefix ${name}: <${iri}> .\n`).join("")}\n`
  const shorten = makeShortener(sorted)
  let subject = ""
  let predicate = ""
  const body = Stream.mapArray(lines, (batch) => {
    let text = ""
    for (const line of batch) {
      const parts = lineParts(line)
      const object = shorten(parts.object)
      if (parts.subject !== subject) {
        text += `${subject === "" ? "" : " .\n"}${shorten(parts.subject)} ${verb(parts.predicate, shorten)} ${object}`
      } else if (parts.predicate === predicate) text += `, ${object}`
      else text += ` ;\n  ${verb(parts.predicate, shorten)} ${object}`
      subject = parts.subject
      predicate = parts.predicate
    }
    return [text]
  })
  const end = Stream.sync(() => (subject === "" ? "" : " .\n"))
  return Stream.concat(Stream.succeed(header), Stream.concat(body, end))
}

const verb = (predicate: string, shorten: (term: string) => string) => (predicate === typePredicate ? "a" : shorten(predicate))

/** Shortens only names that need no escape. Of several matching prefixes, the longest applies. */
const makeShortener = (prefixes: ReadonlyArray<readonly [string, string]>) => {
  const byLength = prefixes.toSorted(([, left], [, right]) => right.length - left.length)
  const shorten = (iri: string): string => {
    const fitting = byLength.find(([, start]) => iri.startsWith(start, 1))
    if (fitting === undefined) return iri
    const local = iri.slice(fitting[1].length + 1, -1)
    return /^[A-Za-z_]([A-Za-z0-9_-]*[A-Za-z0-9_])?$/.test(local) ? `${fitting[0]}:${local}` : iri
  }
  return (term: string): string => {
    if (term.startsWith("<")) return shorten(term)
    if (!term.endsWith(">")) return term
    // A literal with a datatype: the quotation mark before the last ^^ ends its text.
    const mark = term.lastIndexOf('"^^<')
    return mark < 0 ? term : `${term.slice(0, mark + 3)}${shorten(term.slice(mark + 3))}`
  }
}

export class RdfSyntaxError extends Schema.TaggedError<RdfSyntaxError>()("RdfSyntaxError", {
  source: Schema.String,
  /** Counted from 1; absent when the parser could not tell. */
  line: Schema.optionalKey(Schema.Finite),
  problem: Schema.String,
  /** Default: Turtle. */
  format: Schema.optionalKey(Schema.Literals(["Turtle", "N-Triples"])),
}) {
  override get message() {
    const where = this.line === undefined ? this.source : `${this.source}, line ${this.line}`
    return `${where}: no valid ${this.format ?? "Turtle"}: ${this.problem}; correct the file`
  }
}

/** The triples of a text. Errors name it `source`. */
export const readTurtle = <E, R>(text: Stream.Stream<string, E, R>, source: string): Stream.Stream<Triple, E | RdfSyntaxError, R> =>
  read(text, source, "Turtle")

/** The triples of N-Triples lines. Rejects everything that only Turtle allows, such as prefixes, short forms and relative IRIs. */
export const readNTriples = <E, R>(text: Stream.Stream<string, E, R>, source: string): Stream.Stream<Triple, E | RdfSyntaxError, R> =>
  read(text, source, "N-Triples")

const read = <E, R>(
  text: Stream.Stream<string, E, R>,
  source: string,
  format: "Turtle" | "N-Triples",
): Stream.Stream<Triple, E | RdfSyntaxError, R> =>
  Stream.unwrap(
    Effect.map(n3, ({ Parser }) => {
      // The parser calls back synchronously on each push, so the triples of one chunk are emitted before the next chunk is pulled.
      const input = new Pushed()
      let found: Array<Triple> = []
      let failure: RdfSyntaxError | undefined
      const fail = (problem: string, line?: number) => {
        failure ??= new RdfSyntaxError({ source, problem, format, ...(line === undefined ? {} : { line }) })
      }
      // Blank nodes keep their labels. By default, the parser renames them with a counter that continues from text to text.
      new Parser({ format: format === "Turtle" ? "text/turtle" : "application/n-triples", blankNodePrefix: "_:" }).parse(
        input,
        (error, quad) => {
          if (error) fail(...problemOf(error))
          if (error || quad === null) return
          const triple = tripleOf(quad)
          if (triple === undefined) fail("it contains a statement about a statement")
          else found.push(triple)
        },
      )
      const answerTo = (push: () => void) =>
        Effect.suspend(() => {
          push()
          const triples = found
          found = []
          return failure === undefined ? Effect.succeed(triples) : Effect.fail(failure)
        })
      return Stream.concat(
        Stream.mapEffect(text, (piece) => answerTo(() => input.emit("data", piece))),
        Stream.fromEffect(answerTo(() => input.emit("end"))),
      ).pipe(Stream.flattenIterable)
    }),
  )

/** The n3 library, loaded on first use, since loading takes 50 ms. */
const n3: Effect.Effect<typeof import("n3")> = Effect.promise(() => import("n3"))

const problemOf = (error: unknown): [problem: string, line?: number] => {
  const message = describe(error)
  const line = / on line (\d+)/.exec(message)
  const problem = message.replace(/ on line \d+\.?/, "").replace(/\.$/, "")
  return line === null ? [problem] : [problem, Number(line[1])]
}

/** The fields of an RDF/JS term of the parsers that this module uses. */
interface LibraryTerm {
  readonly termType: string
  readonly value: string
  readonly language?: string
  readonly datatype?: { readonly value: string }
}

export interface LibraryQuad {
  readonly subject: LibraryTerm
  readonly predicate: LibraryTerm
  readonly object: LibraryTerm
}

/** The quad as plain data; undefined if it is not an RDF 1.1 triple, such as a statement about a statement. */
export const tripleOf = (quad: LibraryQuad): Triple | undefined => {
  const subject = nodeOf(quad.subject)
  const predicate = nodeOf(quad.predicate)
  const object = nodeOf(quad.object) ?? literalOf(quad.object)
  if (subject === undefined || predicate?.termType !== "NamedNode" || object === undefined) return undefined
  return { subject, predicate, object }
}

const nodeOf = (term: LibraryTerm): NamedNode | BlankNode | undefined =>
  term.termType === "NamedNode" || term.termType === "BlankNode" ? { termType: term.termType, value: term.value } : undefined

const literalOf = (term: LibraryTerm): Literal | undefined =>
  term.termType === "Literal"
    ? {
        termType: "Literal",
        value: term.value,
        language: (term.language ?? "").toLowerCase(),
        datatype: { termType: "NamedNode", value: term.datatype?.value ?? "" },
      }
    : undefined

// A line of canonical N-Triples is a triple. Each triple has exactly one line, so equal lines are equal triples, and sorting lines
// sorts triples, with those of one subject adjacent.

/**
 * The line without its line break. The caller has checked the triple. Uses `join`, since a template literal creates a rope string
 * that retains its pieces: sorting a million lines took 608 MB with templates and takes 408 MB with `join`.
 */
export const lineOf = ({ subject, predicate, object }: Triple): string =>
  [nodeText(subject), nodeText(predicate), termText(object), "."].join(" ")

/** The N-Triples text of a term. */
export const termText = (term: NamedNode | BlankNode | Literal): string =>
  term.termType === "Literal" ? literalText(term) : nodeText(term)

/** The term of an N-Triples text. */
export const termOf = (text: string): NamedNode | BlankNode | Literal => {
  if (!text.startsWith('"')) return nodeIn(text)
  const end = text.lastIndexOf('"')
  const value = unescaped(text.slice(1, end))
  const rest = text.slice(end + 1)
  if (rest.startsWith("@")) return languageLiteral(value, rest.slice(1))
  return literal(value, rest.startsWith("^^<") ? unescaped(rest.slice(3, -1)) : xsd.string)
}

export interface LineParts {
  readonly subject: string
  readonly predicate: string
  readonly object: string
}

/** Neither subject nor predicate can contain a space, so the first two spaces separate the parts. */
export const lineParts = (line: string): LineParts => {
  const first = line.indexOf(" ")
  const second = line.indexOf(" ", first + 1)
  return { subject: line.slice(0, first), predicate: line.slice(first + 1, second), object: line.slice(second + 1, -2) }
}

export const typePredicate = `<${rdf.type}>`

/** The triple of a line that `lineOf` wrote and `lineParts` split. */
export const tripleOfParts = ({ subject, predicate, object }: LineParts): Triple => ({
  subject: nodeIn(subject),
  predicate: namedNode(unescaped(predicate.slice(1, -1))),
  object: termOf(object),
})

/** A node's name for users and other programs: an IRI, or a blank node label with its `_:`. */
export const nameOfNode = (text: string): string => (text.startsWith("_:") ? text : termOf(text).value)

const nodeIn = (text: string): NamedNode | BlankNode =>
  text.startsWith("<") ? namedNode(unescaped(text.slice(1, -1))) : blankNode(text.slice(2))

const nodeText = (node: NamedNode | BlankNode): string => (node.termType === "NamedNode" ? `<${escaped(node.value)}>` : `_:${node.value}`)

const literalText = ({ value, language, datatype }: Literal): string => {
  const text = `"${escaped(value)}"`
  if (language !== "") return `${text}@${language}`
  return datatype.value === xsd.string ? text : `${text}^^${nodeText(datatype)}`
}

const escaped = (text: string): string => (needsEscape.test(text) ? text.replace(needsEscapeEach, escape) : text)

const needsEscape = /[^ !#-[\]-~\u0080-\ufffd]/
const needsEscapeEach = new RegExp(needsEscape.source, "g")

const shortEscapes: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
  "\b": "\\b",
  "\f": "\\f",
}

const escape = (character: string): string =>
  shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`

const unescaped = (text: string): string =>
  text.includes("\\")
    ? text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/gs, (_, four, eight, letter) =>
        letter === undefined ? String.fromCodePoint(Number.parseInt(four ?? eight, 16)) : (meanings[letter] ?? letter),
      )
    : text

const meanings: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f" }

/**
 * A copy of a string with its own memory. The engine represents a slice as a pointer into its parent string, which stays in memory as
 * long as the slice: a name of twenty letters would retain the lines of its whole document.
 */
export const detached = (text: string): string => Buffer.from(text).toString()

/** Interns strings that are long-lived and repeated: each is stored once, detached from its parent string. */
export class KeptTexts {
  readonly #texts = new Map<string, string>()

  of(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    const own = detached(text)
    this.#texts.set(own, own)
    return own
  }
}
