/** Handlers of the API of nodes. */

import { CoreApi } from "@detent/api/CoreApi"
import * as cluster from "@detent/workspace/operations/cluster"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { makeChanging, makeOperating } from "../serve/Operating.ts"

export const clusterHandlers = HttpApiBuilder.group(
  CoreApi,
  "cluster",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    const changing = yield* makeChanging()
    return handlers
      .handle("nodes", () => operating(Effect.all({ nodes: cluster.nodes, processes: cluster.processes })))
      .handle("drain", (input) => {
        const {
          params: { node },
        } = input
        return changing(input, cluster.drain(node))
      })
  }),
)
