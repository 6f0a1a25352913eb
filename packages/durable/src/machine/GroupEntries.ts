/**
 * When the groups around the current state were entered, by name. Contains only groups that have declarations. Processes that have
 * read the same journal have the same entries, so each knows which work of a group continues.
 */
import type { Compiled, Node, Tagged } from "@detent/machine/internal"

/** The sequence at which each group was entered. */
export type GroupEntries = ReadonlyMap<string, number>

export const noEntries: GroupEntries = new Map()

/** The entries after a state was entered: the `kept` outermost groups, which were not left, keep their entries. */
export const entriesAfter = (before: GroupEntries, { groups }: Node, kept: number, sequence: number): GroupEntries =>
  groups.length === 0
    ? noEntries
    : new Map(groups.map(({ name }, index) => [name, index < kept ? (before.get(name) ?? sequence) : sequence]))

/** The entries of a state that was read from the store. A group without an entry in the snapshot counts as entered with the state. */
export const entriesRead = (
  { nodes }: Compiled,
  { state, entered, groups }: { readonly state: Tagged; readonly entered: number; readonly groups: GroupEntries },
): GroupEntries => {
  const around = nodes.get(state._tag)?.groups ?? []
  return around.length === 0 ? noEntries : new Map(around.map(({ name }) => [name, groups.get(name) ?? entered]))
}
