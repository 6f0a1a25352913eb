/** Handlers of the instance API. */

import { CoreApi } from "@detent/api/CoreApi"
import {
  atEvent,
  BulkSend,
  dryRun,
  earlier,
  ForkInstance,
  LabelInstance,
  latest,
  ofEvent,
  PurgeInstances,
  RepairInstance,
  StartInstance,
} from "@detent/api/InstanceApi"
import { Forbidden, kind } from "@detent/api/Problem"
import { bulk } from "@detent/workspace/operations/bulk"
import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { eventRefusal } from "../access/Grant.ts"
import { liveResponse } from "../serve/live/liveResponse.ts"
import { makeChanging, makeOperating, readParameter, refuseUnknownKeys } from "../serve/Operating.ts"
import { RequestGrants } from "../serve/Tokens.ts"
import { InstanceFeed } from "./InstanceFeed.ts"

const outOfScope = (detail: string) => new Forbidden({ type: kind("OutOfScope"), title: "Not allowed", status: 403, detail })

export const instanceHandlers = HttpApiBuilder.group(
  CoreApi,
  "instances",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    const changing = yield* makeChanging()
    const startKeys = refuseUnknownKeys(StartInstance)
    const repairKeys = refuseUnknownKeys(RepairInstance)
    const forkKeys = refuseUnknownKeys(ForkInstance)
    const bulkKeys = refuseUnknownKeys(BulkSend)
    const purgeKeys = refuseUnknownKeys(PurgeInstances)
    const labelKeys = refuseUnknownKeys(LabelInstance)
    const feed = yield* InstanceFeed
    const grants = yield* RequestGrants
    return handlers
      .handle("list", ({ query }) => operating(instances.list(query)))
      .handle("bulk", (input) => {
        const { payload } = input
        return Effect.andThen(bulkKeys(input.request), payload.dryRun === true ? operating(bulk(payload)) : changing(input, bulk(payload)))
      })
      .handle("start", (input) => {
        const { params, payload } = input
        return Effect.andThen(startKeys(input.request), changing(input, instances.start({ ...params, ...payload })))
      })
      .handle("purge", (input) => {
        const {
          params: { machine },
          payload: { endedBeforeMillis: endedBefore, dryRun: isDryRun = false },
        } = input
        const purging = instances.purge({ machine, endedBefore, dryRun: isDryRun })
        return Effect.andThen(purgeKeys(input.request), isDryRun ? operating(purging) : changing(input, purging))
      })
      .handle("get", ({ params }) => operating(instances.get(params)))
      .handle("history", ({ params, query }) => operating(instances.history(params, query)))
      .handle("stateAt", ({ params: { sequence, ...key } }) => operating(instances.stateAt(key, sequence)))
      .handle("legalEvents", ({ params, request }) =>
        Effect.flatMap(readParameter(request, atEvent), (at) => operating(instances.legalEvents(params, at))),
      )
      .handle("send", ({ params, headers, request, payload }) =>
        Effect.gen(function* () {
          const refusal = eventRefusal(grants.get(request.source), payload._tag)
          if (refusal !== undefined) return yield* Effect.fail(outOfScope(refusal))
          if ((yield* readParameter(request, dryRun)) === true) return yield* operating(instances.preview(params, payload))
          return yield* operating(instances.send(params, payload, headers["idempotency-key"]))
        }),
      )
      .handle("repair", (input) => {
        const {
          params,
          payload: { sequence, event, reason, dryRun: isDryRun = false },
        } = input
        const repairing = instances.repair(params, sequence, event, { dryRun: isDryRun, ...optional({ reason }) })
        return Effect.andThen(repairKeys(input.request), isDryRun ? operating(repairing) : changing(input, repairing))
      })
      .handle("fork", (input) => {
        const {
          params,
          payload: { sequence, id },
        } = input
        return Effect.andThen(forkKeys(input.request), changing(input, instances.fork(params, sequence, id)))
      })
      .handle("commands", ({ params, request }) =>
        Effect.gen(function* () {
          const sequence = yield* readParameter(request, ofEvent)
          const [limit, before] = [yield* readParameter(request, latest), yield* readParameter(request, earlier)]
          return yield* operating(instances.commands(params, { sequence, limit, before }))
        }),
      )
      .handle("timers", ({ params }) => operating(instances.timers(params)))
      .handle("fireTimer", (input) => {
        const {
          params: { name, ...key },
        } = input
        return changing(input, instances.fireTimer(key, name))
      })
      .handle("label", (input) => {
        const { params, payload } = input
        return Effect.andThen(labelKeys(input.request), changing(input, instances.label(params, payload.labels)))
      })
      .handleRaw("events", ({ params, headers }) =>
        operating(
          Effect.map(instances.record(params), ({ sequence, status }) => {
            const after = Math.min(sequence, Number(headers["last-event-id"] ?? sequence))
            // 204 tells an EventSource not to reconnect.
            if (instances.hasEnded(status) && after === sequence) return HttpServerResponse.empty({ status: 204 })
            return liveResponse(feed.reader(params, after))
          }),
        ),
      )
  }),
)
