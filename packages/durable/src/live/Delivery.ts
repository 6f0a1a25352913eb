/**
 * Delivers events to an instance wherever it is: in memory here, in the store, or on another node. Handles, commands, and instances that
 * leave memory with events use it. Only the receiver of requests from other nodes does not: it refuses what it does not have.
 */
import type { InstanceNotFound, SendError, Taken } from "@detent/machine"
import { asDecision, asVoid, type Environment, outcome, type Result, type Tagged } from "@detent/machine/internal"
import type { InstanceKey } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { InstanceNotFound as NotFound } from "../errors.ts"
import type { Envelope } from "../machine/Envelope.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import type { InstanceContext } from "./InstanceContext.ts"
import type { InstanceTable, OpenError } from "./InstanceTable.ts"
import type { LiveInstance } from "./LiveInstance.ts"
import type { RemoteInstances } from "./RemoteInstances.ts"
import { isRemoved } from "./UnconfirmedCommits.ts"

/** How a sender gets its answer: from the instance here, or from another node. */
export interface Answered<A> {
  readonly read: (result: Result) => Exit.Exit<A, SendError | InstanceNotFound>
  readonly remotely: (
    remote: RemoteInstances,
    ...sent: Parameters<RemoteInstances["send"]>
  ) => Effect.Effect<A, SendError | InstanceNotFound>
}

/** The sender only needs to know that the event was accepted. */
export const accepted: Answered<void> = {
  read: (result) => notFound(result) ?? asVoid(result),
  remotely: (remote, ...sent) => remote.send(...sent),
}

/** The sender gets the decision. */
export const decided: Answered<Taken<Tagged, Tagged>> = {
  read: (result) => notFound(result) ?? asDecision(result),
  remotely: (remote, ...sent) => remote.call(...sent),
}

/** The failure where the instance was in memory and another process has removed it; undefined otherwise. */
const notFound = (result: Result): Exit.Exit<never, InstanceNotFound> | undefined =>
  isRemoved(result) ? Exit.fail(new NotFound({ machine: result.machine, id: result.id })) : undefined

/** Reads an instance that is not in memory. */
type Open = (key: InstanceKey) => Effect.Effect<LiveInstance, OpenError>

export class Delivery {
  readonly #table: InstanceTable
  readonly #remote: RemoteInstances
  readonly #context: Pick<InstanceContext, "isKept" | "isLocal">
  readonly #environment: Environment

  constructor(
    table: InstanceTable,
    remote: RemoteInstances,
    context: Pick<InstanceContext, "isKept" | "isLocal">,
    environment: Environment,
  ) {
    this.#table = table
    this.#remote = remote
    this.#context = context
    this.#environment = environment
  }

  /** Delivers an event, and waits for its answer. `inMemory`: the instance, where the caller has looked it up already. */
  deliver<A>(
    registered: RegisteredMachine,
    id: string,
    envelope: Envelope,
    answered: Answered<A>,
    open: Open,
    inMemory?: LiveInstance,
  ): Effect.Effect<A, SendError | InstanceNotFound> {
    const key = { machine: registered.name, id }
    const routing = this.#remote.routeTo(key)
    if (routing !== undefined) return answered.remotely(this.#remote, routing, registered, id, envelope.event, envelope)
    const live = inMemory ?? this.#table.find(key)
    if (live !== undefined) return outcome(live.deliver(envelope), answered.read)
    return Effect.flatMap(open(key), (opened) => {
      const found = this.#table.find(key)
      // The engine may have been stopped while the instance was read.
      if (this.#table.isClosed && found === undefined) return Effect.fail(this.#table.stoppedError(key))
      // It may have moved to another node, or to this one, since it was read.
      const hasMoved = this.#remote.routeTo(key) !== undefined || (opened.record.isRunning && !this.#context.isKept(opened))
      if (hasMoved) return this.deliver(registered, id, envelope, answered, open)
      return outcome(opened.deliver(envelope), answered.read)
    })
  }

  /**
   * Delivers events and due timers of an instance that has left memory to the one that has its id now, in order. Nothing waits for the
   * answers: senders get them through their envelopes. Where there is no such instance, they get the error.
   */
  sendOn(key: InstanceKey, envelopes: ReadonlyArray<Envelope>, error: SendError) {
    const refuse = (refusal: SendError) => {
      for (const envelope of envelopes) envelope.complete(refusal)
    }
    if (this.#table.isClosed) return refuse(error)
    if (!this.#context.isLocal(key)) {
      for (const envelope of envelopes) this.#environment.run(this.#remote.forward(key, envelope))
      return
    }
    const opened = Effect.match(this.#table.open(key), {
      onFailure: (failure) => refuse(failure._tag === "InstanceNotFound" ? error : failure),
      onSuccess: (live) => {
        for (const envelope of envelopes) {
          if (envelope.timer === undefined) live.deliver(envelope)
          else envelope.follow(live.fire(envelope.timer))
        }
      },
    })
    this.#environment.run(opened)
  }
}
