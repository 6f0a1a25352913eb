/** A way through the situations for people: steps as text, a trace to draw, and a test to paste. */
import * as Formatter from "effect/Formatter"
import { beginTrace, traceStep } from "../../src/actor/Trace.ts"
import { eventLabel } from "../../src/decision/Timeout.ts"
import type { Tagged } from "../../src/define/Declarations.ts"
import { redact } from "../../src/schema/Sensitive.ts"
import type { UntypedVariant } from "../../src/schema/Variant.ts"
import type { AnyMachine } from "../Subject.ts"
import type { Counterexample, CounterexampleStep } from "./CheckReport.ts"
import type { Decisions } from "./Decisions.ts"
import type { WayStep } from "./Search.ts"
import type { Action, Configuration } from "./World.ts"

export interface Way {
  readonly start: Configuration
  readonly steps: ReadonlyArray<WayStep>
  readonly loop: ReadonlyArray<WayStep>
  readonly problem: string
  /** The property that it breaks. */
  readonly property: string
}

/** Shows a way. */
export const makeCounterexample = (machine: AnyMachine, decisions: Decisions, way: Way): Counterexample => {
  const first = decisions.states.value(way.start.state)
  return {
    start: textOf(decisions.compiled.declarations.state.$variants, first),
    steps: shown(decisions, way.start, way.steps),
    loop: shown(decisions, way.steps.at(-1)?.to ?? way.start, way.loop),
    problem: way.problem,
    trace: traceOf(machine, decisions, way.start, way.steps),
    test: testOf(machine, decisions, way),
  }
}

const shown = (decisions: Decisions, start: Configuration, steps: ReadonlyArray<WayStep>): ReadonlyArray<CounterexampleStep> => {
  let state = start.state
  return steps.map(({ step, to }) => {
    state = to?.state ?? state
    const refused =
      step.outcome?._tag === "Refused" ? ", which is refused" : step.outcome?._tag === "Postponed" ? ", which is postponed" : ""
    return { action: `${actionText(decisions, step.action)}${refused}`, state: decisions.states.value(state)._tag }
  })
}

const actionText = (decisions: Decisions, action: Action): string => {
  const events = decisions.compiled.declarations.event.$variants
  const event = (number: number) => textOf(events, decisions.events.value(number))
  switch (action.kind) {
    case "event":
      if (action.sender === undefined) return event(action.event)
      return `${action.sender === "work" ? "the work" : `sender ${action.sender + 1}`} sends ${event(action.event)}`
    case "raised":
      return `${event(action.event)}, which the machine sent itself`
    case "released":
      return `${event(action.event)}, which was postponed`
    case "timer":
      return `${eventLabel(action.event)} is due`
    case "repeated":
      return `${slotOf(decisions, action.command)} takes effect, and its process dies before the result is recorded`
    case "result": {
      const { result } = action
      const ended = "value" in result ? "succeeds" : `fails (${describeFailure(result.failure)})`
      return `${slotOf(decisions, action.command)} ${ended}${action.event === undefined ? "" : `: ${textOf(events, action.event)}`}`
    }
  }
}

const describeFailure = (failure: unknown): string =>
  typeof failure === "object" && failure !== null && "_tag" in failure ? String(failure._tag) : Formatter.format(failure)

const slotOf = (decisions: Decisions, command: number): string => decisions.commands.value(command).slot

const textOf = (variants: ReadonlyMap<string, UntypedVariant>, value: Tagged): string => {
  const { _tag, ...fields } = redact(variants.get(value._tag)?.fields ?? {}, value)
  return Object.keys(fields).length === 0 ? eventLabel(value) : `${eventLabel(value)} ${Formatter.format(fields)}`
}

const traceOf = (
  machine: AnyMachine,
  decisions: Decisions,
  start: Configuration,
  steps: ReadonlyArray<WayStep>,
): Counterexample["trace"] => {
  let state = start.state
  const first = decisions.states.value(state)
  const decided = steps.flatMap(({ step: { action, outcome }, to }) => {
    const from = state
    state = to?.state ?? state
    const event = eventNumber(decisions, action)
    const decision = outcome?._tag === "Taken" && event !== undefined ? decisions.decisionOf(from, event, outcome) : undefined
    return decision === undefined ? [] : [decision]
  })
  const last = decided.at(-1)
  return {
    ...beginTrace(machine, "counterexample", first, 0),
    steps: decided.map((decision, index) => traceStep(machine, index + 1, decision, 0)),
    current: decisions.states.value(state)._tag,
    stopped: last?._tag === "Stop" ? last.reason : undefined,
  }
}

