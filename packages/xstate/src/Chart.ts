/** The structure of an XState machine: its states by path, the tags of its instances, and the events it knows. */
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createActor,
  type EventObject,
  type StateValue,
} from "xstate"
import { inertLogic, type NamedActor, namedActor } from "./ActorKind.ts"
import type { AnyChartState } from "./ChartState.ts"

/** The state of an instance before its chart is entered. Its fields are the input. */
export const startTag = "(start)"
/** The chart failed: an actor ended with an error that no transition handles. */
export const errorTag = "(error)"
/** The tags of a chart whose root has parallel regions, or no states. */
export const rootTag = "(active)"
const rootDoneTag = "(done)"

/** Tags of events that do not come from callers. */
export const ownEvent = {
  done: "(xstate.done.actor)",
  error: "(xstate.error.actor)",
  snapshot: "(xstate.snapshot)",
  stop: "(xstate.stop)",
  /** Any other event that XState creates. */
  other: "(xstate.event)",
  /** An event of a delayed `sendTo` is due. */
  deliver: "(deliver)",
} as const

/** An event of a type that the chart does not name: a wildcard may handle it. */
export const anyEvent = "*"

export class Chart {
  readonly machine: AnyStateMachine
  /** Every state of the chart, in document order. */
  readonly nodes: ReadonlyArray<AnyStateNode>
  readonly tags: ReadonlyArray<string>
  readonly finals: ReadonlySet<string>
  /** The types of events that callers send. */
  readonly eventTypes: ReadonlyArray<string>
  /** The types of the chart's own delayed transitions. */
  readonly delayTypes: ReadonlyArray<string>
  /** The logic of actors by the name under which the chart refers to it. */
  readonly actors: ReadonlyMap<string, NamedActor>
  readonly #byId: ReadonlyMap<string, AnyStateNode>
  /** Types of events whose transitions have guards; `true` if any event may lead to a guard. */
  readonly #guarded: ReadonlySet<string> | true
  /**
   * Whether the active states and the transitions that an event selects decide which states come next: no transition is automatic, no
   * guard decides on events that XState makes, and no inner state has an output. XState takes automatic transitions in an order that
   * depends on how a state was reached, and calls the functions of outputs.
   */
  readonly isStructural: boolean
  readonly transitions: ReadonlyArray<AnyTransitionDefinition>
  /** The `assign` actions of the chart. */
  readonly assigns: ReadonlyArray<AssignAction>
  readonly #tagOfType: ReadonlyMap<string, string>

