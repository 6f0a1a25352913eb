/** States inside their groups, as a tree. */
import type { Blueprint, StateBlueprint } from "../contract/Blueprint.ts"

export interface NestedGroup {
  readonly name: string
  readonly items: ReadonlyArray<Nested>
}

export type Nested = { readonly _tag: "State"; readonly state: StateBlueprint } | { readonly _tag: "Group"; readonly group: NestedGroup }

/** The states in declaration order, each group in the place of its first state. */
export const nest = (blueprint: Blueprint): ReadonlyArray<Nested> => {
  const parents = new Map(blueprint.stateGroups.map((group) => [group.name, group.parent]))
  const items: Array<Nested> = []
  const inside = new Map<string, Array<Nested>>()
  const listOf = (group: string | undefined, below: ReadonlyArray<string> = []): Array<Nested> => {
    // A group inside itself would recurse without end.
    if (group === undefined || below.includes(group)) return items
    const known = inside.get(group)
    if (known !== undefined) return known
    const list: Array<Nested> = []
    inside.set(group, list)
    listOf(parents.get(group), [...below, group]).push({ _tag: "Group", group: { name: group, items: list } })
    return list
  }
  for (const state of blueprint.states) listOf(state.group).push({ _tag: "State", state })
  return items
}

/** The tags of all states inside, at any depth. */
export const leavesOf = (items: ReadonlyArray<Nested>): ReadonlyArray<string> =>
  items.flatMap((item) => (item._tag === "State" ? [item.state.tag] : leavesOf(item.group.items)))

/** Outer groups before the ones inside them. */
export const groupsOf = (items: ReadonlyArray<Nested>): ReadonlyArray<NestedGroup> =>
  items.flatMap((item) => (item._tag === "Group" ? [item.group, ...groupsOf(item.group.items)] : []))
