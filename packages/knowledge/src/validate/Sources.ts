/** Finds the words behind facts: the statements in the graph that witness them. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { NodeOfLines } from "../graph/LineNodes.ts"
import { termOf } from "../rdf/NTriples.ts"
import { detentVocabulary, prov, rdf } from "../rdf/Vocabulary.ts"
import type { FactSource, Violation } from "./Violation.ts"

const derivedFrom = `<${prov.wasDerivedFrom}>`
const own = (name: string) => `<${detentVocabulary}${name}>`

/** A contradiction that a thousand documents repeat is shown by a few of them. */
const sourcesAtMost = 5

/** The line of the fact that a statement witnesses. */
export const statedLine = ({ values }: NodeOfLines): string =>
  [...[rdf.subject, rdf.predicate, rdf.object].map((part) => values.get(`<${part}>`)?.[0] ?? ""), "."].join(" ")

export const attachSources = <E>(
  statements: Stream.Stream<NodeOfLines, E>,
  found: ReadonlyArray<Omit<Violation, "sources">>,
): Effect.Effect<ReadonlyArray<Violation>, E> =>
  Effect.map(
    sourcesBy(
      statements,
      found.map(({ focus, property }) => keyOf(focus, property)),
      (statement) => {
        const [subject, predicate] = [valueOf(statement, `<${rdf.subject}>`), valueOf(statement, `<${rdf.predicate}>`)]
        return [keyOf(subject, predicate), keyOf(subject, undefined)]
      },
    ),
    (sources) => found.map((one) => ({ ...one, sources: sources.get(keyOf(one.focus, one.property)) ?? [] })),
  )

/** The sources of facts, by their lines. */
export const sourcesOfLines = <E>(
  statements: Stream.Stream<NodeOfLines, E>,
  lines: ReadonlyArray<string>,
): Effect.Effect<ReadonlyMap<string, ReadonlyArray<FactSource>>, E> => sourcesBy(statements, lines, (statement) => [statedLine(statement)])

const sourcesBy = <E>(
  statements: Stream.Stream<NodeOfLines, E>,
  keys: ReadonlyArray<string>,
  keysOf: (statement: NodeOfLines) => ReadonlyArray<string>,
): Effect.Effect<ReadonlyMap<string, ReadonlyArray<FactSource>>, E> =>
  Effect.gen(function* () {
    const sources = new Map<string, Array<FactSource>>(keys.map((key) => [key, []]))
    if (keys.length === 0) return sources
    yield* Stream.runForEach(statements, (statement) =>
      Effect.sync(() => {
        for (const key of keysOf(statement)) {
          const list = sources.get(key)
          if (list !== undefined && list.length < sourcesAtMost) list.push(sourceOf(statement))
        }
      }),
    )
    return sources
  })

/** For a path that is no single property, what is said of its focus node counts. */
const keyOf = (focus: string, property: string | undefined) => `${focus}\n${property?.includes("<") ? "" : (property ?? "")}`

const valueOf = ({ values }: NodeOfLines, predicate: string): string => {
  const [object] = values.get(predicate) ?? []
  return object === undefined ? "" : termOf(object).value
}

const sourceOf = (statement: NodeOfLines): FactSource => ({
  document: valueOf(statement, derivedFrom),
  quote: valueOf(statement, own("quote")),
  start: Number(valueOf(statement, own("start"))),
  end: Number(valueOf(statement, own("end"))),
})