const eventNumber = (decisions: Decisions, action: Action): number | undefined => {
  if (action.kind === "repeated") return undefined
  if (action.kind === "timer" || action.kind === "result")
    return action.event === undefined ? undefined : decisions.events.number(action.event)
  return action.event
}

const testOf = (machine: AnyMachine, decisions: Decisions, { start, steps, property }: Way): string => {
  const times = timesOf(start, steps)
  const path = [
    start.state,
    ...steps.flatMap(({ step }) => (step.outcome?._tag === "Taken" && step.outcome.entered ? [step.outcome.state] : [])),
  ]
  const lines = steps.flatMap(({ step: { action } }, index) => {
    const passed = (times[index] ?? 0) - (times[index - 1] ?? 0)
    const wait = passed > 0 ? [`      advance(${passed}),`] : []
    return [...wait, ...testLine(decisions, action).map((line) => `      ${line}`)]
  })
  return [
    `it(${JSON.stringify(`${machine.name}: ${property}`)}, () => {`,
    "  // The machine takes this way now, and must not.",
    "  expect(() =>",
    "    assertPath(",
    `      ${machine.name.replaceAll(/[^A-Za-z0-9_$]/g, "_")},`,
    `      ${codeOf(decisions.states.value(start.state))},`,
    "      [",
    ...lines.map((line) => `  ${line}`),
    "      ],",
    `      ${JSON.stringify(path.map((state) => decisions.states.value(state)._tag))},`,
    "    ),",
    "  ).toThrow()",
    "})",
    "",
  ].join("\n")
}

const testLine = (decisions: Decisions, action: Action): ReadonlyArray<string> => {
  switch (action.kind) {
    case "event":
      return [`${codeOf(decisions.events.value(action.event))},`]
    case "result":
      return action.event === undefined ? [] : [`${codeOf(action.event)}, // the result of ${slotOf(decisions, action.command)}`]
    case "repeated":
      return [`// ${actionText(decisions, action)}`]
    // The simulation handles what the machine sends itself, and fires what is due.
    default:
      return []
  }
}

const codeOf = (value: unknown): string => JSON.stringify(value) ?? "undefined"

/**
 * When each step takes place, in milliseconds, so that exactly these timers fire: the earliest times that fulfil "this timer fires when
 * it is due" and "that one was not due before". Solved by relaxation; where no times exist, the constraints of the timers that fire.
 */
const timesOf = (start: Configuration, steps: ReadonlyArray<WayStep>): ReadonlyArray<number> => {
  const times: Array<number> = steps.map(() => 0)
  const at = (index: number) => (index < 0 ? 0 : (times[index] as number))
  const dues = steps.flatMap(({ step: { action } }, index) => {
    if (action.kind !== "timer") return []
    const set = lastSet(start, steps.slice(0, index), action.timer)
    return set === undefined ? [] : [{ index, setAt: set.index, millis: set.millis }]
  })
  for (let round = 0; round <= steps.length; round++) {
    for (let index = 0; index < steps.length; index++) times[index] = Math.max(at(index), at(index - 1))
    for (const { index, setAt, millis } of dues) {
      const due = at(setAt) + millis
      if (due > at(index)) times[index] = due
      // It fired too late: it was set later.
      else if (setAt >= 0 && due < at(index)) times[setAt] = at(index) - millis
    }
  }
  return times
}

/** The step that set a timer last, and for how long. */
const lastSet = (start: Configuration, steps: ReadonlyArray<WayStep>, timer: number) => {
  for (let index = steps.length - 1; index >= 0; index--) {
    const outcome = steps[index]?.step.outcome
    const set = outcome?._tag === "Taken" ? outcome.timers.find((one) => one.timer === timer) : undefined
    if (set !== undefined) return { index, millis: set.millis }
  }
  const armed = start.timers.find((one) => one.timer === timer)
  return armed === undefined ? undefined : { index: -1, millis: armed.millis }
}
