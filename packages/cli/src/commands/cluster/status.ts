import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import * as operations from "@detent/workspace/operations/cluster"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { durationText, momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"

export default command(
  {
    name: "cluster status",
    summary: "nodes that are alive, with their shards",
    detail:
      "A node is a process that was started with `detent serve --cluster` or `detent worker --cluster`. The instances of a database\n" +
      "are divided into 300 shards, and each shard belongs to one node. AT WORK counts the running instances and executions whose work\n" +
      "the node runs; instances that only wait for events or timers are not counted. LATE is how long the oldest overdue timer has been due.",
    arguments: [],
    options: [],
    examples: [{ line: "detent cluster status --database postgres://db/detent", says: "the shards of each node" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { data, database } = yield* CurrentWorkspace
      const nodes = yield* operations.nodes
      yield* output.rows(
        nodes,
        [
          { title: "ADDRESS", of: ({ address }) => address },
          { title: "", of: ({ draining }) => (draining ? "draining" : ""), looks: (text, _, style) => style.yellow(text) },
          { title: "SHARDS", of: ({ shards }) => String(shards) },
          { title: "AT WORK", of: ({ working }) => String(working) },
          { title: "LATE", of: ({ lagMillis }) => (lagMillis === 0 ? "" : durationText(lagMillis)) },
          { title: "STARTED", of: ({ startedAt }) => momentText(startedAt) },
        ],
        database === "Sqlite"
          ? `${data} is on SQLite, whose file belongs to one machine and has no nodes: give --database postgres://…, or set DETENT_DATABASE_URL`
          : "no node is alive: start one with `detent serve --cluster HOST:PORT --database postgres://…`",
      )
      const reason = reasonOfFreeShards(nodes)
      if (reason !== undefined) yield* output.note(reason)
    }).pipe(Effect.provide(observing(input))),
)

const allShards = 300

/** Why some shards have no node. Undefined where all shards have one, or no node is alive. */
const reasonOfFreeShards = (nodes: ReadonlyArray<{ readonly shards: number; readonly draining: boolean }>): string | undefined => {
  const free = allShards - nodes.reduce((sum, { shards }) => sum + shards, 0)
  if (free <= 0 || nodes.length === 0) return undefined
  const reason = nodes.every(({ draining }) => draining)
    ? "all nodes are draining: start a new node, or restart one of these"
    : "they are moving, or the lease of their former node has not expired; check again in a few seconds"
  return `${free} shards have no node: ${reason}`
}
