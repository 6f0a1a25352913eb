/** Derives the blueprint of a definition from its declarations alone: no function of the user is called or read. */
import * as Duration from "effect/Duration"
import type {
  ActionBlueprint,
  Blueprint,
  EventBlueprint,
  GroupBlueprint,
  MetaBlueprint,
  StateBlueprint,
  StayBlueprint,
  TargetBlueprint,
  TransitionBlueprint,
} from "../contract/Blueprint.ts"
import { endsAtDate } from "../decision/Timeout.ts"
import { isSensitive } from "../schema/Sensitive.ts"
import type { UntypedUnion } from "../schema/Union.ts"
import type { UntypedVariant } from "../schema/Variant.ts"
import {
  type AlwaysDeclaration,
  chainOf,
  type Declarations,
  leavesOf,
  type TargetDeclaration,
  type TimeoutDeclaration,
  type TransitionDeclaration,
} from "./Declarations.ts"

export const draft = (declarations: Declarations): Blueprint => {
  const ordered: Array<readonly [number, TransitionBlueprint]> = [
    ...[...declarations.transitions.values()].flatMap(chainOf).map((one) => [one.order, onEvent(declarations, one, false)] as const),
    ...[...declarations.fallbacks.values()].map((one) => [one.order, onEvent(declarations, one, true)] as const),
    ...declarations.always.map((one) => [one.order, automatic(declarations, one)] as const),
    ...[...declarations.timeouts.values()].flatMap((one) =>
      leavesOf(declarations, one.from).map((from) => [one.order, onTimeout(declarations, one, from)] as const),
    ),
  ]
  return {
    name: declarations.name,
    version: declarations.version,
    states: statesOf(declarations),
    stateGroups: groupsOf(declarations.state).map((group) => {
      const stay = stayOf(declarations, group.name)
      return { ...group, ...(stay === undefined ? {} : { stay }), ...metaOf(declarations, group.name) }
    }),
    events: eventsOf(declarations.event),
    eventGroups: groupsOf(declarations.event),
    transitions: ordered.sort(([a], [b]) => a - b).map(([, transition]) => transition),
    guards: Object.keys(declarations.guardSlots),
    effects: Object.keys(declarations.effectSlots),
    ...(declarations.indexes === undefined ? {} : { indexes: [...declarations.indexes.values()] }),
  }
}

const onEvent = (declarations: Declarations, one: TransitionDeclaration, fallback: boolean): TransitionBlueprint => {
  // The names of the guard slots say more than the word "guard".
  const unnamed = one.guard !== undefined && (one.guards ?? []).length === 0 ? "guard" : undefined
  const shared = { event: one.event, ...common(declarations, one, one.guardName ?? unnamed) }
  return one.kind === "postpone"
    ? { _tag: "Postpone", ...shared }
    : { _tag: "Event", ...shared, fallback, reenter: one.kind === "reenter" || isLoop(one) }
}

/** Whether it leaves its state and may enter it again. */
const isLoop = ({ reenter, from, targets }: TransitionDeclaration): boolean =>
  reenter === true && targets.some(({ tag, history }) => tag === from && history === undefined)

const automatic = (declarations: Declarations, one: AlwaysDeclaration): TransitionBlueprint => ({
  _tag: "Always",
  ...common(declarations, one, one.guardName),
})

const onTimeout = (declarations: Declarations, one: TimeoutDeclaration, from: string): TransitionBlueprint => ({
  _tag: "Timeout",
  name: one.name,
  after: afterOf(one),
  idle: one.idle,
  ...(one.from === from ? {} : { group: one.from }),
  ...common(declarations, { ...one, from }, undefined),
})

const common = (
  declarations: Declarations,
  one: TransitionDeclaration | AlwaysDeclaration | TimeoutDeclaration,
  guardName: string | undefined,
) => ({
  from: one.from,
  targets: one.targets.map((target) => targetOf(declarations, target)),
  guards: distinct([...(guardName === undefined ? [] : [guardName]), ...(one.guards ?? [])]),
  requests: distinct(one.requests ?? []),
  description: one.description,
})

const distinct = (names: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(names)]

const statesOf = (declarations: Declarations): ReadonlyArray<StateBlueprint> => {
  const initial = initialTags(declarations)
  return [...declarations.state.$variants.values()].map((variant) => ({
    tag: variant.tag,
    fields: fieldsOf(variant),
    group: groupOf(declarations.state, variant.tag),
    initial: initial.includes(variant.tag),
    final: declarations.finals.has(variant.tag),
    ...(declarations.failures?.has(variant.tag) === true ? { outcome: "failure" as const } : {}),
    ...(stayOf(declarations, variant.tag) ?? emptyStay),
    ...completedBy(declarations, variant.tag),
    ...metaOf(declarations, variant.tag),
  }))
}

