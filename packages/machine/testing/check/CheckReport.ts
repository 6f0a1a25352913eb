/** What `check` found. */
import type { Trace } from "../../src/actor/Trace.ts"

/** One step of a counterexample. */
export interface CounterexampleStep {
  /** What happened, as text: an event, a timer, the result of an effect, or a fault. Values of sensitive fields are hidden. */
  readonly action: string
  /** The tag of the state after it. */
  readonly state: string
}

export interface Counterexample {
  readonly start: string
  readonly steps: ReadonlyArray<CounterexampleStep>
  /** The steps that repeat for ever; empty where nothing has to happen any more. Only for `alwaysEventually` and `leadsTo`. */
  readonly loop: ReadonlyArray<CounterexampleStep>
  /** Why it is one. */
  readonly problem: string
  /** The transitions, to be drawn: `Mermaid.stateDiagram(machine, { trace })`. */
  readonly trace: Trace
  /** A test to paste: it fails until the machine no longer takes this way. */
  readonly test: string
}

export interface PropertyResult {
  readonly name: string
  /** `undecided`: no counterexample was found, and not everything was visited. */
  readonly verdict: "holds" | "violated" | "undecided"
  readonly counterexample: Counterexample | undefined
}

export interface CheckReport {
  readonly machine: string
  readonly version: number
  /** The properties in the order they were given, after the two that every machine must have. */
  readonly properties: ReadonlyArray<PropertyResult>
  /** How many different situations were visited. */
  readonly situations: number
  /** How many steps lead from one to another. */
  readonly steps: number
  /** How many decisions the machine made. */
  readonly decisions: number
  /** What was left out; the properties are proved for the rest. */
  readonly notes: ReadonlyArray<string>
}

/** The properties that do not hold, or were not decided. */
export const unproved = (report: CheckReport): ReadonlyArray<PropertyResult> =>
  report.properties.filter(({ verdict }) => verdict !== "holds")

/** The report as text: each property with its verdict, and its counterexample step by step. */
export const formatCheck = (report: CheckReport): string =>
  [
    `${report.machine} (version ${report.version}): ${report.situations} situations, ${report.steps} steps, ${report.decisions} decisions`,
    ...report.properties.flatMap(({ name, verdict, counterexample }) => [
      `${marks[verdict]} ${name}${verdict === "undecided" ? ": no counterexample found, but not everything was visited" : ""}`,
      ...(counterexample === undefined ? [] : linesOf(counterexample)),
    ]),
    ...(report.notes.length === 0 ? [] : ["Left out:", ...report.notes.map((note) => `    ${note}`)]),
    "",
  ].join("\n")

const marks = { holds: "✓", violated: "✗", undecided: "?" } as const

const linesOf = ({ start, steps, loop, problem }: Counterexample): ReadonlyArray<string> => {
  const width = Math.max(...[...steps, ...loop].map(({ action }) => action.length), 0)
  const line = ({ action, state }: CounterexampleStep) => `    ${action.padEnd(width)}  → ${state}`
  return [
    `    begins in ${start}`,
    ...steps.map(line),
    ...(loop.length === 0 ? [] : ["    and then again and again:", ...loop.map(line)]),
    `    ${problem}`,
  ]
}
