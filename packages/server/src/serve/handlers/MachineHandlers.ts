/** Handlers of the machine API. */
import { Commands, Journal } from "@detent/durable"
import { Model } from "@detent/machine/diagram"
import { type MachineEntry, Machines } from "@detent/workspace/Machines"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../../api/Api.ts"
import { contentTypeOf, draw } from "../../diagram/Drawing.ts"
import { InstanceReading } from "../InstanceReading.ts"
import { MachineNotFound } from "../NotThere.ts"
import { answering } from "../ProblemOf.ts"

export const machineHandlers = HttpApiBuilder.group(
  Api,
  "machines",
  Effect.fnUntraced(function* (handlers) {
    const machines = yield* Machines
    const journal = yield* Journal
    const commands = yield* Commands
    const reading = yield* InstanceReading
    const { jsonOf } = reading

    const find = (name: string) =>
      Effect.flatMap(
        machines.find(name),
        Option.match({ onNone: () => Effect.fail(new MachineNotFound({ machine: name })), onSome: Effect.succeed }),
      )

    const listing = (entry: MachineEntry) =>
      Effect.map(journal.count(entry.name), (counts) => {
        if (entry._tag === "EffectWorkflow") {
          const states = ["running", "suspended", "completed", "failed"]
          return { name: entry.name, kind: "effect-workflow" as const, states, events: [], counts: Object.fromEntries(counts) }
        }
        const json = jsonOf(entry.machine)
        const { name, version } = entry.machine
        const all = [...json.stateTags.map((tag) => [tag, 0] as const), ...counts]
        const known = { name, version, states: json.stateTags, events: json.eventTags, counts: Object.fromEntries(all) }
        return { ...known, kind: "machine" as const }
      })

    return handlers
      .handle("list", () =>
        answering(
          Effect.map(
            Effect.flatMap(machines.list, (entries) => Effect.forEach(entries, listing, { concurrency: 4 })),
            (listed) => ({ machines: listed }),
          ),
        ),
      )
      .handle("get", ({ params }) =>
        answering(
          Effect.gen(function* () {
            const entry = yield* find(params.machine)
            const listed = yield* listing(entry)
            if (entry._tag === "EffectWorkflow") return { ...listed, eventSchemas: {} }
            const model = { format: Model.format, ...entry.machine.blueprint } as const
            return { ...listed, model, eventSchemas: jsonOf(entry.machine).eventSchemas }
          }),
        ),
      )
      .handleRaw("diagram", ({ params: { machine: name, format }, query: { theme, instance: id } }) =>
        answering(
          Effect.gen(function* () {
            const machine = yield* reading.machine(name)
            const instance = id === undefined ? undefined : (yield* reading.find({ machine: name, id })).instance
            const drawn = Effect.provideService(draw(machine, { format, theme, instance }), Commands, commands)
            const text = yield* Effect.catchTag(drawn, "DiagramError", Effect.die)
            return HttpServerResponse.text(text, { contentType: contentTypeOf[format] })
          }),
        ),
      )
  }),
)
