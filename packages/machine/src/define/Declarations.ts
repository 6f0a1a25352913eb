/**
 * The declarations of a definition before it is compiled, and the checks of each. Everything here is immutable: building on a
 * definition twice gives two machines. The checks repeat those of the types, for callers in plain JavaScript.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import type { Blueprint } from "../contract/Blueprint.ts"
import type { IndexBlueprint } from "../contract/Search.ts"
import { durationMillis, type TimeoutEnd } from "../decision/Timeout.ts"
import type { UntypedCommandSettings } from "../effects/Command.ts"
import type { SlotDeclarations } from "../effects/Slot.ts"
import { describe } from "../error/MachineError.ts"
import { DefinitionError } from "../schema/DefinitionError.ts"
import { isOptional } from "../schema/FieldSchema.ts"
import type { UntypedUnion } from "../schema/Union.ts"
import type { Tagged } from "../schema/Variant.ts"

export type { Tagged } from "../schema/Variant.ts"

/** Returns an Effect or a Promise. */
export type Work = (context: unknown) => unknown
export type HookFunction = (context: unknown) => unknown
export type Predicate = (context: unknown) => boolean

/** A target by tag: a state's, `(stay)`, `(stop)` or `(history)`. */
export interface TargetDeclaration {
  readonly tag: string
  readonly reason: string | undefined
  /** The group that was given as the target. */
  readonly group?: string | undefined
  /** For `(history)`: the group, and the state at which it is entered where it has never been left. */
  readonly history?: HistoryDeclaration | undefined
}

export interface HistoryDeclaration {
  readonly group: string
  readonly deep: boolean
  readonly initial: string
}

/** The event that is raised when a group reaches one of its members. */
export interface DoneDeclaration {
  readonly group: string
  readonly state: string
  readonly event: (context: unknown) => Tagged
}

/** Tags and description of a state or a group. */
export interface StateMeta {
  readonly tags: ReadonlyArray<string>
  readonly description: string | undefined
}

/** The place of a declaration in the user's source. V8 makes the text only when an error message reads it. */
export interface Place {
  readonly stack?: string
}

interface Declared {
  /** Position among all declarations, for output in declaration order. */
  readonly order: number
  readonly place: Place
}

/** Slots that the functions of a transition use, as the definition names them. Diagrams show them. */
interface SlotUse {
  readonly guards?: ReadonlyArray<string> | undefined
  readonly requests?: ReadonlyArray<string> | undefined
}

export interface TransitionDeclaration extends Declared, SlotUse {
  readonly from: string
  /** The group that it was declared for. */
  readonly group?: string | undefined
  readonly event: string
  readonly targets: ReadonlyArray<TargetDeclaration>
  readonly decide: ((context: unknown) => unknown) | undefined
  readonly guard: Predicate | undefined
  readonly guardName: string | undefined
  readonly description: string | undefined
  readonly kind: "on" | "reenter" | "postpone"
  /** It leaves its state or group, and the group it leads to, also where one is inside the other. */
  readonly reenter?: boolean | undefined
  /** The transition that is tried next where the guard does not hold. */
  readonly next?: TransitionDeclaration | undefined
}

export interface TimeoutDeclaration extends Declared, SlotUse {
  /** A state, or a group: then it measures the stay in the group. */
  readonly from: string
  readonly name: string
  readonly idle: boolean
  readonly after: TimeoutEnd<Tagged>
  readonly targets: ReadonlyArray<TargetDeclaration>
  readonly decide: ((context: unknown) => unknown) | undefined
  readonly description?: string | undefined
}

export interface AlwaysDeclaration extends Declared, SlotUse {
  readonly from: string
  readonly guard: Predicate
  readonly guardName?: string | undefined
  readonly targets: ReadonlyArray<TargetDeclaration>
  readonly decide: ((context: unknown) => unknown) | undefined
  readonly description?: string | undefined
}

export interface HookDeclaration {
  readonly phase: "enter" | "exit"
  /** A state, or a group that is entered from outside or left. */
  readonly state: string
  readonly hook: HookFunction
  /** A short description, for diagrams. */
  readonly name?: string | undefined
  readonly requests?: ReadonlyArray<string> | undefined
}

export interface WorkDeclaration {
  /** A state, or a group: then it runs for as long as the instance is in the group. */
  readonly state: string
  readonly work: Work
  /** A short description, for diagrams. */
  readonly name?: string | undefined
  /** Effect slots that it runs. */
  readonly runs?: ReadonlyArray<string> | undefined
  /** Whether the state needs it. Work starts when a state is entered: an event that makes this true must enter it again. */
  readonly when?: (state: Tagged) => boolean
  readonly outcomes:
    | {
        readonly onSuccess: (value: unknown, context: object) => Tagged
        readonly onFailure: (error: unknown, context: object) => Tagged
        readonly onDefect?: (defect: unknown, context: object) => Tagged
      }
    | undefined
}

