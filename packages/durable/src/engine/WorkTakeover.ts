/**
 * Every instance whose state has work is run by one live node. This loop looks for owners that are not alive, and for instances
 * without an owner, and takes them over by compare-and-set: of several nodes that try, one gets each instance.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { LiveInstance } from "../instance/LiveInstance.ts"
import { forkLoop } from "../runtime/BackgroundLoop.ts"
import type { InstanceKey } from "../store/Commit.ts"
import type { InstanceRecord } from "../store/Journal.ts"
import type { EngineParts } from "./EngineParts.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"
import type { PlacementService } from "./Placement.ts"

/** How many instances are taken over by one statement. */
const pageSize = 500

/** A node looks for dead owners this often. With the lease it gives the time until work is taken over. */
const intervalMillis = 500

/** The parts of the engine that it uses. */
type Parts = Pick<EngineParts, "journal" | "registry" | "table" | "follower">

export class WorkTakeover {
  readonly #engine: Parts
  readonly #placement: PlacementService

  constructor(engine: Parts, placement: PlacementService) {
    this.#engine = engine
    this.#placement = placement
  }

  /** Takes over one instance that is being opened, where its owner is not alive. Returns its owner after that. */
  claim({ machine, id, owner }: InstanceRecord): Effect.Effect<string | undefined, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const node = this.#placement.node()
      if (owner === node || this.#placement.fence() === undefined) return owner
      if (!(yield* this.#isDead(owner))) return owner
      const taken = yield* this.#engine.journal.changeOwner([{ machine, id }], owner, node)
      return taken.length > 0 ? node : owner
    })
  }

  /** Whether an owner cannot commit any more. An instance without an owner may be taken over at once. */
  #isDead(owner: string | undefined): Effect.Effect<boolean> {
    if (owner === undefined) return Effect.succeed(true)
    return Effect.flatMap(this.#placement.isAlive(owner), (isAlive) => (isAlive ? Effect.succeed(false) : this.#placement.bury(owner)))
  }

  /** Looks repeatedly for as long as the scope lasts, and at once when this node has a new life. */
  start(): Effect.Effect<void, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#engine
      const woken = Latch.makeUnsafe(false)
      const unsubscribe = [
        this.#placement.onLost(() => {
          for (const live of [...table.all]) live.ownershipLost()
        }),
        this.#placement.onRegained(() => woken.openUnsafe()),
      ]
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const stop of unsubscribe) stop()
        }),
      )
      const turn = Effect.gen({ self: this }, function* () {
        woken.closeUnsafe()
        for (const machine of this.#engine.registry.all) yield* this.takeOver(machine)
        yield* Effect.timeoutOption(woken.await, Math.ceil(intervalMillis * (0.8 + 0.4 * (yield* Random.next))))
      })
      yield* forkLoop("takeover of state work", turn)
    })
  }

  /** Takes over the instances of a machine whose owner is not alive, and starts their work here. */
  takeOver(machine: RegisteredMachine): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      if (!machine.mayHaveWork) return
      for (const owner of yield* this.#engine.journal.owners(machine.name)) {
        if (this.#engine.table.isClosed) return
        if (owner !== this.#placement.node() && (yield* this.#isDead(owner))) yield* this.#takeOverFrom(machine, owner)
      }
    })
  }

  /** Pages by id: what was taken over has another owner, and what others took over is skipped. */
  #takeOverFrom(machine: RegisteredMachine, owner: string | undefined): Effect.Effect<void, PersistenceFailed> {
    const { journal, table } = this.#engine
    return Effect.gen({ self: this }, function* () {
      for (let after: string | undefined; ; ) {
        const page = yield* journal.page({ machine: machine.name, owner: owner ?? null }, pageSize, after)
        const last = page.at(-1)
        // An older version of the machine must not run what a newer one wrote.
        const keys = page.filter(({ version }) => version <= machine.version)
        // A node that has lost its lease meanwhile must not take anything.
        if (last === undefined || table.isClosed || this.#placement.fence() === undefined) return
        const node = this.#placement.node()
        const taken = keys.length === 0 ? [] : yield* journal.changeOwner(keys, owner, node)
        yield* this.#run(machine, taken, node)
        if (page.length < pageSize) return
        after = last.id
      }
    })
  }

  /**
   * Starts the work of instances whose rows name this node as owner. A store that fails is tried again for as long as the node
   * lives: no other node looks at these instances any more.
   */
  #run(machine: RegisteredMachine, taken: ReadonlyArray<InstanceKey>, node: string): Effect.Effect<void, PersistenceFailed> {
    const { table } = this.#engine
    return Effect.gen({ self: this }, function* () {
      const inMemory = taken.flatMap((key) => table.find(key) ?? [])
      yield* Effect.forEach(inMemory, (live) => this.#runInMemory(live, node), { concurrency: "unbounded", discard: true })
      yield* table.openAll(machine, taken)
    }).pipe(Effect.retry({ schedule: Schedule.spaced("250 millis"), while: () => this.#placement.node() === node && !table.isClosed }))
  }

  /** The owner before may have committed what this node has not read: the work of a state that was left must not start. */
  #runInMemory(live: LiveInstance, node: string): Effect.Effect<void, PersistenceFailed> {
    return this.#engine.follower.catchUp(live).pipe(
      Effect.tap(() => Effect.sync(() => live.own(node))),
      Effect.catchTag(["EventReplayError", "InstanceNotFound"], (error) =>
        Effect.logWarning(`the work of ${live.key.machine} ${live.key.id} does not run: ${error.message}`),
      ),
      Effect.asVoid,
    )
  }
}
