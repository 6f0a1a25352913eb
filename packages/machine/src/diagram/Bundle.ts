/**
 * A transition that every state of a group has is drawn once, from the group. If a single state differs, each state
 * keeps its own: an edge from a group's border must hold for every state inside.
 */
import type { Blueprint, TargetBlueprint, TransitionBlueprint } from "../contract/Blueprint.ts"
import { anyKey, groupKey, stateKey } from "./Keys.ts"
import { groupsOf, leavesOf, type Nested } from "./Nesting.ts"

/** Transitions that are drawn as one. They differ only in the state they belong to. */
export interface Bundle {
  readonly key: string
  readonly first: TransitionBlueprint
  readonly transitions: ReadonlyArray<TransitionBlueprint>
}

/** In declaration order, each bundle in the place of its first transition. */
export const bundle = (blueprint: Blueprint, items: ReadonlyArray<Nested>): ReadonlyArray<Bundle> => {
  const groups = groupsOf(items).map((group) => ({ key: groupKey(group.name), leaves: leavesOf(group.items) }))
  const signatures = signaturesOf(blueprint.transitions)
  const byStateAndSignature = new Map<string, TransitionBlueprint>()
  for (const [transition, signature] of signatures) byStateAndSignature.set(JSON.stringify([transition.from, signature]), transition)
  const bundled = new Set<TransitionBlueprint>()
  const bundles: Array<Bundle> = []
  for (const transition of blueprint.transitions) {
    if (bundled.has(transition)) continue
    const signature = signatures.get(transition)
    const alone = { key: signature === undefined ? anyKey : stateKey(transition.from), transitions: [transition] }
    const shared = groups
      // A group of one state says no more than the state itself.
      .filter(({ leaves }) => leaves.length > 1 && leaves.includes(transition.from))
      // DOT and Mermaid cannot draw an arrow from a border inwards.
      .filter(({ leaves }) => transition.targets.every((target) => keeps(transition, target) || !leadsInto(target, leaves)))
      .map(({ key, leaves }) => ({
        key,
        transitions: leaves.flatMap((leaf) => byStateAndSignature.get(JSON.stringify([leaf, signature])) ?? []),
        complete: leaves.length,
      }))
      .find(({ transitions, complete }) => transitions.length === complete)
    const { key, transitions } = shared ?? alone
    for (const one of transitions) bundled.add(one)
    bundles.push({ key, first: transition, transitions })
  }
  return bundles
}

/** Whether the target is the state itself, which is not left. */
export const keeps = (transition: TransitionBlueprint, target: TargetBlueprint): boolean =>
  target._tag === "State" &&
  target.history === undefined &&
  target.state === transition.from &&
  !(transition._tag === "Event" && (transition.reenter || transition.fallback))

const leadsInto = (target: TargetBlueprint, leaves: ReadonlyArray<string>): boolean =>
  target._tag === "State" && leaves.includes(target.state)

/** Equal for transitions that are the same but for their state. Fallbacks have none: they belong to no state. */
const signaturesOf = (transitions: ReadonlyArray<TransitionBlueprint>): ReadonlyMap<TransitionBlueprint, string> => {
  const signatures = new Map<TransitionBlueprint, string>()
  const seen = new Map<string, number>()
  for (const transition of transitions) {
    if (transition._tag === "Event" && transition.fallback) continue
    const { from, targets, ...rest } = transition
    const leads = targets.map((target) =>
      keeps(transition, target)
        ? "itself"
        : [target._tag, target._tag === "State" ? [target.state, target.history] : target._tag === "Stop" && target.reason],
    )
    const signature = JSON.stringify([Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)), leads])
    // Where a state has the same transition twice, both are drawn.
    const times = seen.get(JSON.stringify([from, signature])) ?? 0
    seen.set(JSON.stringify([from, signature]), times + 1)
    signatures.set(transition, `${times} ${signature}`)
  }
  return signatures
}
