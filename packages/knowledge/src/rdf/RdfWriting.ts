/**
 * Writes triples as Turtle or N-Triples: checked, in order, each once, so that the same triples are the same bytes, in whatever
 * order and however often they come. Memory is bounded: a graph may be larger than that.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type LineSortOptions, type SortFailed, sortLines } from "./LineSort.ts"
import { lineOf, lineParts, typePredicate } from "./NTriples.ts"
import { checkIri, checkTriple, InvalidTerm, type Triple } from "./Term.ts"

export interface TurtleOptions extends LineSortOptions {
  /** Short names for the beginnings of IRIs. */
  readonly prefixes?: Readonly<Record<string, string>>
}

/** The text, in pieces of many lines. */
export const writeNTriples = <E, R>(
  triples: Stream.Stream<Triple, E, R>,
  options: LineSortOptions = {},
): Stream.Stream<string, E | InvalidTerm | SortFailed, R> =>
  Stream.mapArray(sortedLines(triples, checkTriple, options), (lines) => [`${lines.join("\n")}\n`])

/** The text, in pieces of many lines. */
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
  /^([A-Za-z][A-Za-z0-9_-]*)?$/.test(name) ? checkIri(iri) : new InvalidTerm({ term: name, problem: "is no name for a prefix" })

/** An IRI that begins like a short name: in all likelihood the writer forgot to expand it. */
const checkExpanded = (triple: Triple, prefixes: ReadonlyArray<readonly [string, string]>): InvalidTerm | undefined => {
  const terms = [triple.subject, triple.predicate, triple.object.termType === "Literal" ? triple.object.datatype : triple.object]
  for (const term of terms) {
    if (term.termType !== "NamedNode") continue
    const prefix = prefixes.find(([name]) => term.value.startsWith(`${name}:`))
    if (prefix === undefined) continue
    return new InvalidTerm({ term: term.value, problem: `is a short name where an IRI was wanted: write ${prefix[1]} for ${prefix[0]}:` })
  }
  return undefined
}

/**
 * Sorted lines of N-Triples as Turtle, in pieces. A term of N-Triples is a term of Turtle, so lines are only taken apart, shortened
 * and put together by subject; nothing is parsed into terms. The result is as stable as the lines are. Prefixes are written in the
 * order of their names.
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

/** Only names that need no escape are shortened; of several prefixes that fit, the longest. */
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
