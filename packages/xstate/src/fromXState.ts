/**
 * XState machines as durable instances.
 *
 * ```ts
 * const Player = fromXState(playerMachine, { version: 1, actions: { report: (params) => analytics.send(params) } })
 * const player = yield* engine.start(Player, "player-1")
 * yield* player.send({ type: "play" })
 * ```
 */
import type { Upcasters } from "@detent/durable"
import { DefinitionError, Event, type Machine, type Persistence, State } from "@detent/machine"
import {
  type Declarations,
  fromDeclarations,
  setVariantSchema,
  type Tagged,
  type TransitionDeclaration,
  type UntypedUnion,
  type UntypedVariant,
} from "@detent/machine/internal"
import * as Schema from "effect/Schema"
import type { AnyActorLogic, AnyStateMachine, EventFromLogic, EventObject, InputFrom, OutputFrom, StateMachine } from "xstate"
import { Chart, errorTag, ownEvent, startTag } from "./Chart.ts"
import {
  type ActionCall,
  type AnyImplementation,
  type CommandCall,
  type CommandOptions,
  chartCommands,
  inputFields,
} from "./ChartCommands.ts"
import { ChartDecisions, type ChartEvent, type Decided, type DecisionTools } from "./ChartDecisions.ts"
import type { AnyChartState, ChartState, ParentInstance } from "./ChartState.ts"
import { chartBlueprint, effectNames } from "./chartBlueprint.ts"
import { checkChart } from "./checkChart.ts"
import { liveActors } from "./LiveActors.ts"
import { storable } from "./PlainData.ts"

type ActionOf<M> =
  M extends StateMachine<
    infer _C,
    infer _E,
    infer _Ch,
    infer _Ac,
    infer A,
    infer _G,
    infer _D,
    infer _V,
    infer _T,
    infer _I,
    infer _O,
    infer _Em,
    infer _Me,
    infer _S,
    infer _TM
  >
    ? A
    : never

type ActorOf<M> =
  M extends StateMachine<
    infer _C,
    infer _E,
    infer _Ch,
    infer A,
    infer _Act,
    infer _G,
    infer _D,
    infer _V,
    infer _T,
    infer _I,
    infer _O,
    infer _Em,
    infer _Me,
    infer _S,
    infer _TM
  >
    ? A
    : never

/** A function, or how its command is executed: `{ run, retry, timeout, queue, priority, ordered }`. */
type Implemented<F> = F | (CommandOptions & { readonly run?: F })

type ActionImplementations<A extends { readonly type: string; readonly params?: unknown }> = {
  readonly [K in A["type"]]?: Implemented<(params: Extract<A, { readonly type: K }>["params"], call: ActionCall) => unknown>
}

type ActorImplementation<L> = L extends AnyStateMachine
  ? ChartOptions<L>
  : L extends AnyActorLogic
    ? Implemented<(input: InputFrom<L>, call: CommandCall) => OutputFrom<L> | PromiseLike<OutputFrom<L>> | object>
    : never

type ActorImplementations<A extends { readonly src: string; readonly logic: unknown }> = {
  readonly [K in A["src"]]?: ActorImplementation<Extract<A, { readonly src: K }>["logic"]>
}

/** The options of a machine, or of a machine that it invokes or spawns. */
export interface ChartOptions<M extends AnyStateMachine> {
  /** Custom actions. Default: the implementations of the machine. They run as commands, after the transition is stored. */
  readonly actions?: ActionImplementations<ActionOf<M>>
  /** For promise logic: its function, or how its command is executed. For machines: their own `ChartOptions`. */
  readonly actors?: ActorImplementations<ActorOf<M>>
  /** An event that no state handles is ignored, as in XState, or refused. Default: ignore. */
  readonly unhandled?: "ignore" | "refuse"
  /**
   * The part of a transition that is journaled. `states`: the event, and the next state if a function of the chart took part in the
   * transition, so that guards and `assign` run once and may read clocks and random numbers. `events`: the event alone, which is smaller; a
   * replay calls the functions again, so that they must depend on context and event alone. Default: states.
   */
  readonly journal?: "states" | "events"
  /** How to read data that older versions stored, for an invoked or spawned machine, which the engine registers itself. */
  readonly upcasters?: Upcasters
  /** When snapshots are stored and how long ended instances stay. */
  readonly persist?: Persistence<string>
}