/** The key a transition is declared under. */
export const pairKey = (state: string, event: string): string => `${state}\u0000${event}`

export interface Declarations extends SlotDeclarations {
  readonly version: number
  readonly state: UntypedUnion
  readonly event: UntypedUnion
  readonly initial: Tagged | ((input: unknown) => Tagged)
  /** The states that an `initial` function returns. */
  readonly initialStates?: ReadonlyArray<string> | undefined
  readonly processingTimeout: Duration.Input | undefined
  readonly supervision: Schedule.Schedule<unknown, unknown> | undefined
  readonly transitions: ReadonlyMap<string, TransitionDeclaration>
  readonly fallbacks: ReadonlyMap<string, TransitionDeclaration>
  readonly timeouts: ReadonlyMap<string, TimeoutDeclaration>
  readonly always: ReadonlyArray<AlwaysDeclaration>
  readonly hooks: ReadonlyArray<HookDeclaration>
  readonly works: ReadonlyArray<WorkDeclaration>
  readonly dones?: ReadonlyArray<DoneDeclaration>
  /** By the name of the state or group. */
  readonly metas?: ReadonlyMap<string, StateMeta>
  readonly backgrounds: ReadonlyArray<Work>
  readonly finals: ReadonlySet<string>
  /** Those of `finals` in which an instance has failed. */
  readonly failures?: ReadonlySet<string>
  readonly persistence: Persistence<string> | undefined
  /** By name. */
  readonly indexes?: ReadonlyMap<string, IndexBlueprint>
  readonly commands?: UntypedCommandSettings
  /** The blueprint of a machine that was compiled from another notation. Default: derived from the declarations. */
  readonly blueprint?: () => Blueprint
  /** Converts a sent value to an event, for a notation with events of another form. Default: events are sent as declared. */
  readonly readEvent?: (event: unknown) => Tagged
  /** The state whose fields are the input, for a notation that makes its first state in an automatic transition. */
  readonly startState?: string
  /** Upcasters of stored JSON, one per older version. Used where the engine has none for the machine. */
  readonly upcasters?:
    | {
        readonly [version: number]: { readonly state?: (json: JsonObject) => JsonObject; readonly event?: (json: JsonObject) => JsonObject }
      }
    | undefined
  /** The blueprint states that are active in a state, for a notation with parallel states. Default: the state of the same tag. */
  readonly activeStates?: (state: Tagged) => ReadonlyArray<string>
  /** Whether an event is stored with the state it led to, so that a replay does not decide again. Default: no. */
  readonly keepsState?: (from: Tagged, event: Tagged, to: Tagged) => boolean
  /**
   * Whether every state of the notation is plain JSON. A store then encodes states without their schemas; it decodes them with
   * their schemas. Default: no.
   */
  readonly statesAreJson?: boolean
  /** Machines whose instances belong to instances of this one: an engine that registers this machine registers them too. */
  readonly machines?: () => ReadonlyArray<unknown>
  /** The number of declarations made so far. */
  readonly count: number
}

interface JsonObject {
  readonly [name: string]: unknown
}

/** When a snapshot of the state is stored, so that recovery starts there instead of at the first event. */
export type SnapshotPolicy<Tag extends string> =
  | { readonly _tag: "EveryTransition" }
  | { readonly _tag: "EveryN"; readonly transitions: number }
  | { readonly _tag: "Interval"; readonly every: Duration.Input }
  | { readonly _tag: "OnStates"; readonly states: ReadonlyArray<Tag> }
  | { readonly _tag: "Manual" }

/** How a durable engine keeps the instances of a machine. */
export interface Persistence<Tag extends string> {
  readonly snapshot?: SnapshotPolicy<Tag>
  /** Keeps events that a snapshot covers. Without them there is no history before the snapshot. */
  readonly keepJournal?: boolean
  /**
   * How long an instance, its journal and its timers stay after its end. An id that was used before can then be started anew.
   * Default: forever.
   */
  readonly retention?: Duration.Input
}

/** The options of all builder methods. Each method takes some of them. */
export interface Options {
  readonly override?: boolean
  readonly fallThrough?: boolean
  readonly reenter?: boolean
  readonly guard?: Predicate
  readonly guardName?: string
  readonly description?: string
  readonly name?: string
  readonly idle?: boolean
  readonly sameState?: boolean
  readonly guards?: ReadonlyArray<string>
  readonly requests?: ReadonlyArray<string>
  readonly runs?: ReadonlyArray<string>
  readonly each?: boolean
}

