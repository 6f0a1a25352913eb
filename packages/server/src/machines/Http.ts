/** Handlers of the machine API. */

import { CoreApi } from "@detent/api/CoreApi"
import type { MachineReport as ReportSchema } from "@detent/api/MachineApi"
import { Flows, Model } from "@detent/machine/diagram"
import { contentTypeOf, draw } from "@detent/workspace/Drawing"
import * as instances from "@detent/workspace/operations/instances"
import * as machines from "@detent/workspace/operations/machines"
import * as oracle from "@detent/workspace/operations/oracle"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Semaphore from "effect/Semaphore"
import { makeOperating } from "../serve/Operating.ts"
import { drawingHeaders } from "../serve/ResponseHeaders.ts"

type MachineReport = typeof ReportSchema.Type

interface CheckQuery {
  readonly machine?: string
  readonly ended?: boolean
  readonly since?: number
  readonly until?: number
  readonly whatIf?: boolean
}

const checked = ({ machine, ended = false, since, until, whatIf = false }: CheckQuery) => {
  const bounds = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) }
  const hasEnded = ended || since !== undefined || until !== undefined
  const request = { machine, whatIf, workers: 1, ...(hasEnded ? { ended: bounds } : {}) }
  return Effect.map(oracle.check(request), (reports) => ({
    reports: reports.map((report) =>
      whatIf ? { ...report, picture: Flows.layout(report.flows) } : report,
    ) as ReadonlyArray<MachineReport>,
  }))
}

export const machineHandlers = HttpApiBuilder.group(
  CoreApi,
  "machines",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    // A check uses a processor for as long as it lasts: one at a time, with one worker.
    const checking = yield* Semaphore.make(1)
    return handlers
      .handle("list", () => operating(Effect.map(machines.list, (listed) => ({ machines: listed }))))
      .handle("get", ({ params }) =>
        operating(
          Effect.map(machines.get(params.machine), (machine) => {
            if (!("blueprint" in machine)) return machine
            const { blueprint, ...details } = machine
            return { ...details, model: { format: Model.format, ...blueprint } as const }
          }),
        ),
      )
      .handle("check", ({ query }) => operating(checking.withPermits(1)(checked(query))))
      .handle("layout", ({ params: { machine }, query: { direction } }) => operating(machines.layout(machine, direction)))
      .handleRaw("diagram", ({ params: { machine: name, format }, query: { theme, instance: id } }) =>
        operating(
          Effect.gen(function* () {
            const { machine } = yield* instances.findMachine(name)
            const instance = id === undefined ? undefined : (yield* instances.find({ machine: name, id })).instance
            const text = yield* draw(machine, { format, theme, instance })
            return HttpServerResponse.text(text, { contentType: contentTypeOf[format], headers: format === "svg" ? drawingHeaders : {} })
          }),
        ),
      )
  }),
)
