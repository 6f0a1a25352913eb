/** The first commit of an instance. */
import { type Beginning, InvalidState, type PersistenceFailed } from "@detent/machine"
import { hasWork, type Node, type Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { InstanceContext } from "../instance/InstanceContext.ts"
import { encodeOrigin } from "../instance/Replay.ts"
import { commandRecords } from "../instance/Step.ts"
import type { Doubtful } from "../runtime/GroupCommit.ts"
import type { Commit, CommitOutcome } from "../store/Commit.ts"
import type { OpenedInstance } from "../store/Journal.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"

/** What cannot be kept is refused before anything is stored. */
export const newInstanceCommit = (
  registered: RegisteredMachine,
  id: string,
  beginning: Beginning<Tagged, Tagged>,
  at: number,
): Commit | InvalidState => {
  const { name: machine } = registered
  const { _tag: state } = beginning.state
  if (!isId(id)) return new InvalidState({ machine, state, problem: noId })
  try {
    return commitOf(registered, id, beginning, at)
  } catch (cause) {
    return new InvalidState({ machine, id, state, problem: cause instanceof Error ? cause.message : String(cause) })
  }
}

export const isId = (id: unknown): boolean => typeof id === "string" && id !== ""

export const noId = "its id is empty; give it one"

const commitOf = (registered: RegisteredMachine, id: string, beginning: Beginning<Tagged, Tagged>, at: number): Commit => {
  const { state, requests, timers } = beginning
  const node = registered.compiled.nodes.get(state._tag) as Node
  return {
    machine: registered.name,
    id,
    expected: -1,
    sequence: 0,
    at,
    summary: {
      tag: state._tag,
      status: node.final ? "final" : "running",
      reason: undefined,
      version: registered.version,
      resident: !node.final && hasWork(node, state),
    },
    origin: encodeOrigin(registered.codec, registered.version, beginning),
    events: [],
    snapshot: undefined,
    clearTimers: [],
    setTimers: timers.map(({ name, millis }) => ({ name, entry: 0, due: at + millis })),
    commands: commandRecords(registered, { machine: registered.name, id }, requests, 0),
    fence: undefined,
  }
}

/** Where the store does not say whether it stored, it is asked. */
export const storeNew = (
  { committer, journal, doubt }: Pick<InstanceContext, "committer" | "journal" | "doubt">,
  commit: Commit,
): Effect.Effect<CommitOutcome, PersistenceFailed> => {
  let doubted = false
  const attempt = Effect.flatMap(
    Effect.callback<CommitOutcome | Doubtful>((resume) => {
      committer.enqueue({ takeCommit: () => commit, committed: (outcome) => resume(Effect.succeed(outcome)) })
    }),
    (outcome): Effect.Effect<CommitOutcome, PersistenceFailed> => {
      // An attempt that the store failed at may have arrived before the next.
      if (outcome._tag !== "Doubtful" && !(outcome._tag === "Conflict" && doubted)) return Effect.succeed(outcome)
      doubted = true
      return Effect.flatMap(journal.open(commit), (found) => {
        if (Option.isNone(found)) return outcome._tag === "Doubtful" ? Effect.fail(outcome.error) : Effect.succeed(outcome)
        return Effect.succeed(isOurs(commit, found.value) ? { _tag: "Stored" } : { _tag: "Conflict", actual: found.value.record.sequence })
      })
    },
  )
  return Effect.retry(attempt, { schedule: doubt })
}

/** Whether what the store has is what this commit was to store. */
export const isOurs = (commit: Commit, { record, origin }: OpenedInstance): boolean =>
  record.startedAt === commit.at && origin === commit.origin && record.sequence === 0
