/** Draws up the blueprint of a definition from its declarations alone: no function of the user is called or read. */
import * as Duration from "effect/Duration"
import { isSensitive } from "../schema/Sensitive.ts"
import type { UntypedUnion } from "../schema/Union.ts"
import type { UntypedVariant } from "../schema/Variant.ts"
import type {
  ActionBlueprint,
  Blueprint,
  EventBlueprint,
  GroupBlueprint,
  StateBlueprint,
  TargetBlueprint,
  TransitionBlueprint,
} from "./Blueprint.ts"
import type { AlwaysDeclaration, Declarations, TargetDeclaration, TimeoutDeclaration, TransitionDeclaration } from "./Declarations.ts"

export const draft = (declarations: Declarations): Blueprint => {
  const ordered: Array<readonly [number, TransitionBlueprint]> = [
    ...[...declarations.transitions.values()].map((one) => [one.order, onEvent(one, false)] as const),
    ...[...declarations.fallbacks.values()].map((one) => [one.order, onEvent(one, true)] as const),
    ...declarations.always.map((one) => [one.order, automatic(one)] as const),
    ...[...declarations.timeouts.values()].map((one) => [one.order, onTimeout(one)] as const),
  ]
  return {
    name: declarations.name,
    version: declarations.version,
    states: statesOf(declarations),
    stateGroups: groupsOf(declarations.state),
    events: eventsOf(declarations.event),
    eventGroups: groupsOf(declarations.event),
    transitions: ordered.sort(([a], [b]) => a - b).map(([, transition]) => transition),
    guards: Object.keys(declarations.guardSlots),
    effects: Object.keys(declarations.effectSlots),
  }
}

const onEvent = (one: TransitionDeclaration, fallback: boolean): TransitionBlueprint => {
  // The slots it asks are more telling than the word guard.
  const unnamed = one.guard !== undefined && (one.guards ?? []).length === 0 ? "guard" : undefined
  const shared = { event: one.event, ...common(one, one.guardName ?? unnamed) }
  return one.kind === "postpone" ? { _tag: "Postpone", ...shared } : { _tag: "Event", ...shared, fallback, reenter: one.kind === "reenter" }
}

const automatic = (one: AlwaysDeclaration): TransitionBlueprint => ({ _tag: "Always", ...common(one, one.guardName) })

const onTimeout = (one: TimeoutDeclaration): TransitionBlueprint => ({
  _tag: "Timeout",
  name: one.name,
  after: afterOf(one),
  idle: one.idle,
  ...common(one, undefined),
})

const common = (one: TransitionDeclaration | AlwaysDeclaration | TimeoutDeclaration, guardName: string | undefined) => ({
  from: one.from,
  targets: one.targets.map(targetOf),
  guards: distinct([...(guardName === undefined ? [] : [guardName]), ...(one.guards ?? [])]),
  requests: distinct(one.requests ?? []),
  description: one.description,
})

const distinct = (names: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(names)]

const statesOf = (declarations: Declarations): ReadonlyArray<StateBlueprint> => {
  const initial = initialTags(declarations)
  const { effectSlots } = declarations
  /** In the order in which the slots are declared. */
  const slots = (named: ReadonlyArray<ReadonlyArray<string> | undefined>) =>
    Object.keys(effectSlots).filter((slot) => named.some((some) => some?.includes(slot)))
  return [...declarations.state.$variants.values()].map((variant) => {
    const hooks = (phase: "enter" | "exit") => declarations.hooks.filter((one) => one.phase === phase && one.state === variant.tag)
    const works = declarations.works.filter((one) => one.state === variant.tag)
    const actions = [
      ...hooks("enter").map(({ name, requests }) => action("enter", name, requests)),
      ...works.map(({ name, runs }) => action("work", name, runs)),
      ...hooks("exit").map(({ name, requests }) => action("exit", name, requests)),
    ].flat()
    return {
      tag: variant.tag,
      fields: fieldsOf(variant),
      group: groupOf(declarations.state, variant.tag),
      initial: initial.includes(variant.tag),
      final: declarations.finals.has(variant.tag),
      ...(declarations.failures?.has(variant.tag) === true ? { outcome: "failure" as const } : {}),
      requestsOnEnter: slots(hooks("enter").map((one) => one.requests)),
      requestsOnExit: slots(hooks("exit").map((one) => one.requests)),
      runs: slots(works.map((one) => one.runs)),
      working: works.length > 0,
      ...(actions.length === 0 ? {} : { actions }),
    }
  })
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
  [...union.$groups.values()].map((group) => ({ name: group.group, parent: groupOf(union, group.group), members: group.members }))

const groupOf = (union: UntypedUnion, name: string): string | undefined =>
  [...union.$groups.values()].find((group) => group.members.includes(name))?.group

const fieldsOf = (variant: UntypedVariant) =>
  Object.entries(variant.fields).map(([name, schema]) => ({ name, sensitive: isSensitive(schema) }))

const targetOf = (target: TargetDeclaration): TargetBlueprint =>
  target.tag === "(stay)"
    ? { _tag: "Stay" }
    : target.tag === "(stop)"
      ? { _tag: "Stop", reason: target.reason }
      : { _tag: "State", state: target.tag }

const afterOf = (timeout: TimeoutDeclaration): string | undefined =>
  typeof timeout.after === "function"
    ? undefined
    : typeof timeout.after === "string"
      ? timeout.after
      : Duration.format(Duration.fromInputUnsafe(timeout.after))

/** A function does not say which state it returns: a constructor has the tag, any other is declared with `initialState`. */
const initialTags = ({ initial, initialStates }: Declarations): ReadonlyArray<string> => {
  if (initialStates !== undefined) return initialStates
  if (typeof initial !== "function") return [initial._tag]
  return "tag" in initial ? [initial.tag as string] : []
}
