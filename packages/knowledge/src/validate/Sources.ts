/** Finds the words behind what a shape refused: the statements in the graph that witness the facts concerned. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type NodeOfLines, nodesOfLines, statementType, termOf } from "../graph/LineNodes.ts"
import { detentVocabulary } from "../rdf/FactGraph.ts"
import { typePredicate } from "../rdf/TurtleText.ts"
import type { FactSource, Violation } from "./Violation.ts"

const rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
const derivedFrom = "<http://www.w3.org/ns/prov#wasDerivedFrom>"
const own = (name: string) => `<${detentVocabulary}${name}>`

/** A contradiction that a thousand documents repeat is shown by a few of them. */
const sourcesAtMost = 5

export const isStatement = ({ values }: NodeOfLines): boolean => values.get(typePredicate)?.includes(statementType) ?? false

export const attachSources = <E, R>(
  lines: Stream.Stream<string, E, R>,
  found: ReadonlyArray<Omit<Violation, "sources">>,
): Effect.Effect<ReadonlyArray<Violation>, E, R> =>
  Effect.gen(function* () {
    if (found.length === 0) return []
    const sources = new Map<string, Array<FactSource>>(found.map((one) => [keyOf(one.focus, one.property), []]))
    yield* Stream.runForEach(Stream.filter(nodesOfLines(lines), isStatement), (statement) =>
      Effect.sync(() => {
        const [subject, predicate] = [valueOf(statement, `<${rdf}subject>`), valueOf(statement, `<${rdf}predicate>`)]
        for (const key of [keyOf(subject, predicate), keyOf(subject, undefined)]) {
          const list = sources.get(key)
          if (list !== undefined && list.length < sourcesAtMost) list.push(sourceOf(statement))
        }
      }),
    )
    return found.map((one) => ({ ...one, sources: sources.get(keyOf(one.focus, one.property)) ?? [] }))
  })

const keyOf = (focus: string, property: string | undefined) => `${focus}\n${property ?? ""}`

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
