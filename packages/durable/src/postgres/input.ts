/** The one parameter of the commit statement: a JSON array of arrays, in the order of the columns of its `input`. */

import { dedupeIdsOf } from "../sql/Duplicate.ts"
import type { Commit } from "../store/Commit.ts"

/** A commit and its position in the batch. */
export type Positioned = readonly [position: number, commit: Commit]

/** Every batch locks its instances in the same order, so that two of them do not wait for each other. */
export const inOrder = (commits: ReadonlyArray<Commit>): ReadonlyArray<Positioned> =>
  commits.map((commit, position): Positioned => [position, commit]).sort(byName)

const byName = ([, left]: Positioned, [, right]: Positioned): number => {
  if (left.machine !== right.machine) return left.machine < right.machine ? -1 : 1
  return left.id < right.id ? -1 : 1
}

/** What is undefined becomes null. */
export const inputOf = ([position, commit]: Positioned): ReadonlyArray<unknown> => {
  const { summary, events, setTimers, clearTimers, snapshot, commands, fence } = commit
  const [first, ...more] = events
  const names = setTimers.map(({ name }) => name)
  const isNew = commit.expected < 0
  return [
    position,
    commit.machine,
    commit.id,
    commit.expected,
    commit.sequence,
    commit.at,
    summary.tag,
    summary.status,
    summary.reason,
    summary.version,
    summary.resident,
    commit.origin,
    first?.sequence,
    first?.at,
    first?.tag,
    first?.body,
    first?.dedupeId,
    unlessEmpty(more.map(({ sequence, at, tag, body, dedupeId }) => [sequence, at, tag, body, dedupeId])),
    isNew ? null : unlessEmpty(dedupeIdsOf(commit)),
    snapshot === undefined ? null : [snapshot.sequence, snapshot.at, snapshot.version, snapshot.body],
    unlessEmpty(setTimers.map(({ name, entry, due }) => [name, entry, Math.ceil(due)])),
    clearTimers === "all" ? null : unlessEmpty(clearTimers.filter((name) => !names.includes(name))),
    // A new instance has no timers to clear.
    clearTimers === "all" && !isNew ? names : null,
    unlessEmpty(
      commands.map(({ key, slot, parameters, sequence, queue = commit.machine, priority = 0, ordered = false }) => [
        key,
        slot,
        parameters,
        sequence,
        queue,
        priority,
        ordered,
      ]),
    ),
    fence?.lease,
    fence?.token,
  ]
}

/** The parameter of the question why a commit was refused. */
export const questionOf = ([position, commit]: Positioned): ReadonlyArray<unknown> => [
  position,
  commit.machine,
  commit.id,
  dedupeIdsOf(commit),
  commit.fence?.lease,
]

const unlessEmpty = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> | null => (values.length === 0 ? null : values)
