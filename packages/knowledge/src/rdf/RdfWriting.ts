/**
 * Writes triples as Turtle or N-Triples: checked, in order, each once, so that the same triples are the same bytes, in whatever
 * order and however often they come. Memory is bounded: a graph may be larger than that.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type LineSortOptions, type SortFailed, sortLines } from "./LineSort.ts"
import { lineOf } from "./NTriples.ts"
import { checkIri, checkTriple, InvalidTerm, type Triple } from "./Term.ts"
import { turtleText } from "./TurtleText.ts"

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