const completedBy = ({ dones = [] }: Declarations, tag: string) => {
  const completes = distinct(dones.filter(({ state }) => state === tag).map(({ group }) => group))
  return completes.length === 0 ? {} : { completes }
}

const metaOf = ({ metas }: Declarations, name: string): MetaBlueprint => {
  const { tags = [], description } = metas?.get(name) ?? {}
  return { ...(tags.length === 0 ? {} : { tags }), ...(description === undefined ? {} : { description }) }
}

const emptyStay: StayBlueprint = { requestsOnEnter: [], requestsOnExit: [], runs: [], working: false }

/** The hooks and work of a state or a group; undefined where it has none. */
const stayOf = ({ hooks: allHooks, works: allWorks, effectSlots }: Declarations, name: string): StayBlueprint | undefined => {
  const hooks = allHooks.filter((one) => one.state === name)
  const works = allWorks.filter((one) => one.state === name)
  if (hooks.length === 0 && works.length === 0) return undefined
  /** In the order in which the slots are declared. */
  const slots = (named: ReadonlyArray<ReadonlyArray<string> | undefined>) =>
    Object.keys(effectSlots).filter((slot) => named.some((some) => some?.includes(slot)))
  const of = (phase: "enter" | "exit") => hooks.filter((one) => one.phase === phase)
  const actions = [
    ...of("enter").map(({ name, requests }) => action("enter", name, requests)),
    ...works.map(({ name, runs }) => action("work", name, runs)),
    ...of("exit").map(({ name, requests }) => action("exit", name, requests)),
  ].flat()
  return {
    requestsOnEnter: slots(of("enter").map((one) => one.requests)),
    requestsOnExit: slots(of("exit").map((one) => one.requests)),
    runs: slots(works.map((one) => one.runs)),
    working: works.length > 0,
    ...(actions.length === 0 ? {} : { actions }),
  }
}

const action = (
  phase: ActionBlueprint["phase"],
  name: string | undefined,
  slots: ReadonlyArray<string> | undefined,
): ReadonlyArray<ActionBlueprint> => (name === undefined ? [] : [{ phase, name, slots: distinct(slots ?? []) }])

const eventsOf = (union: UntypedUnion): ReadonlyArray<EventBlueprint> =>
  [...union.$variants.values()].map((variant) => ({
    tag: variant.tag,
    fields: fieldsOf(variant),
    group: groupOf(union, variant.tag),
    reply: variant.reply !== undefined,
  }))

const groupsOf = (union: UntypedUnion): ReadonlyArray<GroupBlueprint> =>
  [...union.$groups.values()].map((group) => ({
    name: group.group,
    parent: groupOf(union, group.group),
    members: group.members,
    ...(group["~initial"] === false ? {} : { initial: group["~initial"].tag }),
  }))

const groupOf = (union: UntypedUnion, name: string): string | undefined =>
  [...union.$groups.values()].find((group) => group.members.includes(name))?.group

const fieldsOf = (variant: UntypedVariant) =>
  Object.entries(variant.fields).map(([name, schema]) => ({ name, sensitive: isSensitive(schema) }))

const targetOf = (declarations: Declarations, { tag, reason, history }: TargetDeclaration): TargetBlueprint => {
  if (tag === "(stay)") return { _tag: "Stay" }
  if (tag === "(stop)") return { _tag: "Stop", reason }
  if (history === undefined) return { _tag: "State", state: tag }
  const { group, deep, initial } = history
  return { _tag: "State", state: initial, history: { group, deep, states: leavesOf(declarations, group) } }
}

const afterOf = (timeout: TimeoutDeclaration): string | undefined =>
  typeof timeout.after === "function" || endsAtDate(timeout.after)
    ? undefined
    : typeof timeout.after === "string"
      ? timeout.after
      : Duration.format(Duration.fromInputUnsafe(timeout.after))

/** Of an `initial` function, only a state's constructor has the tag; for any other, `initialState` declares the states. */
const initialTags = ({ initial, initialStates }: Declarations): ReadonlyArray<string> => {
  if (initialStates !== undefined) return initialStates
  if (typeof initial !== "function") return [initial._tag]
  return "tag" in initial ? [initial.tag as string] : []
}
