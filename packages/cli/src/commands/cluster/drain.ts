import * as operations from "@detent/workspace/operations/cluster"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { observing } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"

export default command(
  {
    name: "cluster drain",
    summary: "move the instances of a node to the other nodes, before it is stopped",
    detail: "The node takes no shards until it is restarted. `detent cluster status` shows when it has none left.",
    arguments: [{ name: "node", summary: "the node's address, as `detent cluster status` shows it" }],
    options: [keyOption],
    examples: [{ line: "detent cluster drain 10.0.0.7:7700", says: "then stop the node: no request waits for it" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const change = { operation: "cluster.drain", params: { node: input.node }, key: input.key }
      const drained = yield* changedHere(change, operations.drain(input.node))
      yield* output.value(drained, () => `${drained.address} is draining its ${drained.shards} shards\n`)
      const others = (yield* operations.nodes).filter(({ node, draining }) => node !== drained.node && !draining)
      if (others.length === 0)
        yield* output.note(
          "no other node can take the shards: start one; requests wait for it, and fail after three leases (30 seconds by default)",
        )
    }).pipe(Effect.provide(observing(input))),
)
