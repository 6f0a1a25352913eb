/** Sorted lines of N-Triples gathered by subject, and the terms in them as plain text. */
import * as Stream from "effect/Stream"
import { lineParts } from "../rdf/TurtleText.ts"

export const labelPredicate = "<http://www.w3.org/2000/01/rdf-schema#label>"
export const statementType = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement>"

/** Everything a graph says of one subject, in terms of N-Triples. */
export interface NodeOfLines {
  readonly subject: string
  readonly values: ReadonlyMap<string, ReadonlyArray<string>>
}

/** Lines of one subject stand together, so only one is held at a time. */
export const nodesOfLines = <E, R>(lines: Stream.Stream<string, E, R>): Stream.Stream<NodeOfLines, E, R> =>
  Stream.suspend(() => {
    let subject = ""
    let values = new Map<string, Array<string>>()
    const body = Stream.flattenIterable(
      Stream.mapArray(lines, (batch) => {
        const done: Array<NodeOfLines> = []
        for (const line of batch) {
          const parts = lineParts(line)
          if (parts.subject !== subject) {
            if (subject !== "") done.push({ subject, values })
            subject = parts.subject
            values = new Map()
          }
          const objects = values.get(parts.predicate)
          if (objects === undefined) values.set(parts.predicate, [parts.object])
          else objects.push(parts.object)
        }
        return [done]
      }),
    )
    const last = Stream.suspend(() => (subject === "" ? Stream.empty : Stream.succeed({ subject, values })))
    return Stream.concat(body, last)
  })

export type LineTerm =
  | { readonly _tag: "Node"; readonly value: string }
  | { readonly _tag: "Text"; readonly value: string; readonly language: string | undefined; readonly datatype: string | undefined }

export const termOf = (term: string): LineTerm => {
  if (term.startsWith("<")) return { _tag: "Node", value: unescaped(term.slice(1, -1)) }
  if (!term.startsWith('"')) return { _tag: "Node", value: term }
  const end = term.lastIndexOf('"')
  const rest = term.slice(end + 1)
  return {
    _tag: "Text",
    value: unescaped(term.slice(1, end)),
    language: rest.startsWith("@") ? rest.slice(1) : undefined,
    datatype: rest.startsWith("^^<") ? unescaped(rest.slice(3, -1)) : undefined,
  }
}

const shortEscapes: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f", '"': '"', "\\": "\\", "'": "'" }

const unescaped = (text: string): string =>
  text.includes("\\")
    ? text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/gs, (_, four, eight, letter) =>
        letter === undefined ? String.fromCodePoint(Number.parseInt(four ?? eight, 16)) : (shortEscapes[letter] ?? letter),
      )
    : text
