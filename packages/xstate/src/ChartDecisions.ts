/**
 * The decisions of a chart: XState's pure transition decides, and its actions become data. Delayed raises become delayed events of
 * the instance, custom actions and promises become commands, machines become instances of their own.
 */
import type { AnyActorScope, AnyMachineSnapshot, EventObject, StateValue } from "xstate"
import { type Chart, errorTag, ownEvent, standIn } from "./Chart.ts"
import type { AnyChartState, ChildActor, ParentInstance, SentToLive } from "./ChartState.ts"
import { boundedSystem, EndlessTransition } from "./EndlessTransition.ts"
import { KnownMoves } from "./KnownMoves.ts"
import { revived, storable, storableContext, storableError } from "./PlainData.ts"
import { remember, rememberedSnapshot } from "./RememberedSnapshot.ts"
import { childInstanceId, slots } from "./Slots.ts"

/** The effects of a decision besides its state. */
export interface DecisionTools {
  readonly request: (slot: string, parameters: object) => void
  readonly after: (name: string, delay: number, event: { readonly _tag: string }) => void
  readonly cancel: (name: string) => void
  readonly raise: (event: { readonly _tag: string }) => void
}

/** An event as it is stored: with the tag that the machine has for it. */
export type ChartEvent = EventObject & { readonly _tag: string; readonly [field: string]: unknown }

export type Decided = AnyChartState | { readonly _tag: "@stay" } | { readonly _tag: "@stop"; readonly reason: string } | Refusal

interface Refusal {
  readonly _tag: "@refuse"
  readonly reason: string
}

/** An action as XState passes it to its executor. */
export interface Action {
  readonly type: string
  readonly params: unknown
  readonly info: { readonly context: unknown; readonly event: EventObject }
}

interface ActorLike {
  readonly id: string
  readonly src?: unknown
  readonly options?: { readonly input?: unknown; readonly syncSnapshot?: boolean }
}

type Actors = Readonly<Record<string, ActorLike | undefined>>

export interface ChartSettings {
  /** Names of custom actions. */
  readonly actions: ReadonlySet<string>
  /** The actions that the machine implements itself; they get context and event. */
  readonly ownActions: ReadonlySet<string>
  /** The name of the machine whose instances a child machine becomes. */
  readonly machineOf: (src: string) => string
  readonly unhandled: "ignore" | "refuse"
}

const stay = { _tag: "@stay" } as const

type Writable<A> = { -readonly [K in keyof A]: A[K] }

export class ChartDecisions {
  readonly #chart: Chart
  readonly #settings: ChartSettings
  readonly #moves: KnownMoves

  constructor(chart: Chart, settings: ChartSettings) {
    this.#chart = chart
    this.#settings = settings
    this.#moves = new KnownMoves(chart)
  }

  begin(input: unknown, parent: ParentInstance | undefined, tools: DecisionTools): Decided {
    const { machine } = this.#chart
    const { scope, actions } = scopeOf(machine.id, parent)
    const next = machine.getInitialSnapshot(scope, input) as AnyMachineSnapshot
    if (next.status === "error") throw next.error
    const nothing = { count: 0, ...(parent === undefined ? {} : { parent }) }
    return this.#settle(nothing, undefined, next, actions, scope, tools)
  }

  /**
   * If the decision on a caller's event throws, the event is refused and the caller gets the error. Other events have no caller: the chart
   * ends with the error, as in XState. No event is accepted that leads into an endless transition: a timer becomes a dead letter.
   */
  decide(state: AnyChartState, event: ChartEvent, tools: DecisionTools): Decided {
    if (isPublic(event) && event[fromActor] !== true) return this.#decide(state, event, tools)
    const held = new HeldRequests()
    try {
      const decided = this.#decide(state, event, held)
      held.release(tools)
      return decided
    } catch (cause) {
      if (cause instanceof EndlessTransition) throw cause
      return this.#fail(state, cause, tools)
    }
  }

