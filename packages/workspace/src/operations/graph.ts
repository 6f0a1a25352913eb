/** What a user can ask the knowledge graph. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { CanonicalGraph, GraphQuery, type GraphQueryService, Namespace } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { GraphNotFound } from "../errors.ts"
import { explained } from "../graph/QueryProblem.ts"
import { Workspace } from "../Workspace.ts"

type GraphVersion = Parameters<GraphQueryService["query"]>[0]

/** The graphs of the workspace, by name. */
export const namespaces = Effect.map(Workspace, ({ data }): ReadonlyArray<Namespace> => {
  const folder = join(data, "canonical")
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter(Schema.is(Namespace))
    .filter((name) => existsSync(join(folder, name, "current.json")))
    .sort()
})

/** The current version of a graph. */
export const current = (namespace: Namespace) =>
  Effect.flatMap(
    Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => graph.current(namespace)),
    Option.match({ onNone: () => Effect.fail(new GraphNotFound({ namespace })), onSome: Effect.succeed }),
  )

/** The answer to a SPARQL query. A refusal says in few words what to correct. */
export const query = (version: GraphVersion, sparql: string, options?: Parameters<GraphQueryService["query"]>[2]) =>
  Effect.flatMap(GraphQuery, (graph) => graph.query(version, sparql, options)).pipe(
    Effect.catchTag("QueryRefused", (refused) => Effect.fail(explained(sparql, refused))),
  )

/** How many triples a version has: as many as its export has lines. */
export const countTriples = (version: GraphVersion) =>
  Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => Stream.runCount(graph.lines(version)))

/** What a graph is made of: its version and the batches that added to it. */
export const contributions = ({ contributions: added }: GraphVersion) =>
  added.map(({ batchId, triples, shown, ingestedAt }) => ({
    batchId,
    /** Those that the graph shows: a later batch may have replaced others. */
    triples: shown?.triples ?? triples,
    ingestedAt: ingestedAt.epochMilliseconds,
  }))
