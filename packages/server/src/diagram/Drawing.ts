/**
 * Drawings of machines, and of the way one durable instance took. The HTTP API and the command line offer the same formats.
 */
import type { Instance, KnownMachine } from "@detent/durable"
import { beginTrace, eventLabel, type Trace } from "@detent/machine"
import { Dot, Mermaid, Svg } from "@detent/machine/diagram"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** `sequence` is Mermaid and `timeline` is DOT. Both draw an instance; the others draw its machine, with the way marked. */
export const drawingFormats = ["svg", "mermaid", "flowchart", "dot", "sequence", "timeline"] as const

export type DrawingFormat = (typeof drawingFormats)[number]

export const contentTypeOf: Readonly<Record<DrawingFormat, string>> = {
  svg: "image/svg+xml",
  mermaid: "text/vnd.mermaid",
  flowchart: "text/vnd.mermaid",
  sequence: "text/vnd.mermaid",
  dot: "text/vnd.graphviz",
  timeline: "text/vnd.graphviz",
}

/** The format draws one instance, and none was named. */
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

/** Draws a machine; with an instance, the whole way that the instance took through it, from its journal. */
export const draw = (machine: KnownMachine, { format, theme, instance }: DrawingOptions) =>
  Effect.gen(function* () {
    const trace = instance === undefined ? undefined : yield* traceOf(machine, instance)
    const options = trace === undefined ? {} : { trace }
    switch (format) {
      case "svg":
        return yield* Svg.render(machine, { ...options, theme: theme === "dark" ? Svg.dark : Svg.light })
      case "mermaid":
        return Mermaid.stateDiagram(machine, options)
      case "flowchart":
        return Mermaid.flowchart(machine, options)
      case "dot":
        return Dot.structure(machine, options)
      case "sequence":
        return Mermaid.sequence(trace ?? (yield* new InstanceNeeded({ format })), { fields: true })
      case "timeline":
        return Dot.timeline(trace ?? (yield* new InstanceNeeded({ format })))
    }
  })

/** The way of an instance, from its journal. */
const traceOf = (machine: KnownMachine, instance: Instance<Tagged, Tagged>) =>
  Effect.gen(function* () {
    const entries = yield* Stream.runCollect(Stream.take(instance.history, mostSteps + 1))
    if (entries.length > mostSteps) return yield* new HistoryTooLong({ id: instance.id, most: mostSteps })
    const { state, startedAt, status, reason } = yield* instance.stored
    const begun = beginTrace(machine, instance.id, entries[0]?.from ?? state, startedAt)
    const steps = entries.map(({ sequence, at, event, from, state: to }) => ({
      sequence,
      at,
      event: eventLabel(event),
      fields: {},
      from: from._tag,
      to: to._tag,
      outcome: from._tag === to._tag ? ("Stay" as const) : ("Goto" as const),
      through: [],
      requests: [],
    }))
    return { ...begun, steps, current: state._tag, stopped: status === "stopped" ? reason : undefined } satisfies Trace
  })