export type Decide = (context: unknown) => unknown

/** The line of the user's source, for error messages. */
export const at = (place: Place | undefined): string => {
  const frame = place?.stack?.split("\n")[1]?.match(/([^\s()/\\]+:\d+:\d+)\)?$/)?.[1]
  return frame === undefined ? "" : ` at ${frame}`
}

export const fail = (declarations: Declarations, problem: string, nextStep: string): never => {
  throw new DefinitionError({ machine: declarations.name, problem, nextStep })
}

/** Refuses a constant that is no duration, NaN, negative or ends after the year 9999. `Infinity` is allowed: it never passes. */
export const checkDuration = (machine: string, what: string, duration: Duration.Input) => {
  const refuse = (problem: string, nextStep: string): never => {
    throw new DefinitionError({ machine, problem, nextStep })
  }
  if (Option.isNone(Duration.fromInput(duration))) {
    refuse(`${JSON.stringify(duration)} is not a duration`, 'write it like "30 minutes" or in milliseconds')
  }
  let millis: number
  try {
    millis = durationMillis(duration)
  } catch (cause) {
    return refuse(`${what} has ${describe(cause)}`, 'write it like "30 minutes"')
  }
  if (millis < 0) refuse(`${what} has a duration of ${millis} ms`, "give 0 or more")
}

/** Refuses a transition without a decision that has several targets, or whose target has fields that nothing gives. */
export const checkDecidable = (
  declarations: Declarations,
  from: string,
  event: string,
  targets: ReadonlyArray<TargetDeclaration>,
  decide: Decide | undefined,
) => {
  if (decide !== undefined) return
  if (targets.length !== 1) {
    fail(declarations, `${from} × ${event} has ${targets.length} targets and no decision`, "pass a function that chooses one of them")
  }
  checkCarried(declarations, from, event, targets[0]?.history?.initial ?? targets[0]?.tag)
  if (declarations.event.$variants.get(event)?.reply !== undefined) {
    fail(declarations, `${from} × ${event} does not answer, but ${event} requires a reply`, "pass a decision that returns reply(...)")
  }
}

const checkCarried = (declarations: Declarations, from: string, event: string, target: string | undefined) => {
  const { $variants } = declarations.state
  const fields = $variants.get(target ?? "")?.fields
  if (fields === undefined) return
  const sources = from === "*" ? [...$variants.values()].filter(({ tag }) => !declarations.finals.has(tag)) : [$variants.get(from)]
  const given = declarations.event.$variants.get(event)?.fields ?? {}
  for (const source of sources) {
    const missing = Object.entries(fields)
      .filter(([name, schema]) => !isOptional(schema) && !Object.hasOwn(given, name) && !Object.hasOwn(source?.fields ?? {}, name))
      .map(([name]) => name)
    if (missing.length > 0) {
      fail(
        declarations,
        `${source?.tag} × ${event} → ${target}: nothing gives ${missing.join(", ")}`,
        "pass a decision that makes the target, or let the event carry the fields",
      )
    }
  }
}

/** The states of a group; of a state, the state itself. */
export const leavesOf = ({ state }: Declarations, name: string): ReadonlyArray<string> => state.$groups.get(name)?.tags ?? [name]

/** The targets of all transitions. */
export const allTargets = ({ transitions, fallbacks, timeouts, always }: Declarations): ReadonlyArray<TargetDeclaration> =>
  [...[...transitions.values()].flatMap(chainOf), ...fallbacks.values(), ...timeouts.values(), ...always].flatMap(({ targets }) => targets)

/** A transition and the transitions that it falls through to. */
export const chainOf = (one: TransitionDeclaration): ReadonlyArray<TransitionDeclaration> =>
  one.next === undefined ? [one] : [one, ...chainOf(one.next)]

/** The name under which a timeout of a state or a group is stored, and its event is journaled. */
export const timerName = ({ state }: Declarations, owner: string, name: string): string =>
  state.$groups.has(owner) ? `${owner}/${name}` : name