export interface FromXStateOptions<M extends AnyStateMachine> extends ChartOptions<M> {
  /** Default: the machine's `id`. Child machines are named after it: `checkout.shipping`. */
  readonly name?: string
  /** Increase it when stored instances no longer fit the chart, and add upcasters for them. Default: 1. */
  readonly version?: number
}

/** The input of a machine that declares none is optional. */
type StartInput<M extends AnyStateMachine> = unknown extends InputFrom<M> ? void : InputFrom<M>

/** A chart as a machine of the engine: with XState's types for events, context and input. */
export type XStateMachine<M extends AnyStateMachine> = Machine.Definition<ChartState<M>, EventFromLogic<M>, StartInput<M>, never>

/** Makes a machine of the engine from an XState machine. Throws `DefinitionError` with the path of everything that cannot be durable. */
export const fromXState = <M extends AnyStateMachine>(machine: M, options: FromXStateOptions<M> = {}): XStateMachine<M> => {
  const { name = machine.id, version = 1, ...chart } = options
  if (name === "(machine)") {
    throw new DefinitionError({ problem: "an XState machine without an id", nextStep: "give it an id, or pass { name }" })
  }
  return new Family(version).add(machine, name, chart as UntypedOptions) as never
}

interface UntypedOptions {
  readonly actions?: Readonly<Record<string, AnyImplementation | undefined>>
  readonly actors?: Readonly<Record<string, (AnyImplementation & UntypedOptions) | undefined>>
  readonly unhandled?: "ignore" | "refuse"
  readonly journal?: "states" | "events"
  readonly upcasters?: Upcasters
  readonly persist?: Persistence<string>
}

interface Member {
  readonly name: string
  definition: unknown
}

/** A machine with all machines that it invokes or spawns, directly or indirectly. A machine that occurs twice is one member. */
class Family {
  readonly #version: number
  readonly #members = new Map<AnyStateMachine, Member>()

  constructor(version: number) {
    this.#version = version
  }

