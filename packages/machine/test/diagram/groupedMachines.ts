/** Machines declared like those of users: rules for states and for groups, where a later rule overrides an earlier one. */

import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Trace } from "../../src/actor/Trace.ts"
import type { Blueprint, TransitionBlueprint } from "../../src/contract/Blueprint.ts"
import { after, always, blueprint, group, on, postpone, state, stay, step, stop, traceOf } from "./fixtures.ts"

const upTo = (last: number) => Schema.Literals(Array.from({ length: last + 1 }, (_, index) => index))

const Rule = Schema.Struct({
  kind: Schema.Literals(["event", "event", "reenter", "postpone", "timeout", "always", "fallback"]),
  from: upTo(16),
  event: upTo(3),
  to: Schema.NonEmptyArray(upTo(10)),
  guarded: Schema.Boolean,
  requests: Schema.Boolean,
})

const tags = ["A", "B", "C", "D", "E", "F", "G", "H"]
const groupNames = ["Outer", "Inner", "Other"]
const parents: { readonly [name: string]: string | undefined } = { Inner: "Outer" }

export const grouped = Arbitrary.map(
  Arbitrary.schema(
    Schema.Struct({
      groups: Schema.Tuple(tags.map(() => upTo(3))),
      rules: Schema.Array(Rule).check(Schema.isMinLength(3), Schema.isMaxLength(14)),
    }),
  ),
  ({ groups, rules }): Blueprint => {
    const groupOf = new Map(tags.map((tag, index) => [tag, groupNames[groups[index] ?? 0]]))
    const leaves = (name: string): ReadonlyArray<string> =>
      tags.filter((tag) => groupOf.get(tag) === name || parents[groupOf.get(tag) ?? ""] === name)
    // A number above those of the states is that of a group.
    const statesAt = (index: number): ReadonlyArray<string> => {
      const tag = tags[index]
      return tag === undefined ? leaves(groupNames[(index - tags.length) % groupNames.length] ?? "") : [tag]
    }
    const byPlace = new Map<string, TransitionBlueprint>()
    for (const rule of rules) {
      const name = `Event${rule.event}`
      for (const from of rule.kind === "fallback" ? ["*"] : statesAt(rule.from)) {
        const transition = transitionOf(rule, from, name)
        // As in a machine: one transition for a state and an event.
        const place = transition._tag === "Event" || transition._tag === "Postpone" ? name : `${transition._tag} ${rule.event}`
        byPlace.delete(`${from} ${place}`)
        byPlace.set(`${from} ${place}`, transition)
      }
    }
    return blueprint("grouped", {
      states: tags.map((tag, index) => state(tag, [], { initial: index === 0, group: groupOf.get(tag) })),
      stateGroups: groupNames
        .filter((name) => leaves(name).length > 0)
        .map((name) =>
          group(name, leaves(name), parents[name] !== undefined && leaves(parents[name]).length > 0 ? parents[name] : undefined),
        ),
      transitions: [...byPlace.values()],
    })
  },
)

const transitionOf = (rule: typeof Rule.Type, from: string, name: string): TransitionBlueprint => {
  const extra = { guards: rule.guarded ? ["guard"] : [], requests: rule.requests ? ["request"] : [] }
  const to = [...new Set(rule.to)].map((index) => tags[index] ?? [stay, stop(), stop("reason")][index - tags.length] ?? stay)
  switch (rule.kind) {
    case "event":
      return on(from, name, to, extra)
    case "fallback":
      return on(from, name, to, { ...extra, fallback: true })
    case "reenter":
      return on(from, name, from, { ...extra, reenter: true })
    case "postpone":
      return postpone(from, name)
    case "timeout":
      return after(from, `${rule.event + 1} hours`, to, { ...extra, name: `timeout${rule.event}` })
    case "always":
      return always(from, to, extra)
  }
}

/** An instance that took every fourth transition, without regard to whether one can follow the other. */
export const someTaken = (machine: Blueprint): Trace =>
  traceOf(
    "grouped",
    "A",
    machine.transitions
      .filter((transition, index) => transition._tag === "Event" && !transition.fallback && index % 4 === 0)
      .flatMap((transition, index) => {
        const target = transition.targets[0]
        if (target?._tag !== "State" || transition._tag !== "Event") return []
        return [step(index + 1, transition.from, transition.event, target.state)]
      }),
  )