  constructor(machine: AnyStateMachine) {
    this.machine = machine
    const { root } = machine
    this.nodes = [root, ...descendants(root)]
    this.#byId = new Map(this.nodes.map((node) => [node.id, node]))
    const isSingle = root.type !== "compound"
    this.tags = [...(isSingle ? [rootTag, rootDoneTag] : tagsBelow(root)), errorTag]
    const finals = isSingle
      ? [rootDoneTag]
      : Object.values(root.states)
          .filter((node) => node.type === "final")
          .map(tagOfNode)
    this.finals = new Set([...finals, errorTag])
    const types = [...new Set(this.nodes.flatMap((node) => [...node.transitions.keys()]))]
    this.delayTypes = types.filter((type) => type.startsWith("xstate.after."))
    this.eventTypes = types.filter((type) => !type.startsWith("xstate.") && !type.includes("*") && type !== "")
    this.#tagOfType = new Map([
      ...this.eventTypes.map((type) => [type, type] as const),
      ...this.delayTypes.map((type) => [type, `(${type})`] as const),
    ])
    this.actors = actorsOf(machine, this.nodes)
    this.transitions = this.nodes.flatMap((node) => [...[...node.transitions.values()].flat(), ...(node.always ?? [])])
    const actions = actionsOf(machine, this.nodes, this.transitions)
    this.assigns = assignsAmong(actions, machine)
    this.#guarded = guardedTypes(this.transitions, actions)
    this.isStructural =
      this.#guarded !== true && this.nodes.every((node) => (node.always ?? []).length === 0 && (node === root || node.output === undefined))
  }

  /** The tags of all events: those of callers, those for delayed transitions, and those of actors. */
  get eventTags(): ReadonlyArray<string> {
    return [...this.#tagOfType.values(), anyEvent, ...Object.values(ownEvent)]
  }

  /** The tag of an event by its type. */
  eventTag({ type }: EventObject): string {
    const known = this.#tagOfType.get(type)
    if (known !== undefined) return known
    return type.startsWith("xstate.") ? ownEvent.other : anyEvent
  }

  /** Whether a function of the chart, such as a guard or an assign, took part in the transition. */
  isComputed(from: Partial<AnyChartState>, { type }: EventObject, to: AnyChartState): boolean {
    if (from.context !== to.context || to.emitted !== undefined || to.sent !== undefined || to.output !== undefined) return true
    if (to.error !== undefined || this.#guarded === true || this.#guarded.has(type)) return true
    const { children: before = {} } = from
    const { children: after = {} } = to
    const ids = Object.keys(after)
    return ids.length !== Object.keys(before).length || ids.some((id) => before[id] !== after[id])
  }

  /** Whether a guard has a part in which transitions an event of this type takes. */
  isGuarded({ type }: EventObject): boolean {
    return this.#guarded === true || this.#guarded.has(type)
  }

  node(id: string): AnyStateNode | undefined {
    return this.#byId.get(id)
  }

  /** Whether every state of a stored value is a state of the chart. */
  hasValue(value: unknown): boolean {
    return fits(this.machine.root, value)
  }

  /** The innermost active states of a value, by their paths. */
  activeTags(value: unknown): ReadonlyArray<string> {
    return leavesAt(this.machine.root, value)
  }

  tagOf({ status, value }: Pick<AnyMachineSnapshot, "status" | "value">): string {
    if (status === "error") return errorTag
    const { root } = this.machine
    if (root.type !== "compound") return status === "done" ? rootDoneTag : rootTag
    let node: AnyStateNode = root
    let below: StateValue | undefined = value as StateValue
    let path = ""
    while (below !== undefined && node.type === "compound") {
      const key: string | undefined = typeof below === "string" ? below : Object.keys(below)[0]
      const next = key === undefined ? undefined : node.states[key]
      if (key === undefined || next === undefined) break
      path = path === "" ? key : `${path}.${key}`
      below = typeof below === "string" ? undefined : below[key]
      node = next
    }
    return path
  }
}

/** Every action that the chart can take: of its states, its transitions and its implementations. */
const actionsOf = (
  { implementations }: AnyStateMachine,
  nodes: ReadonlyArray<AnyStateNode>,
  transitions: ReadonlyArray<AnyTransitionDefinition>,
): ReadonlyArray<unknown> => [
  ...nodes.flatMap(({ entry, exit, initial }) => [...entry, ...exit, ...(initial?.actions ?? [])]),
  ...transitions.flatMap((transition) => transition.actions),
  ...Object.values(implementations.actions),
]

/** An `assign` action, and whether some state or transition gives it parameters. */
export interface AssignAction {
  readonly action: ResolvableAssign
  readonly hasParameters: boolean
}

/** As XState represents it. */
export interface ResolvableAssign {
  readonly assignment: ((values: object) => unknown) | Readonly<Record<string, unknown>>
  /** Called by XState with the scope, the snapshot, and the context and event. */
  resolve: (
    ...call: readonly [scope: unknown, snapshot: unknown, values: { readonly event: EventObject }, ...ReadonlyArray<unknown>]
  ) => unknown
}

const assignsAmong = (actions: ReadonlyArray<unknown>, { implementations }: AnyStateMachine): ReadonlyArray<AssignAction> => {
  const withParameters = new Set(actions.flatMap((action) => (hasParameters(action) ? [implementations.actions[action.type]] : [])))
  return [...new Set(actions.filter(isAssign))].map((action) => ({ action, hasParameters: withParameters.has(action as never) }))
}

const isAssign = (action: unknown): action is ResolvableAssign =>
  typeof action === "function" && (action as { readonly type?: unknown }).type === "xstate.assign" && "resolve" in action

const hasParameters = (action: unknown): action is { readonly type: string } =>
  typeof action === "object" && action !== null && "type" in action && "params" in action

/**
 * Returns `true` if any event may lead to a guard: automatic transitions, raised events and the events of completed regions follow any
 * event.
 */
const guardedTypes = (transitions: ReadonlyArray<AnyTransitionDefinition>, actions: ReadonlyArray<unknown>): ReadonlySet<string> | true => {
  const guarded = transitions.filter(({ guard }) => guard !== undefined).map(({ eventType }) => String(eventType))
  const isAnyEvent = (type: string) => type === "" || type.includes("*") || type.startsWith("xstate.done.state.")
  return guarded.some(isAnyEvent) || actions.some(isRaising) ? true : new Set(guarded)
}

/** Whether an action may raise an event in the same transition. */
const isRaising = (action: unknown): boolean => {
  if (typeof action !== "function") return false
  const { type, delay } = action as { readonly type?: unknown; readonly delay?: unknown }
  return type === "xstate.enqueueActions" || (type === "xstate.raise" && (delay === undefined || typeof delay === "function"))
}

const fits = (node: AnyStateNode, value: unknown): boolean => {
  if (typeof value === "string") return Object.hasOwn(node.states, value)
  if (typeof value !== "object" || value === null) return false
  return Object.entries(value).every(([key, below]) => {
    const child = Object.hasOwn(node.states, key) ? node.states[key] : undefined
    return child !== undefined && fits(child, below)
  })
}

const leavesAt = (node: AnyStateNode, value: unknown): ReadonlyArray<string> => {
  const below = typeof value === "string" ? [[value, undefined] as const] : Object.entries((value ?? {}) as object)
  if (below.length === 0) return node.parent === undefined ? [] : [tagOfNode(node)]
  return below.flatMap(([key, inner]) => {
    const child = node.states[key]
    return child === undefined ? [] : leavesAt(child, inner)
  })
}

export const tagOfNode = (node: AnyStateNode): string => node.path.join(".")

const descendants = (node: AnyStateNode): ReadonlyArray<AnyStateNode> =>
  Object.values(node.states).flatMap((child) => [child, ...descendants(child)])

/** The states that an instance can be in, by path. Parallel regions are part of one state. */
const tagsBelow = (node: AnyStateNode): ReadonlyArray<string> =>
  Object.values(node.states).flatMap((child) => {
    if (child.type === "history") return []
    return child.type === "compound" ? tagsBelow(child) : [tagOfNode(child)]
  })

/** The actors that are named in the implementations, and those whose logic is given inline in an invocation. */
const actorsOf = ({ implementations }: AnyStateMachine, nodes: ReadonlyArray<AnyStateNode>): ReadonlyMap<string, NamedActor> => {
  const found = new Map<string, NamedActor>()
  const add = (name: string, logic: unknown) => {
    const actor = typeof logic === "object" && logic !== null ? namedActor(logic as never) : undefined
    if (actor !== undefined) found.set(name, actor)
  }
  for (const [name, logic] of Object.entries(implementations.actors)) add(name, logic)
  for (const node of nodes) {
    const configured = [node.config.invoke ?? []].flat()
    // A definition always has a name, even if the invocation contains the logic.
    for (const [index, { src }] of node.invoke.entries()) add(String(src), configured[index]?.src)
  }
  return found
}

/** An actor that stands for one that lives elsewhere. */
export const standIn = (id: string, parent: unknown) => createActor(inertLogic, { id, parent: parent as never })
