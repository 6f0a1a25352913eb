/**
 * Which groups of a queue a claim takes commands of, for the memory store and SQLite. PostgreSQL computes the same in SQL.
 *
 * A claim visits groups in the order of their names, from the one after the last that had a turn, and takes about as many commands of each.
 */
import type { ClaimedCommand, GroupLimits, QueueSettings } from "./Commands.ts"
import { type Room, roomIn, type Start } from "./QueueLimits.ts"

/** How many groups a claim visits beyond those that it has room for: groups at their limits are visited in vain. */
const visitedInVain = 200

/** A group that has a command to claim. */
export interface VisitedGroup {
  /** Empty for the commands without a group. */
  readonly name: string
  readonly running: number
  readonly own: GroupLimits | undefined
  readonly starts: ReadonlyArray<Start>
}

export interface GroupShare {
  readonly name: string
  readonly limit: number
}

export interface GroupShares extends Omit<Room, "limit"> {
  readonly shares: ReadonlyArray<GroupShare>
}

/** Whether groups of the queue have limits. */
export const mostVisited = (room: number, limitsGroups: boolean): number => (limitsGroups ? room + visitedInVain : room)

/** The limits of a group: its own, and those of all groups where it has none. */
export const limitsOf = (perGroup: GroupLimits | undefined, own: GroupLimits | undefined): GroupLimits => ({
  concurrency: own?.concurrency ?? perGroup?.concurrency,
  rate: own?.rate ?? perGroup?.rate,
})

/** How many commands each of the visited groups may begin. */
export const sharesOf = (
  { perGroup }: Pick<QueueSettings, "perGroup">,
  visited: ReadonlyArray<VisitedGroup>,
  room: number,
  limitsGroups: boolean,
  now: number,
): GroupShares => {
  const rooms = visited.map(({ name, running, own, starts }) => {
    const limits = name === "" ? limitsOf(undefined, undefined) : limitsOf(perGroup, own)
    return { name, room: roomIn({ paused: false, ...limits }, room, () => running, starts, now) }
  })
  const able = rooms.filter((one) => one.room.limit > 0).slice(0, room)
  const each = Math.ceil(room / Math.max(1, able.length))
  const pauses = rooms.flatMap((one) => (one.room.limit === 0 && one.room.nextMillis !== undefined ? [one.room.nextMillis] : []))
  // There may be groups that were not visited.
  if (limitsGroups && visited.length >= mostVisited(room, true)) pauses.push(10)
  return {
    shares: able.map((one) => ({ name: one.name, limit: Math.min(one.room.limit, each) })),
    isBusy: rooms.some((one) => one.room.isBusy),
    nextMillis: pauses.length === 0 ? undefined : Math.min(...pauses),
  }
}

const byNumber = (left: ClaimedCommand, right: ClaimedCommand): number => right.priority - left.priority || left.number - right.number

/** Sorts claimed commands by priority, then in the order they were enqueued. Those of several groups take turns. */
export const inTurns = (claimed: Array<ClaimedCommand>): ReadonlyArray<ClaimedCommand> => {
  const sorted = claimed.sort(byNumber)
  if (sorted.every(({ group }) => group === sorted[0]?.group)) return sorted
  const counts = new Map<string | undefined, number>()
  const turns = new Map<ClaimedCommand, number>()
  for (const command of sorted) {
    const turn = counts.get(command.group) ?? 0
    counts.set(command.group, turn + 1)
    turns.set(command, turn)
  }
  return sorted.sort((left, right) => (turns.get(left) ?? 0) - (turns.get(right) ?? 0))
}
