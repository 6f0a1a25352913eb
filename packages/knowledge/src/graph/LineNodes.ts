/** Sorted lines of N-Triples gathered by subject. */
import * as Stream from "effect/Stream"
import { lineParts } from "../rdf/NTriples.ts"
import { rdf, rdfs } from "../rdf/Vocabulary.ts"

export const labelPredicate = `<${rdfs.label}>`
export const statementType = `<${rdf.statement}>`

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
