/** The history of one instance as a Mermaid sequence diagram. Exported as `Mermaid.sequence`. */
import type { Trace, TraceStep } from "../actor/Trace.ts"
import type { CommandRecord } from "./CommandRecord.ts"
import * as Escape from "./Escape.ts"
import { isTimeout } from "./Path.ts"

export interface SequenceOptions {
  /** The commands of the instance with their outcomes, in the order they were requested. */
  readonly commands?: ReadonlyArray<CommandRecord> | undefined
  /** Shows the fields of each event. The values of sensitive ones are not in a trace. */
  readonly fields?: boolean | undefined
}

/** Events arrive from the left, requested commands leave to the right, and notes show the state after each step. */
export const sequence = (trace: Trace, options: SequenceOptions = {}): string => {
  const commands = (options.commands ?? []).filter((command) => command.instance === trace.id)
  const requests = trace.steps.some((step) => step.requests.length > 0)
  const steps = trace.steps.flatMap((step) => stepLines(step, commands, options.fields === true))
  const end = trace.stopped === undefined ? [] : [`Note over m: ⊗ ${label(trace.stopped)}`]
  return [
    "sequenceDiagram",
    "  participant e as Events",
    `  participant m as ${label(trace.machine)} ${label(trace.id)}`,
    ...(requests ? ["  participant c as Commands"] : []),
    `  Note over m: ${label(trace.initial)}`,
    ...[...steps, ...end].map((line) => `  ${line}`),
    "",
  ].join("\n")
}

const label = (text: string): string => Escape.mermaid(Escape.cut(text))

const stepLines = (step: TraceStep, commands: Array<CommandRecord>, fields: boolean): ReadonlyArray<string> => [
  causeLine(step, fields),
  ...(step.outcome === "Stay"
    ? [`Note over m: ${label(step.from)} / stay`]
    : step.outcome === "Goto" || step.through.length > 0
      ? [`Note over m: ${[step.from, ...step.through, step.to].map(label).join(" → ")}`]
      : []),
  ...(step.delays ?? []).map((delay) => `Note over m: ◷ ${label(delay)}`),
  ...step.requests.flatMap((request) => {
    // The same slot may be requested several times: each request takes the next record of its name.
    const index = commands.findIndex((command) => command.name === request)
    const [command] = index === -1 ? [] : commands.splice(index, 1)
    return [`m-)c: ⚙ ${label(request)}`, ...(command === undefined ? [] : [outcomeLine(command)])]
  }),
]

/** An event from outside, a timer, or an event that the work of the machine sent. */
const causeLine = (step: TraceStep, fields: boolean): string => {
  if (step.label !== undefined) return `m-->>m: ${label(step.label)}`
  return isTimeout(step) ? `m-->>m: ◷ ${label(step.event)}` : `e->>m: ${label(step.event)}${fields ? fieldsOf(step) : ""}`
}

const outcomeLine = (command: CommandRecord): string => {
  const attempts = command.attempts > 1 ? ` after ${command.attempts} attempts` : ""
  const error = command.error === undefined ? "" : `, ${label(command.error)}`
  const arrow = command.status === "failed" ? "c--xm" : "c-->>m"
  return command.status === "pending" || command.status === "processing"
    ? `Note over c: ${label(command.name)} ${command.status}`
    : `${arrow}: ${label(command.name)} ${command.status}${attempts}${error}`
}

const fieldsOf = (step: TraceStep): string => {
  const shown = Object.entries(step.fields).map(([name, value]) => `${label(name)} = ${label(show(value))}`)
  return shown.length === 0 ? "" : ` (${shown.join(", ")})`
}

const show = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value))
