/**
 * A blueprint is the structure of a machine as plain data, for diagrams, analysis, the console and other tools. It is plain JSON in
 * declaration order, without the functions that decide.
 */
import type { IndexBlueprint } from "./Search.ts"

export interface FieldBlueprint {
  readonly name: string
  readonly sensitive: boolean
}

/** The tags and description of a state or a group, from `meta`. */
export interface MetaBlueprint {
  readonly tags?: ReadonlyArray<string>
  readonly description?: string
}

export interface StateBlueprint extends StayBlueprint, MetaBlueprint {
  readonly tag: string
  readonly fields: ReadonlyArray<FieldBlueprint>
  /** The innermost group of the state. */
  readonly group: string | undefined
  readonly initial: boolean
  readonly final: boolean
  /** A final state in which the instance has failed. */
  readonly outcome?: "failure"
  /** Groups that it completes: reaching it raises an event. */
  readonly completes?: ReadonlyArray<string>
}

/** The hooks and work of a state, or of the stay in a group. */
export interface StayBlueprint {
  /** Effect slots that its `enter` and `exit` declare: requested as commands when it is entered or left. */
  readonly requestsOnEnter: ReadonlyArray<string>
  readonly requestsOnExit: ReadonlyArray<string>
  /** Effect slots that its `spawn` and `task` declare: run while it lasts. */
  readonly runs: ReadonlyArray<string>
  /** Whether any work runs while it lasts. */
  readonly working: boolean
  /** Hooks and work that have a name. */
  readonly actions?: ReadonlyArray<ActionBlueprint>
}

/** A hook or work of a state, with the name it was given. */
export interface ActionBlueprint {
  readonly phase: "enter" | "work" | "exit"
  readonly name: string
  /** Effect slots that it requests or, as work, runs. */
  readonly slots: ReadonlyArray<string>
}

export interface EventBlueprint {
  readonly tag: string
  readonly fields: ReadonlyArray<FieldBlueprint>
  readonly group: string | undefined
  readonly reply: boolean
}

export interface GroupBlueprint extends MetaBlueprint {
  readonly name: string
  readonly parent: string | undefined
  /** Names of the states (or events) and groups directly inside. */
  readonly members: ReadonlyArray<string>
  /** The member at which it is entered as a target, where it names one. */
  readonly initial?: string
  /** Hooks and work that belong to the stay in the group, where it has any. */
  readonly stay?: StayBlueprint
  /** It is active at the same time as the other regions of the group around it. */
  readonly region?: true
}

export interface HistoryBlueprint {
  readonly group: string
  readonly deep: boolean
  /** Every state it may lead to. */
  readonly states: ReadonlyArray<string>
}

/** Where a transition can lead: a state by its tag, staying, or the end. */
export type TargetBlueprint =
  /** `history`: back to where a group was left; `state` is where it leads if the group has never been left. */
  | { readonly _tag: "State"; readonly state: string; readonly history?: HistoryBlueprint }
  | { readonly _tag: "Stay" }
  | { readonly _tag: "Stop"; readonly reason: string | undefined }

interface TransitionCommon {
  /** The state's tag; `*` for a fallback, which applies in every state without a transition of its own for the event. */
  readonly from: string
  readonly targets: ReadonlyArray<TargetBlueprint>
  /** The name of its own guard, and the guard slots it declares. */
  readonly guards: ReadonlyArray<string>
  /** Effect slots that its decision declares. */
  readonly requests: ReadonlyArray<string>
  readonly description: string | undefined
  /** Text of the edge instead of event, guards and requests; each part may get a line of its own. */
  readonly label?: ReadonlyArray<string>
}

export type TransitionBlueprint =
  /** On an event. `fallback`: declared with `onAny`. `reenter`: the state is left and entered again. */
  | (TransitionCommon & { readonly _tag: "Event"; readonly event: string; readonly fallback: boolean; readonly reenter: boolean })
  /** The event waits for the next state change. It has no targets. */
  | (TransitionCommon & { readonly _tag: "Postpone"; readonly event: string })
  /** Taken as soon as its guard holds. */
  | (TransitionCommon & { readonly _tag: "Always" })
  /**
   * After a time. `after` is the duration as text, undefined where it depends on the state. `group`: it counts from when this group
   * was entered, and each state of the group has it.
   */
  | (TransitionCommon & {
      readonly _tag: "Timeout"
      readonly name: string
      readonly after: string | undefined
      readonly idle: boolean
      readonly group?: string
    })

