/** Draws up the blueprint of a definition. */
import * as Duration from "effect/Duration"
import { isSensitive } from "../schema/Sensitive.ts"
import type { UntypedUnion } from "../schema/Union.ts"
import type { UntypedVariant } from "../schema/Variant.ts"
import type { Blueprint, EventBlueprint, GroupBlueprint, StateBlueprint, TargetBlueprint, TransitionBlueprint } from "./Blueprint.ts"
import type { Declarations, TargetDeclaration, TimeoutDeclaration, TransitionDeclaration } from "./Declarations.ts"

export const draft = (declarations: Declarations): Blueprint => {
  const guards = Object.keys(declarations.guardSlots)
  const effects = Object.keys(declarations.effectSlots)
  const common = (functions: ReadonlyArray<unknown>, own: string | undefined) => ({
    guards: [...(own === undefined ? [] : [own]), ...mentioned(functions, guards)],
    requests: mentioned(functions, effects),
  })
  const onEvent = (one: TransitionDeclaration, fallback: boolean): TransitionBlueprint => {
    const shared = {
      from: one.from,
      event: one.event,
      targets: one.targets.map(targetOf),
      description: one.description,
      ...common([one.decide, one.guard], one.guardName ?? (one.guard === undefined ? undefined : "guard")),
    }
    return one.kind === "postpone"
      ? { _tag: "Postpone", ...shared }
      : { _tag: "Event", ...shared, fallback, reenter: one.kind === "reenter" }
  }
  const ordered: Array<readonly [number, TransitionBlueprint]> = [
    ...[...declarations.transitions.values()].map((one) => [one.order, onEvent(one, false)] as const),
    ...[...declarations.fallbacks.values()].map((one) => [one.order, onEvent(one, true)] as const),
    ...declarations.always.map(
      (one) =>
        [
          one.order,
          {
            _tag: "Always",
            from: one.from,
            targets: one.targets.map(targetOf),
            description: undefined,
            ...common([one.guard, one.decide], undefined),
          },
        ] as const,
    ),
    ...[...declarations.timeouts.values()].map(
      (one) =>
        [
          one.order,
          {
            _tag: "Timeout",
            from: one.from,
            name: one.name,
            after: afterOf(one),
            idle: one.idle,
            targets: one.targets.map(targetOf),
            description: undefined,
            ...common([one.decide], undefined),
          },
        ] as const,
    ),
  ]
  return {
    name: declarations.name,
    version: declarations.version,
    states: statesOf(declarations, effects),
    stateGroups: groupsOf(declarations.state),
    events: eventsOf(declarations.event),
    eventGroups: groupsOf(declarations.event),
    transitions: ordered.sort(([a], [b]) => a - b).map(([, transition]) => transition),
    guards,
    effects,
  }
}

const statesOf = (declarations: Declarations, effects: ReadonlyArray<string>): ReadonlyArray<StateBlueprint> => {
  const initial = initialTag(declarations)
  const hooks = (phase: "enter" | "exit", tag: string) =>
    declarations.hooks.filter((one) => one.phase === phase && one.state === tag).map((one) => one.hook)
  return [...declarations.state.$variants.values()].map((variant) => {
    const works = declarations.works.filter((one) => one.state === variant.tag)
    return {
      tag: variant.tag,
      fields: fieldsOf(variant),
      group: groupOf(declarations.state, variant.tag),
      initial: variant.tag === initial,
      final: declarations.finals.has(variant.tag),
      requestsOnEnter: mentioned(hooks("enter", variant.tag), effects),
      requestsOnExit: mentioned(hooks("exit", variant.tag), effects),
      runs: mentioned(
        works.map((one) => one.work),
        effects,
      ),
      working: works.length > 0,
    }
  })
}

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

/** A function of an input does not tell which state it makes: the first state it names is taken. */
const initialTag = ({ initial, state }: Declarations): string | undefined => {
  if (typeof initial !== "function") return initial._tag
  if ("tag" in initial) return initial.tag as string
  const source = String(initial)
  return state.$tags
    .map((tag) => [tag, positionOf(source, tag)] as const)
    .filter(([, position]) => position >= 0)
    .sort(([, a], [, b]) => a - b)[0]?.[0]
}

/**
 * Which slots functions use, told from their source: a diagram must not run them, and a property name survives
 * minification.
 */
const mentioned = (functions: ReadonlyArray<unknown>, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const source = functions
    .filter((one) => typeof one === "function")
    .map(String)
    .join("\n")
  return names.filter((name) => positionOf(source, name) >= 0)
}

const identifierPart = /[\p{ID_Continue}$]/u

/** Where a name stands as a whole word, or -1. */
const positionOf = (source: string, name: string): number => {
  for (let at = source.indexOf(name); at >= 0; at = source.indexOf(name, at + 1)) {
    const before = source[at - 1]
    const after = source[at + name.length]
    if ((before === undefined || !identifierPart.test(before)) && (after === undefined || !identifierPart.test(after))) return at
  }
  return -1
}
