/**
 * Parts a graph in two: what may go on, and what concerns entities that do not conform: what is said of them, what points to
 * them, and the statements that witness either.
 */
import * as Stream from "effect/Stream"
import { type NodeOfLines, nodesOfLines, termOf } from "../graph/LineNodes.ts"
import { isStatement } from "./Sources.ts"

const rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

/** The lines that may go on. */
export const withoutOffenders = <E, R>(lines: Stream.Stream<string, E, R>, offenders: ReadonlySet<string>): Stream.Stream<string, E, R> =>
  parted(lines, offenders, false)

/** The lines that are held back. */
export const onlyOffenders = <E, R>(lines: Stream.Stream<string, E, R>, offenders: ReadonlySet<string>): Stream.Stream<string, E, R> =>
  parted(lines, offenders, true)

const parted = <E, R>(lines: Stream.Stream<string, E, R>, offenders: ReadonlySet<string>, wanted: boolean): Stream.Stream<string, E, R> =>
  Stream.flattenIterable(
    Stream.map(nodesOfLines(lines), (node) => {
      const concerned = concerns(node, offenders)
      return linesOf(node)
        .filter(([, object]) => (concerned || isOffender(object, offenders)) === wanted)
        .map(([line]) => line)
    }),
  )

const concerns = (node: NodeOfLines, offenders: ReadonlySet<string>): boolean => {
  if (isOffender(node.subject, offenders)) return true
  if (!isStatement(node)) return false
  return ["subject", "object"].some((part) => (node.values.get(`<${rdf}${part}>`) ?? []).some((object) => isOffender(object, offenders)))
}

const isOffender = (term: string, offenders: ReadonlySet<string>): boolean => !term.startsWith('"') && offenders.has(termOf(term).value)

const linesOf = ({ subject, values }: NodeOfLines): ReadonlyArray<readonly [line: string, object: string]> =>
  [...values].flatMap(([predicate, objects]) => objects.map((object) => [`${subject} ${predicate} ${object} .`, object] as const))
