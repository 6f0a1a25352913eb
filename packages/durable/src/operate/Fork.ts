/** Starts a new instance from a past state of another one, to try other events from there or to reproduce a fault. */
import { type ActorExists, type InvalidState, type MachineStopped, PersistenceFailed } from "@detent/machine"
import { type Node, timersOnEnter } from "@detent/machine/internal"
import type { Commit, InstanceKey } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { EngineParts } from "../engine/EngineParts.ts"
import { InstanceNotFound, instanceExists, invalidId, noInstance, reached, type SequenceNotReached } from "../errors.ts"
import type { OpenError } from "../live/InstanceTable.ts"
import { retryOnChange } from "../live/retryOnChange.ts"
import { delayTimerOf } from "../machine/DelayedEvents.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { confirmed } from "../machine/NewInstance.ts"
import { forkedOrigin, recover } from "../machine/Replay.ts"
import { owedTimer } from "../machine/SelfSentEvents.ts"
import { encodeSnapshot } from "../machine/SnapshotBody.ts"

export interface ForkOptions {
  /** Who makes the fork: kept with what it was made from, as long as the journal has its first state. */
  readonly by?: string
}

const lostLease = new Error("this node has lost its lease, and the instance is not stored; fork it again")

/**
 * The timeouts of the new instance start anew: those of the old instance have passed, or belong to it. Its delayed events wait for
 * the time that remained at that sequence, and the self-sent events that were not handled there are decided next.
 */
export const forkInstance = (
  engine: EngineParts,
  registered: RegisteredMachine,
  id: string,
  through: number,
  newId: string,
  { by }: ForkOptions = {},
): Effect.Effect<void, ActorExists | InvalidState | MachineStopped | OpenError | SequenceNotReached> =>
  Effect.gen(function* () {
    const invalid = invalidId(registered.name, newId)
    if (invalid !== undefined) return yield* Effect.fail(invalid)
    if (engine.table.isClosed) return yield* Effect.fail(engine.table.stoppedError({ machine: registered.name, id: newId }))
    const from = { machine: registered.name, id }
    const missing = noInstance(from)
    if (missing !== undefined) return yield* Effect.fail(missing)
    const found = yield* engine.journal.open(from)
    if (Option.isNone(found)) return yield* Effect.fail(new InstanceNotFound(from))
    const { opened, recovered } = yield* retryOnChange(engine.journal, found.value, (opened) =>
      Effect.andThen(
        reached(opened.record, through),
        Effect.map(recover(registered, engine.journal, opened, through), (recovered) => ({ opened, recovered })),
      ),
    )
    const at = Math.floor(yield* registered.environment.clock.currentTimeMillis)
    const node = registered.compiled.nodes.get(recovered.state._tag) as Node
    const runsHere = registered.runsWork && engine.table.isLocal({ machine: registered.name, id: newId })
    const running = recovered.stopped === undefined && !node.final
    const needsOwner = running && registered.hasWork(node, recovered.state)
    const delayed = running
      ? recovered.delayed.map((one) => ({ ...one, entry: recovered.sequence, due: at + Math.max(0, one.due - recovered.at) }))
      : []
    const selfSent = running ? recovered.selfSent : []
    const commit: Commit = {
      machine: registered.name,
      id: newId,
      expected: -1,
      sequence: recovered.sequence,
      at,
      summary: {
        tag: node.tag,
        status: recovered.stopped !== undefined ? "stopped" : node.final ? "final" : "running",
        reason: recovered.stopped,
        version: registered.version,
        needsOwner,
        owner: needsOwner && runsHere ? engine.node?.placement?.node() : undefined,
        owes: false,
      },
      origin:
        opened.origin === undefined
          ? undefined
          : forkedOrigin(opened.origin, { id, sequence: recovered.sequence, at, ...(by === undefined ? {} : { by }) }),
      events: [],
      snapshot: {
        sequence: recovered.sequence,
        at: recovered.at,
        version: registered.version,
        body: encodeSnapshot(registered.codec, { ...recovered, previous: recovered.past.at(-1), delayed, selfSent }),
      },
      clearTimers: [],
      setTimers: running
        ? [
            ...timersOnEnter(node, recovered.state, at).map(({ name, millis }) => ({ name, entry: recovered.sequence, due: at + millis })),
            ...delayed.map(delayTimerOf),
            ...(selfSent.length === 0 ? [] : [owedTimer(recovered.sequence, at)]),
          ]
        : [],
      commands: [],
      fence: needsOwner && runsHere ? engine.node?.placement?.fence() : undefined,
      fields: registered.indexes?.encode(recovered.state),
    }
    const forked = { machine: registered.name, id: newId }
    const store = Effect.flatMap(storeFork(engine, from, commit), (outcome): Effect.Effect<void, ActorExists | PersistenceFailed> => {
      if (outcome._tag === "Stored") return Effect.void
      if (outcome._tag === "PersistenceFailed") return Effect.fail(outcome)
      if (outcome._tag === "Fenced") return Effect.fail(new PersistenceFailed({ ...forked, operation: "fork", cause: lostLease }))
      return Effect.flip(instanceExists(engine.journal, forked))
    })
    yield* engine.table.add(forked, store, engine.remote.wake(forked))
  })

const storeFork = ({ journal, context }: EngineParts, from: InstanceKey, commit: Commit) =>
  confirmed(
    context,
    commit,
    Effect.match(journal.fork(from, commit.sequence, commit), {
      onFailure: (error) => ({ _tag: "Unconfirmed" as const, error }),
      onSuccess: (outcome) => outcome,
    }),
  )