  #decide(state: AnyChartState, event: ChartEvent, tools: DecisionTools): Decided {
    const { machine } = this.#chart
    if (event._tag === ownEvent.deliver) return this.#deliver(state, event, tools)
    const received = this.#received(state, event)
    if (received === undefined) return stay
    const before = this.#restore(state)
    const { scope, actions } = scopeOf(machine.id, state.parent)
    const next = this.#moves.transition(before, received, scope, actions)
    if (next === before && actions.length === 0 && state.emitted === undefined && state.sent === undefined) {
      const isRefused = this.#settings.unhandled === "refuse" && isPublic(event) && machine.getTransitionData(before, received).length === 0
      return isRefused ? { _tag: "@refuse", reason: `no state of ${JSON.stringify(state.value)} handles ${event.type}` } : stay
    }
    return this.#settle(endedBy(announcedBy(state, event), event), before, next, actions, scope, tools)
  }

  /** The state of a chart that failed: its actors stop, and its parent gets the error. */
  #fail(state: AnyChartState, cause: unknown, tools: DecisionTools): Decided {
    const { children: _, emitted: __, sent: ___, ...rest } = state
    const step = new Step(this.#chart, this.#settings, state, scopeOf(this.#chart.machine.id, state.parent).scope, tools, true)
    const error = storableError(cause)
    step.adopt({}, {})
    step.tellParent({ status: "error", output: undefined, error })
    return { ...rest, _tag: errorTag, status: "error", error }
  }

  /** The event as XState expects it. Undefined for the result of an actor that the chart has stopped since. */
  #received(state: AnyChartState, { _tag, [lastWords]: _, [fromActor]: __, ...event }: ChartEvent): EventObject | undefined {
    if (_tag !== ownEvent.done && _tag !== ownEvent.error && _tag !== ownEvent.snapshot) return event
    const { n, ...result } = event as EventObject & { readonly actorId: string; readonly n: number }
    return state.children?.[result.actorId]?.n === n || state.late?.[result.actorId] === n ? result : undefined
  }

  /** A delayed `sendTo` is due. */
  #deliver(state: AnyChartState, event: ChartEvent, tools: DecisionTools): Decided {
    const { to, event: sent } = event as unknown as { readonly to: string; readonly event: EventObject }
    const outbox: Array<SentToLive> = []
    send(this.#settings, { parent: state.parent, children: state.children ?? {}, to, event: sent, tools, outbox, isEnding: false })
    const { sent: _, emitted: __, ...rest } = state
    return remember({ ...rest, ...(outbox.length === 0 ? {} : { sent: outbox }) }, this.#restore(state))
  }

  /** The next state, with the actions of the transition as requests. */
  #settle(
    state: Pick<AnyChartState, "count" | "parent" | "children"> & Partial<AnyChartState>,
    before: AnyMachineSnapshot | undefined,
    next: AnyMachineSnapshot,
    actions: ReadonlyArray<Action>,
    scope: AnyActorScope,
    tools: DecisionTools,
  ): Decided {
    const isEnding = next.status === "done" || next.status === "error"
    const step = new Step(this.#chart, this.#settings, state, scope, tools, isEnding)
    for (const action of actions) if (!isStoppedUnstarted(action, actions)) step.carryOut(action)
    step.adopt(next.children as Actors, (before?.children ?? {}) as Actors)
    if (next.status === "stopped") return { _tag: "@stop", reason: "its parent stopped it" }
    if (isEnding) step.tellParent(next)
    const history = historyOf(next)
    const decided: Writable<AnyChartState> = {
      _tag: this.#chart.tagOf(next),
      value: next.value as StateValue,
      context: storableContext(next.context, before?.context, state.context),
      status: next.status,
    }
    if (next.output !== undefined) decided.output = storable(next.output, "output")
    if (next.error !== undefined) decided.error = storable(next.error, "error")
    if (history !== undefined) decided.history = history
    if (step.hasChildren) decided.children = step.children
    if (step.count !== 0) decided.count = step.count
    if (state.parent !== undefined) decided.parent = state.parent
    if (step.emitted.length > 0) decided.emitted = step.emitted
    if (step.sent.length > 0) decided.sent = step.sent
    if (step.late !== undefined) decided.late = step.late
    return remember(decided, step.hasChildren ? withStandIns(next, decided, scope) : next)
  }

  #restore(state: AnyChartState): AnyMachineSnapshot {
    const known = rememberedSnapshot(state)
    if (known !== undefined && known.machine === this.#chart.machine) return known
    const restored = this.#restored(state)
    remember(state, restored)
    return restored
  }

  #restored({ value, context, status, output, error, history, children, parent }: AnyChartState): AnyMachineSnapshot {
    const { machine } = this.#chart
    const { scope } = scopeOf(this.#chart.machine.id, parent)
    const actors = standIns(children ?? {}, scope)
    const snapshot = machine.resolveState({
      value,
      context: children === undefined ? context : revived(context, actors),
      status,
      output,
      error,
      historyValue: Object.fromEntries(
        Object.entries(history ?? {}).map(([id, targets]) => [id, targets.flatMap((target) => this.#chart.node(target) ?? [])]),
      ),
    } as never) as AnyMachineSnapshot
    return children === undefined ? snapshot : ({ ...snapshot, children: actors } as AnyMachineSnapshot)
  }
}

const standIns = (children: Readonly<Record<string, ChildActor>>, scope: AnyActorScope) =>
  Object.fromEntries(Object.keys(children).map((id) => [id, standIn(id, scope.self)]))

/** Actors in a snapshot are stand-ins, as after a restart, so that a guard that reads one decides the same before and after. */
const withStandIns = (
  snapshot: AnyMachineSnapshot,
  { children = {}, context }: AnyChartState,
  scope: AnyActorScope,
): AnyMachineSnapshot => {
  const actors = standIns(children, scope)
  return { ...snapshot, children: actors, context: revived(context, actors) } as AnyMachineSnapshot
}

/** An actor that one macrostep spawns and stops is never started, as in XState. */
const isStoppedUnstarted = ({ type, params }: Action, actions: ReadonlyArray<Action>): boolean => {
  if (type !== "xstate.spawnChild") return false
  const { actorRef } = params as { readonly actorRef?: unknown }
  return actions.some((other) => other.type === "xstate.stopChild" && other.params === actorRef)
}

/** Marks the actor as ended whose result the event is: it is not started again after a crash. */
const endedBy = (state: AnyChartState, { _tag, actorId, n }: ChartEvent): AnyChartState => {
  if (typeof actorId !== "string" || (_tag !== ownEvent.done && _tag !== ownEvent.error)) return state
  if (state.late?.[actorId] === n) return { ...state, late: without(state.late, actorId) }
  const child = state.children?.[actorId]
  if (child === undefined) return state
  const { ending: _, ...ended } = child
  return { ...state, children: { ...state.children, [actorId]: { ...ended, ended: true } } }
}

/** A field of an event to the parent: the sender ends with the transition that sent it, and its result follows. */
const lastWords = "(last)"

/** A field of an event that an actor or the chart itself sent: no caller waits for its answer. */
const fromActor = "(sent)"

/** Marks an event as sent by an actor or by the chart itself. */
export const sentEvent = <E extends object>(event: E): E => ({ ...event, [fromActor]: true })

/** Collects the requests of a decision until the decision is made. */
class HeldRequests implements DecisionTools {
  readonly #held: Array<(tools: DecisionTools) => void> = []

  request(slot: string, parameters: object) {
    this.#held.push((tools) => tools.request(slot, parameters))
  }

  after(name: string, delay: number, event: { readonly _tag: string }) {
    this.#held.push((tools) => tools.after(name, delay, event))
  }

  cancel(name: string) {
    this.#held.push((tools) => tools.cancel(name))
  }

  raise(event: { readonly _tag: string }) {
    this.#held.push((tools) => tools.raise(event))
  }

  release(tools: DecisionTools) {
    for (const ask of this.#held) ask(tools)
  }
}

/** Marks the actor as ending that sent the event with its last transition: its result counts even if this event stops the actor. */
const announcedBy = (state: AnyChartState, event: ChartEvent): AnyChartState => {
  const { actor, n } = (event[lastWords] ?? {}) as { readonly actor?: string; readonly n?: number }
  const child = actor === undefined ? undefined : state.children?.[actor]
  if (actor === undefined || child === undefined || child.n !== n) return state
  return { ...state, children: { ...state.children, [actor]: { ...child, ending: true } } }
}

const without = (late: Readonly<Record<string, number>> | undefined, actor: string): Readonly<Record<string, number>> => {
  const { [actor]: _, ...rest } = late ?? {}
  return rest
}

/** Events of callers have no parentheses around their tags. */
const isPublic = ({ _tag }: ChartEvent): boolean => !_tag.startsWith("(")

/** An actor scope in which nothing runs: XState decides, and its actions are collected. */
const scopeOf = (chart: string, parent: ParentInstance | undefined): { readonly scope: AnyActorScope; readonly actions: Array<Action> } => {
  const actions: Array<Action> = []
  const self = parent === undefined ? rootSelf : standIn(parent.actor, standIn(parentName, undefined))
  const scope = {
    self,
    id: self.id,
    sessionId: self.sessionId,
    system: boundedSystem(self.system as unknown as AnyActorScope["system"], chart),
    logger: nothing,
    defer: nothing,
    stopChild: nothing,
    emit: nothing,
    actionExecutor: (action: Action) => void actions.push(action),
  }
  return { scope: scope as unknown as AnyActorScope, actions }
}

const nothing = () => undefined

/** Shared by all decisions, because nothing is ever started in its system: creating one costs as much as a small transition. */
const rootSelf = standIn("self", undefined)

const parentName = "#_parent"

/** In document order: the order of XState's own lists depends on how a state was reached. */
const historyOf = ({ historyValue }: AnyMachineSnapshot): AnyChartState["history"] => {
  const entries = Object.entries(historyValue as Record<string, ReadonlyArray<{ readonly id: string; readonly order: number }>>)
  if (entries.length === 0) return undefined
  return Object.fromEntries(
    entries.map(([id, nodes]) => [id, nodes.toSorted((left, right) => left.order - right.order).map((node) => node.id)]),
  )
}

interface Sending {
  readonly parent: ParentInstance | undefined
  readonly children: Readonly<Record<string, ChildActor>>
  readonly to: string
  readonly event: EventObject
  readonly tools: DecisionTools
  readonly outbox: Array<SentToLive>
  /** The sender ends with this transition. */
  readonly isEnding: boolean
}

/** Sends an event to another actor: an instance gets it by a command, live actors of the owner read it from the state. */
const send = ({ machineOf }: ChartSettings, { parent, children, to, event, tools, outbox, isEnding }: Sending) => {
  const content = sentEvent(storable(event, `the event to ${to}`) as EventObject)
  if (to === parentName && parent !== undefined) {
    const { machine, id, actor, n } = parent
    return tools.request(slots.send, { machine, id, event: isEnding ? { ...content, [lastWords]: { actor, n } } : content })
  }
  const child = children[to]
  if (child === undefined) return
  if (child.kind === "machine") {
    return tools.request(slots.send, { machine: machineOf(child.src), child: childInstanceId(to, child.n), event: content })
  }
  if (child.kind === "live") outbox.push({ to, n: child.n, event: storable(event, `the event to ${to}`) as EventObject })
}

/** One transition while its actions are carried out: the actors it starts and stops, in the order of the actions. */
class Step {
  readonly children: Record<string, ChildActor>
  readonly emitted: Array<EventObject> = []
  readonly sent: Array<SentToLive> = []
  count: number
  late: AnyChartState["late"]
  readonly #isEnding: boolean
  readonly #chart: Chart
  readonly #settings: ChartSettings
  readonly #parent: ParentInstance | undefined
  readonly #self: unknown
  readonly #tools: DecisionTools

  constructor(
    chart: Chart,
    settings: ChartSettings,
    { children, count = 0, parent, late }: Pick<AnyChartState, "children" | "count" | "parent" | "late">,
    scope: AnyActorScope,
    tools: DecisionTools,
    isEnding: boolean,
  ) {
    this.#chart = chart
    this.#settings = settings
    this.#parent = parent
    this.#self = scope.self
    this.#tools = tools
    this.children = children === undefined ? {} : { ...children }
    this.count = count
    this.late = late === undefined || Object.keys(late).length === 0 ? undefined : late
    this.#isEnding = isEnding
  }

  get hasChildren(): boolean {
    for (const _ in this.children) return true
    return false
  }

  carryOut({ type, params, info }: Action) {
    switch (type) {
      case "xstate.raise":
        return this.#raise(params as Delayed)
      case "xstate.cancel":
        return this.#tools.cancel(String((params as { readonly sendId: unknown }).sendId))
      case "xstate.spawnChild":
        return this.#spawn(
          (params as { readonly actorRef?: ActorLike; readonly src: unknown }).actorRef,
          params as { readonly src: unknown },
        )
      case "xstate.stopChild":
        return this.#stop((params as ActorLike | undefined)?.id)
      case "xstate.sendTo":
        return this.#sendTo(params as Delayed & { readonly to: ActorLike })
      case "xstate.emit":
        return void this.emitted.push(storable((params as { readonly event: EventObject }).event, "the emitted event") as EventObject)
      case "xstate.log":
        return this.#tools.request(slots.log, { content: storable(logged(params), "log") })
      default:
        return this.#act(type, params, info)
    }
  }

  #act(type: string, params: unknown, { context, event }: Action["info"]) {
    const { actions, ownActions } = this.#settings
    if (!actions.has(type)) {
      throw new Error(`the action ${type} has no name that fromXState knows; name it in setup({ actions }) or in the actions of fromXState`)
    }
    this.#tools.request(type, {
      params: storable(params, `the params of ${type}`) ?? null,
      event: storable(event, "the event"),
      ...(ownActions.has(type) ? { context: storable(context, "context") } : {}),
    })
  }

  #raise({ event, delay, id }: Delayed) {
    if (typeof delay !== "number") return
    this.#tools.after(id ?? this.#nextName(), delay, this.#tagged(event))
  }

  #sendTo({ to, event, delay, id }: Delayed & { readonly to: ActorLike }) {
    const target = to === this.#self ? undefined : to.id
    if (typeof delay === "number") {
      const later = target === undefined ? this.#tagged(event) : { _tag: ownEvent.deliver, to: target, event: storable(event, "the event") }
      return this.#tools.after(id ?? this.#nextName(), delay, later)
    }
    if (target === undefined) return this.#tools.raise(this.#tagged(event))
    const { children, sent } = this
    const isEnding = this.#isEnding
    send(this.#settings, { parent: this.#parent, children, to: target, event, tools: this.#tools, outbox: sent, isEnding })
  }

  #tagged(event: EventObject): { readonly _tag: string } {
    const tagged = { ...(storable(event, "the event") as EventObject), _tag: this.#chart.eventTag(event) }
    return isPublic(tagged) ? sentEvent(tagged) : tagged
  }

  #nextName(): string {
    this.count++
    return `(${this.count})`
  }

  #spawn(actor: ActorLike | undefined, { src }: { readonly src: unknown }) {
    if (typeof src !== "string") throw new Error("spawn of logic without a name; name it in setup({ actors }) and spawn it by that name")
    const known = this.#chart.actors.get(src)
    if (actor === undefined || known === undefined) throw new Error(`the actor ${src} has no implementation; give it in setup({ actors })`)
    const { id } = actor
    if (id === undefined || /^x:\d+$/.test(id)) throw new Error(`spawn of ${src} without an id; pass { id }`)
    this.count++
    const input = storable(actor.options?.input, `the input of ${id}`)
    const child: ChildActor = {
      src,
      kind: known.kind,
      n: this.count,
      ...(known.kind === "live" && input !== undefined ? { input } : {}),
      ...(actor.options?.syncSnapshot === true ? { sync: true } : {}),
    }
    if (child.sync === true && known.kind === "machine") {
      throw new Error(`onSnapshot of the machine ${src}: another instance's snapshots are not followed; let it send events to its parent`)
    }
    this.children[id] = child
    if (known.kind === "promise") this.#tools.request(slots.invoke(src), { actor: id, n: child.n, input: input ?? null })
    if (known.kind === "machine") {
      const machine = this.#settings.machineOf(src)
      this.#tools.request(slots.start, { machine, child: childInstanceId(id, child.n), actor: id, n: child.n, input: input ?? null })
    }
  }

  #stop(id: string | undefined) {
    const child = id === undefined ? undefined : this.children[id]
    if (id === undefined || child === undefined) return
    delete this.children[id]
    if (child.ending === true) this.late = { ...this.late, [id]: child.n }
    if (child.kind !== "machine") return
    this.#tools.request(slots.stop, { machine: this.#settings.machineOf(child.src), child: childInstanceId(id, child.n) })
  }

  /**
   * Starts actors that `assign` spawned, and stops those that disappeared without a stop action. At its end XState still lists the actors
   * that it stops.
   */
  adopt(actors: Actors, before: Actors) {
    for (const [id, actor] of Object.entries(actors)) {
      if (actor !== undefined && actor !== before[id] && this.children[id] === undefined) this.#spawn(actor, { src: actor.src })
    }
    for (const id of Object.keys(this.children)) if (actors[id] === undefined) this.#stop(id)
  }

  /** Sends the result or the error of this instance to its parent. */
  tellParent({ status, output, error }: Pick<AnyMachineSnapshot, "status" | "output" | "error">) {
    const parent = this.#parent
    if (parent === undefined) return
    const { machine, id, actor, n } = parent
    const event =
      status === "error"
        ? { _tag: ownEvent.error, type: `xstate.error.actor.${actor}`, error: storable(error, "error") ?? null, actorId: actor, n }
        : { _tag: ownEvent.done, type: `xstate.done.actor.${actor}`, output: storable(output, "output") ?? null, actorId: actor, n }
    this.#tools.request(slots.send, { machine, id, event })
  }
}

interface Delayed {
  readonly event: EventObject
  readonly delay: number | undefined
  readonly id: string | undefined
}

const logged = (params: unknown): unknown => {
  const { label, value } = (params ?? {}) as { readonly label?: unknown; readonly value?: unknown }
  return label === undefined ? (value ?? null) : [label, value ?? null]
}
