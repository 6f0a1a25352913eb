/**
 * Drawings of machines, and of the path that one durable instance took. The HTTP API and the command line offer the same formats.
 */
import type { DrawingFormat } from "@detent/api/DrawingFormat"
import { Commands, type Instance, type KnownMachine, type StoredCommand } from "@detent/durable"
import { traceOfHistory } from "@detent/machine"
import { type CommandReport, Dot, Mermaid, Svg } from "@detent/machine/diagram"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Machines } from "../Machines.ts"

export const contentTypeOf: Readonly<Record<DrawingFormat, string>> = {
  svg: "image/svg+xml",
  mermaid: "text/vnd.mermaid",
  flowchart: "text/vnd.mermaid",
  sequence: "text/vnd.mermaid",
  dot: "text/vnd.graphviz",
  timeline: "text/vnd.graphviz",
}

/** The format draws one instance, and the caller named none. */
export class InstanceNeeded extends Schema.TaggedError<InstanceNeeded>()("InstanceNeeded", { format: Schema.String }) {
  override get message() {
    return `a ${this.format} shows one instance; name it, or choose another format to draw the machine`
  }
}

/** The history is longer than a drawing can show. */
export class HistoryTooLong extends Schema.TaggedError<HistoryTooLong>()("HistoryTooLong", {
  id: Schema.String,
  most: Schema.Int,
}) {
  override get message() {
    return `${this.id} has taken more than ${this.most} events, which no drawing shows; read its history in pages`
  }
}

/** A drawing of this many steps is already unreadable, and laying out more takes seconds. */
const mostSteps = 2_000

export interface DrawingOptions {
  readonly format: DrawingFormat
  readonly theme?: "light" | "dark" | undefined
  readonly instance?: Instance<Tagged, Tagged> | undefined
}

/** Draws a machine; with an instance, the whole path of the instance through it, from its journal and its commands. */
export const draw = Effect.fn("drawing.draw")(function* (machine: KnownMachine, { format, theme, instance }: DrawingOptions) {
  const commands = instance === undefined ? [] : yield* commandsOf(instance)
  const trace = instance === undefined ? undefined : yield* traceOf(machine, instance, commands)
  const options = trace === undefined ? {} : { trace }
  switch (format) {
    case "svg":
      return yield* (yield* Machines).drawings.svg(machine, { ...options, theme: theme === "dark" ? Svg.dark : Svg.light })
    case "mermaid":
      return Mermaid.stateDiagram(machine, options)
    case "flowchart":
      return Mermaid.flowchart(machine, options)
    case "dot":
      return Dot.structure(machine, options)
    case "sequence":
      return Mermaid.sequence(trace ?? (yield* new InstanceNeeded({ format })), { fields: true, commands: commands.map(recordOf) })
    case "timeline":
      return Dot.timeline(trace ?? (yield* new InstanceNeeded({ format })))
  }
})

const commandsOf = ({ machine, id }: Instance<Tagged, Tagged>) =>
  Effect.flatMap(Commands, (commands) => commands.ofInstance({ machine, id }))

const traceOf = Effect.fnUntraced(function* (
  machine: KnownMachine,
  instance: Instance<Tagged, Tagged>,
  commands: ReadonlyArray<StoredCommand>,
) {
  const history = yield* instance.historyPage({ limit: mostSteps + 1 })
  if (history.length > mostSteps) return yield* new HistoryTooLong({ id: instance.id, most: mostSteps })
  const snapshot = yield* instance.stored
  const bySequence = Map.groupBy(commands, ({ sequence }) => sequence)
  const steps = history.map((step) => ({ ...step, requests: requestsOf(step.requests, bySequence.get(step.sequence) ?? []) }))
  return traceOfHistory(machine, { ...snapshot, id: instance.id }, steps)
})

/** The slots that a transition requested, then those that `enter` and `exit` hooks requested, which are known from the commands only. */
export const requestsOf = (requests: ReadonlyArray<string>, commands: ReadonlyArray<StoredCommand>): ReadonlyArray<string> => {
  const byHooks = commands.map(({ slot }) => slot)
  for (const request of requests) {
    const index = byHooks.indexOf(request)
    if (index !== -1) byHooks.splice(index, 1)
  }
  return [...requests, ...byHooks]
}

const recordOf = ({ key, instance, slot, status, attempts, problem }: StoredCommand): CommandReport.CommandRecord => ({
  id: key,
  instance: instance?.id ?? "",
  name: slot,
  status,
  attempts,
  error: problem,
})
