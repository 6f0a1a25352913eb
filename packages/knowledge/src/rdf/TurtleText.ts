/**
 * Sorted lines of N-Triples as Turtle. A term of N-Triples is a term of Turtle, so lines are only taken apart, shortened and
 * put together by subject; nothing is parsed into terms. The result is as stable as the lines are.
 */
import * as Stream from "effect/Stream"
import { rdf } from "./Vocabulary.ts"

export interface LineParts {
  readonly subject: string
  readonly predicate: string
  readonly object: string
}

/** Neither subject nor predicate can hold a space, so the first two part the line. */
export const lineParts = (line: string): LineParts => {
  const first = line.indexOf(" ")
  const second = line.indexOf(" ", first + 1)
  return { subject: line.slice(0, first), predicate: line.slice(first + 1, second), object: line.slice(second + 1, -2) }
}

export const typePredicate = `<${rdf.type}>`

/** The text in pieces. Prefixes are written in the order of their names. */
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
