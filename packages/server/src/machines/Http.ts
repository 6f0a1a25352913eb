/** Handlers of the machine API. */

import { CoreApi } from "@detent/api/CoreApi"
import { Model } from "@detent/machine/diagram"
import { contentTypeOf, draw } from "@detent/workspace/Drawing"
import * as instances from "@detent/workspace/operations/instances"
import * as machines from "@detent/workspace/operations/machines"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { makeOperating } from "../serve/Operating.ts"
import { drawingHeaders } from "../serve/ResponseHeaders.ts"

export const machineHandlers = HttpApiBuilder.group(
  CoreApi,
  "machines",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
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
      .handle("check", ({ query }) => operating(Effect.map(machines.check(query.machine), (reports) => ({ reports }))))
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