  add(machine: AnyStateMachine, name: string, options: UntypedOptions): unknown {
    const member: Member = { name, definition: undefined }
    this.#members.set(machine, member)
    const chart = new Chart(machine)
    const implementations = { actions: options.actions ?? {}, actors: options.actors ?? {} }
    const found = checkChart(name, chart, implementations)
    for (const [src, { kind, logic }] of chart.actors) {
      if (kind === "machine" && !this.#members.has(logic)) this.add(logic, `${name}.${src}`, implementations.actors[src] ?? {})
    }
    const machineOf = (src: string): string => {
      const actor = chart.actors.get(src)
      return (actor?.kind === "machine" ? this.#members.get(actor.logic)?.name : undefined) ?? src
    }
    const decisions = new ChartDecisions(chart, {
      actions: found.names,
      ownActions: found.own,
      machineOf,
      unhandled: options.unhandled ?? "ignore",
    })
    const childOf = (machine: string) => [...this.#members.values()].find((one) => one.name === machine)?.definition
    const commands = chartCommands(chart, name, found.names, implementations, childOf)
    const hasLive = [...chart.actors.values()].some(({ kind }) => kind === "live")
    const targets = [...chart.tags, "(stay)", "(stop)"].map((tag) => ({ tag, reason: undefined }))
    const declarations: Declarations = {
      name,
      version: this.#version,
      state: statesOf(chart),
      event: eventsOf(chart),
      initial: (input) => ({ _tag: startTag, ...inputFields(input) }),
      startState: startTag,
      guardSlots: {},
      ...commands,
      processingTimeout: undefined,
      supervision: undefined,
      transitions: new Map(),
      fallbacks: new Map(chart.eventTags.map((event) => [event, fallback(event, targets, decisions)])),
      timeouts: new Map(),
      always: [
        {
          from: startTag,
          guard: () => true,
          targets: targets.filter(({ tag }) => tag !== "(stay)"),
          decide: (context) => begin(decisions, context as Context),
          order: 0,
          place: {},
        },
      ],
      hooks: [],
      works: [],
      backgrounds: hasLive ? [liveActors(chart, name) as never] : [],
      finals: chart.finals,
      failures: new Set([errorTag]),
      persistence: options.persist,
      upcasters: options.upcasters,
      count: 0,
      blueprint: () => chartBlueprint(chart, name, this.#version, effectNames(chart, found.names)),
      readEvent: (event) => readEvent(chart, event),
      statesAreJson: true,
      ...(options.journal === "events"
        ? {}
        : { keepsState: (from, event, to) => chart.isComputed(from as never, event as never, to as never) }),
      activeStates: (state) => chart.activeTags((state as Partial<AnyChartState>).value),
      machines: () => [...this.#members.values()].flatMap((one) => (one === member ? [] : [one.definition])),
    }
    member.definition = fromDeclarations(declarations)
    return member.definition
  }
}

/** The context of a decision, as the machine package provides it. */
interface Context {
  readonly state: AnyChartState & Tagged
  readonly event: ChartEvent
  readonly effects: Readonly<Record<string, (parameters: object) => void>>
  readonly self: { readonly send: (event: Tagged) => void }
  readonly after: DecisionTools["after"]
  readonly cancel: DecisionTools["cancel"]
}

/** The tools of a decision. Most decisions use none of them. */
class ContextTools implements DecisionTools {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  request(slot: string, parameters: object) {
    this.#context.effects[slot]?.(parameters)
  }

  after(name: string, delay: number, event: Tagged) {
    this.#context.after(name, delay, event)
  }

  cancel(name: string) {
    this.#context.cancel(name)
  }

  raise(event: Tagged) {
    this.#context.self.send(event)
  }
}

const begin = (decisions: ChartDecisions, context: Context): Decided => {
  const { _tag, "(parent)": parent, "(input)": value, ...fields } = context.state as unknown as FirstState
  const input = value ?? (Object.keys(fields).length === 0 ? undefined : fields)
  return decisions.begin(storable(input, "input"), parent, new ContextTools(context))
}

interface FirstState extends Tagged {
  readonly "(parent)"?: ParentInstance
  readonly "(input)"?: unknown
}

const fallback = (event: string, targets: TransitionDeclaration["targets"], decisions: ChartDecisions): TransitionDeclaration => ({
  from: "*",
  event,
  targets,
  decide: (context) => decisions.decide((context as Context).state, (context as Context).event, new ContextTools(context as Context)),
  guard: undefined,
  guardName: undefined,
  description: undefined,
  kind: "on",
  order: 0,
  place: {},
})

const stateFields = (chart: Chart) => ({
  value: Schema.Unknown.check(
    Schema.makeFilter((value) => (chart.hasValue(value) ? undefined : "it names states that the chart does not have")),
  ),
  context: Schema.Unknown,
  status: Schema.String,
  output: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Unknown),
  history: Schema.optionalKey(Schema.Unknown),
  children: Schema.optionalKey(Schema.Unknown),
  count: Schema.optionalKey(Schema.Number),
  parent: Schema.optionalKey(Schema.Unknown),
  emitted: Schema.optionalKey(Schema.Unknown),
  sent: Schema.optionalKey(Schema.Unknown),
  late: Schema.optionalKey(Schema.Unknown),
})

const statesOf = (chart: Chart): UntypedUnion => {
  const fields = stateFields(chart)
  const union = State({ [startTag]: {}, ...Object.fromEntries(chart.tags.map((tag) => [tag, fields])) }) as unknown as UntypedUnion
  open(union, startTag)
  return union
}

const eventsOf = ({ eventTags }: Chart): UntypedUnion => {
  const union = Event(Object.fromEntries(eventTags.map((tag) => [tag, {}]))) as unknown as UntypedUnion
  for (const tag of eventTags) open(union, tag)
  return union
}

/** XState's types define the fields of a value; the store accepts any plain data. */
const open = ({ $variants }: UntypedUnion, tag: string) => {
  const schema = Schema.StructWithRest(Schema.TaggedStruct(tag, {}), [Schema.Record(Schema.String, Schema.Unknown)])
  setVariantSchema($variants.get(tag) as UntypedVariant, schema)
}

const ownTags: ReadonlySet<string> = new Set(Object.values(ownEvent))

/** An event as callers write it, `{ type: "play" }`, with the tag that the machine has for it. Other values are unchanged. */
const readEvent = (chart: Chart, given: unknown): Tagged => {
  const event = given as Partial<ChartEvent> | null | undefined
  const { _tag: tag, type = tag } = event ?? {}
  if (typeof event !== "object" || event === null || typeof type !== "string") return given as Tagged
  if (tag !== undefined && ownTags.has(tag)) return given as Tagged
  if (type.startsWith("xstate.")) return given as Tagged
  return { ...(storable(event, "the event") as object), type, _tag: chart.eventTag({ type } as EventObject) } as unknown as Tagged
}
