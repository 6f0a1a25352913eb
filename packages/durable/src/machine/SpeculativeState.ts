/**
 * The state on which the next decision is made: the stored state, or a state ahead of it. An instance may decide on top of its own
 * uncommitted decisions; if a commit fails, they are dropped and made again.
 */
import type { Node, Tagged } from "@detent/machine/internal"
import type { InstanceTimer } from "./DelayedEvents.ts"
import { entriesAfter, type GroupEntries } from "./GroupEntries.ts"
import { entersState, type PendingEvent, timersAfter } from "./PendingEvent.ts"

export interface SpeculativeState {
  readonly state: Tagged
  readonly node: Node
  readonly sequence: number
  readonly timers: ReadonlyMap<string, InstanceTimer>
  readonly previous: Tagged | undefined
  /** The sequence at which the state was entered. */
  readonly entered: number
  readonly groups: GroupEntries
}

export const stateAfter = (before: SpeculativeState, pending: PendingEvent): SpeculativeState => {
  const { decision, sequence, node } = pending
  const { state, from, through } = decision
  const timers = timersAfter(before.timers, pending)
  return entersState(decision)
    ? {
        state,
        node,
        sequence,
        timers,
        previous: through.at(-1) ?? from,
        entered: sequence,
        groups: entriesAfter(before.groups, node, decision.kept ?? 0, sequence),
      }
    : { state, node, sequence, timers, previous: before.previous, entered: before.entered, groups: before.groups }
}