/** Refuses two timeouts of the same name where one belongs to a group and the other to a state or group inside it. */
export const checkTimerName = (
  declarations: Declarations,
  timeouts: Declarations["timeouts"],
  owner: string,
  name: string,
  place: Place,
) => {
  const leaves = leavesOf(declarations, owner)
  for (const { from, name: other, place: earlier } of timeouts.values()) {
    const isSame = other === name || timerName(declarations, from, other) === timerName(declarations, owner, name)
    if (!isSame || from === owner || !leavesOf(declarations, from).some((tag) => leaves.includes(tag))) continue
    fail(
      declarations,
      `${owner} × (${name}) is declared beside ${from} × (${other}): first${at(earlier)}, again${at(place)}`,
      'a timeout of a group measures the stay in the group; give one of them a name of its own with { name: "..." }, or declare the one of the group with { each: true }',
    )
  }
}

/** A transition that is about to be declared. */
interface NewDeclaration {
  readonly label: string
  readonly earlier: { readonly place: Place; readonly kind?: string } | undefined
  readonly options: Options
  readonly place: Place
  readonly nextStep?: string
}

/** Refuses a second declaration of the same transition, unless it overrides the first. */
export const checkNew = (declarations: Declarations, { label, earlier, options, place, nextStep }: NewDeclaration) => {
  if (options.fallThrough === true) return checkFallThrough(declarations, label, earlier, options, place)
  if (options.override === true && earlier === undefined)
    fail(declarations, `${label} overrides nothing${at(place)}`, "remove { override: true }")
  if (options.override !== true && earlier !== undefined) {
    fail(
      declarations,
      `${label} is declared twice: first${at(earlier.place)}, again${at(place)}`,
      nextStep ?? "remove one, or pass { override: true } to the second",
    )
  }
}

/** A transition that falls through needs a guard and an earlier transition. */
const checkFallThrough = (
  declarations: Declarations,
  label: string,
  earlier: { readonly place: Place; readonly kind?: string } | undefined,
  options: Options,
  place: Place,
) => {
  const refuse = (problem: string, nextStep: string) => fail(declarations, `${label} ${problem}${at(place)}`, nextStep)
  if (options.override === true) refuse("overrides the earlier transition and falls through to it", "pass one of the two options")
  if (options.guard === undefined) refuse("falls through without a guard", "pass { guard } beside { fallThrough: true }")
  if (earlier === undefined) refuse("falls through to nothing", "declare the transition of the group before it")
  if (earlier?.kind === "postpone") refuse("falls through to a postponed event", "remove the postpone, or { fallThrough: true }")
}

/** The options of each builder method. Others are refused: a misspelt option would have no effect. */
const knownOptions = {
  transition: ["override", "fallThrough", "reenter", "guard", "guardName", "description", "guards", "requests", "sameState"],
  "transition of any state": ["override", "guard", "guardName", "description", "guards", "requests"],
  timeout: ["override", "name", "idle", "each", "description", "guards", "requests"],
  "automatic transition": ["guardName", "description", "guards", "requests"],
  hook: ["name", "each", "requests"],
  work: ["name", "each", "runs"],
} as const satisfies { readonly [what: string]: ReadonlyArray<keyof Options> }

/** Refuses options that a method does not have, and slots that the machine does not have. */
export const checkOptions = (declarations: Declarations, what: keyof typeof knownOptions, options: Options) => {
  const known: ReadonlyArray<string> = knownOptions[what]
  const unknown = Object.keys(options).filter((name) => !known.includes(name))
  if (unknown.length > 0)
    fail(
      declarations,
      `${unknown.join(", ")} is not an option of ${what.startsWith("a") ? "an" : "a"} ${what}`,
      `the options are ${known.join(", ")}`,
    )
  checkSlots(declarations, "guard", options.guards ?? [], Object.keys(declarations.guardSlots))
  checkSlots(declarations, "effect", [...(options.requests ?? []), ...(options.runs ?? [])], Object.keys(declarations.effectSlots))
}

const checkSlots = (declarations: Declarations, kind: string, named: ReadonlyArray<string>, slots: ReadonlyArray<string>) => {
  const unknown = named.filter((name) => !slots.includes(name))
  if (unknown.length > 0) {
    fail(
      declarations,
      `${unknown.join(", ")} is not ${kind === "effect" ? "an" : "a"} ${kind} slot of this machine`,
      `the ${kind} slots are ${slots.join(", ") || "none"}`,
    )
  }
}

/** Whether a transition only answers a question: it stays, so a final state may have it. */
export const isQuestion = (
  declarations: Declarations,
  event: string,
  { kind, targets }: Pick<TransitionDeclaration, "kind" | "targets">,
): boolean => kind === "on" && declarations.event.$variants.get(event)?.reply !== undefined && targets.every(({ tag }) => tag === "(stay)")

export const checkNotFinal = (declarations: Declarations, tag: string) => {
  if (declarations.finals.has(tag))
    fail(declarations, `${tag} is final and cannot have a transition`, "remove the transition or the final mark")
}