export interface Blueprint {
  readonly name: string
  readonly version: number
  readonly states: ReadonlyArray<StateBlueprint>
  readonly stateGroups: ReadonlyArray<GroupBlueprint>
  readonly events: ReadonlyArray<EventBlueprint>
  readonly eventGroups: ReadonlyArray<GroupBlueprint>
  readonly transitions: ReadonlyArray<TransitionBlueprint>
  readonly guards: ReadonlyArray<string>
  readonly effects: ReadonlyArray<string>
  /** Fields by which instances are found and ordered, where it has any. */
  readonly indexes?: ReadonlyArray<IndexBlueprint>
}

/** Observations of running instances, which complete the declarations of a machine. */
export interface Observations {
  /** States that instances began in. */
  readonly initial: ReadonlyArray<string>
  readonly transitions: ReadonlyArray<{
    readonly from: string
    /** The event's tag, `(name)` for a timeout, `(always)` for an automatic transition. */
    readonly event: string
    /** Which of the transitions of its state for the same event, or without one, in declaration order. Default: the first. */
    readonly position?: number
    readonly guards: ReadonlyArray<string>
    readonly requests: ReadonlyArray<string>
  }>
  readonly hooks: ReadonlyArray<{ readonly phase: "enter" | "exit"; readonly state: string; readonly requests: ReadonlyArray<string> }>
}

/** The blueprint with the slots and first states that were seen and are not declared. Declarations are unchanged. */
export const complete = (blueprint: Blueprint, seen: Observations): Blueprint => {
  const isInitialKnown = blueprint.states.some((state) => state.initial)
  const requested = (phase: "enter" | "exit", tag: string) =>
    seen.hooks.filter((hook) => hook.phase === phase && hook.state === tag).flatMap((hook) => hook.requests)
  const used = usedByTransition(blueprint, seen.transitions)
  const completed = (stay: StayBlueprint, name: string) => ({
    requestsOnEnter: united(stay.requestsOnEnter, requested("enter", name)),
    requestsOnExit: united(stay.requestsOnExit, requested("exit", name)),
  })
  return {
    ...blueprint,
    states: blueprint.states.map((state) => ({
      ...state,
      initial: isInitialKnown ? state.initial : seen.initial.includes(state.tag),
      ...completed(state, state.tag),
    })),
    stateGroups: blueprint.stateGroups.map((group) =>
      group.stay === undefined ? group : { ...group, stay: { ...group.stay, ...completed(group.stay, group.name) } },
    ),
    transitions: blueprint.transitions.map((transition, index) => {
      const own = used.get(index)
      if (own === undefined) return transition
      return { ...transition, guards: united(transition.guards, own.guards), requests: united(transition.requests, own.requests) }
    }),
  }
}

const united = (declared: ReadonlyArray<string>, seen: Iterable<string>): ReadonlyArray<string> => [...new Set([...declared, ...seen])]

interface Used {
  readonly guards: Set<string>
  readonly requests: Set<string>
}

/** Slots by the index of the transition: the state's own, or else the fallback. */
const usedByTransition = ({ transitions }: Blueprint, seen: Observations["transitions"]): ReadonlyMap<number, Used> => {
  const indexes = new Map<string, Array<number>>()
  transitions.forEach((transition, index) => {
    const key = keyOf(transition.from, transitionEvent(transition))
    indexes.set(key, [...(indexes.get(key) ?? []), index])
  })
  const used = new Map<number, Used>()
  for (const { from, event, position = 0, guards, requests } of seen) {
    const index = (indexes.get(keyOf(from, event)) ?? indexes.get(keyOf("*", event)))?.[position]
    if (index === undefined) continue
    const own = used.get(index) ?? { guards: new Set(), requests: new Set() }
    used.set(index, own)
    for (const guard of guards) own.guards.add(guard)
    for (const request of requests) own.requests.add(request)
  }
  return used
}

const keyOf = (from: string, event: string): string => JSON.stringify([from, event])

/** The event of a transition as observations and traces name it. */
export const transitionEvent = (transition: TransitionBlueprint): string => {
  switch (transition._tag) {
    case "Event":
    case "Postpone":
      return transition.event
    case "Timeout":
      return timeoutLabel(transition)
    case "Always":
      return "(always)"
  }
}

/** The event of a timeout as it is journaled: that of a group names the group. */
export const timeoutLabel = ({ name, group }: { readonly name: string; readonly group?: string }): string =>
  group === undefined ? `(${name})` : `(${group}/${name})`
