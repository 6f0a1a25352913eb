/** The first commit of an instance. */
import { type Beginning, InvalidState, type PersistenceFailed } from "@detent/machine"
import type { Node, Tagged } from "@detent/machine/internal"
import type { Commit, CommitOutcome, OpenedInstance } from "@detent/store"
import { retryFailed } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Unconfirmed } from "../runtime/GroupCommit.ts"
import { delayedAtStart, delayTimerOf } from "./DelayedEvents.ts"
import type { CommitContext } from "./InstanceCommit.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"
import { commandRecords } from "./PendingEvent.ts"
import { encodeOrigin, type Started } from "./Replay.ts"
import { owedTimer } from "./SelfSentEvents.ts"

/** Returns an error where the state cannot be stored. */
export const newInstanceCommit = (
  context: Pick<CommitContext, "placement" | "limits">,
  registered: RegisteredMachine,
  id: string,
  beginning: Beginning<Tagged, Tagged>,
  at: number,
  started: Started = {},
): Commit | InvalidState => {
  const { name: machine } = registered
  const { _tag: state } = beginning.state
  const unindexed = registered.indexes?.problem(beginning.state)
  if (unindexed !== undefined) return new InvalidState({ machine, id, state, problem: unindexed })
  try {
    const commit = commitOf(context, registered, id, beginning, at, started)
    const size = commit.origin?.length ?? 0
    const { stateSize } = context.limits
    if (size <= stateSize) return commit
    return new InvalidState({
      machine,
      id,
      state,
      problem: `it takes ${size} characters as JSON, the limit is ${stateSize}; keep a reference`,
    })
  } catch (cause) {
    return new InvalidState({ machine, id, state, problem: cause instanceof Error ? cause.message : String(cause) })
  }
}

const commitOf = (
  { placement }: Pick<CommitContext, "placement">,
  registered: RegisteredMachine,
  id: string,
  beginning: Beginning<Tagged, Tagged>,
  at: number,
  started: Started,
): Commit => {
  const { state, requests, timers, sends } = beginning
  const node = registered.compiled.nodes.get(state._tag) as Node
  const needsOwner = !node.final && registered.hasWork(node, state)
  const becomesOwner = needsOwner && registered.runsWork
  return {
    machine: registered.name,
    id,
    expected: -1,
    // Commits of one batch have the same properties in the same order, for the compiler of JavaScript.
    startedAt: undefined,
    revision: undefined,
    sequence: 0,
    at,
    summary: {
      tag: state._tag,
      status: node.final ? "final" : "running",
      reason: undefined,
      version: registered.version,
      needsOwner,
      owner: becomesOwner ? placement?.node() : undefined,
      owes: false,
    },
    origin: encodeOrigin(registered.codec, registered.version, beginning, at, started),
    events: [],
    snapshot: undefined,
    clearTimers: [],
    setTimers: node.final
      ? []
      : [
          ...timers.map(({ name, millis }) => ({ name, entry: 0, due: at + millis })),
          ...delayedAtStart(beginning, at).map(delayTimerOf),
          ...(sends.length === 0 ? [] : [owedTimer(0, at)]),
        ],
    commands: commandRecords(registered, { machine: registered.name, id }, requests, 0),
    fence: becomesOwner || placement?.routing !== undefined ? placement?.fence() : undefined,
    fields: registered.indexes?.encode(state),
  }
}

/** Stores the first commit together with commits of other instances. */
export const storeNew = (
  context: Pick<CommitContext, "groupCommit" | "journal" | "storeRetry">,
  commit: Commit,
): Effect.Effect<CommitOutcome, PersistenceFailed> =>
  confirmed(
    context,
    commit,
    Effect.callback<CommitOutcome | Unconfirmed>((resume) => {
      context.groupCommit.enqueue({ takeCommit: () => commit, committed: (outcome) => resume(Effect.succeed(outcome)) })
    }),
  )

/** Stores the first commit by `store`, until the store answers. After an attempt without an answer, reads the journal. */
export const confirmed = (
  { journal, storeRetry }: Pick<CommitContext, "journal" | "storeRetry">,
  commit: Commit,
  store: Effect.Effect<CommitOutcome | Unconfirmed>,
): Effect.Effect<CommitOutcome, PersistenceFailed> => {
  let isUnconfirmed = false
  const attempt = Effect.flatMap(store, (outcome): Effect.Effect<CommitOutcome, PersistenceFailed> => {
    // An attempt that was not confirmed may have been stored before the next was refused.
    const isRefused = outcome._tag === "Conflict" || outcome._tag === "Fenced"
    if (outcome._tag !== "Unconfirmed" && !(isRefused && isUnconfirmed)) return Effect.succeed(outcome)
    isUnconfirmed = true
    return Effect.flatMap(journal.open(commit), (found): Effect.Effect<CommitOutcome, PersistenceFailed> => {
      if (Option.isNone(found)) return outcome._tag === "Unconfirmed" ? Effect.fail(outcome.error) : Effect.succeed(outcome)
      return Effect.succeed(isOurs(commit, found.value) ? { _tag: "Stored" } : { _tag: "Conflict", actual: found.value.record.sequence })
    })
  })
  return retryFailed(attempt, { schedule: storeRetry })
}

/** Whether this commit started the stored instance, which may have got further events since. */
export const isOurs = (commit: Commit, { record, origin }: OpenedInstance): boolean =>
  record.startedAt === commit.at && origin === commit.origin && record.sequence >= commit.sequence
