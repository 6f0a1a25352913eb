/**
 * Every instance whose state has work is run by one live node. This loop looks for owners that are not alive, and for instances
 * without an owner, and takes them over by compare-and-set: of several nodes that try, one gets each instance.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { InstanceKey, InstanceRecord, JournalService, KeyFilter, OpenedInstance } from "@detent/store"
import { forkLoop } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { MachineRegistry, RegisteredMachine } from "../machine/MachineRegistry.ts"
import type { NodeMembership } from "../nodes/NodeMembership.ts"
import { isGone, type PlacementService } from "../nodes/Placement.ts"
import type { ChangeFollower } from "./ChangeFollower.ts"
import type { InstanceTable } from "./InstanceTable.ts"
import type { LiveInstance } from "./LiveInstance.ts"

/** How many instances are taken over by one statement. */
const pageSize = 500

/**
 * The first page is smaller: its work runs, and its commits are stored, while the next pages are read. With a first page of 100, the
 * small flushes of the first instances kept the others waiting: 1,000 instances were done after 1.2 times as long.
 */
const firstPageSize = 250

/** While other nodes own work, a node checks for dead owners this often. Lease plus interval give the time until work is taken over. */
const intervalMillis = 500
const longestIntervalMillis = 5000

/**
 * How long after the end of a lease a node checks whether it was extended. Nodes that wait for the same lease check at different
 * times, so that most of them find its work already taken over.
 */
const afterEndMillis = { least: 10, most: 60 }

/** The wait for an instance in memory that is behind its row, before the row is read again. */
const behindMillis = 50

/** The parts of the engine that the takeover uses. */
interface Parts {
  readonly journal: JournalService
  readonly registry: MachineRegistry
  readonly table: InstanceTable
  readonly follower: ChangeFollower
  /** Asks the node that has an instance to open it. */
  readonly wake: (key: InstanceKey) => void
}

export class WorkTakeover {
  readonly #engine: Parts
  readonly #node: NodeMembership
  readonly #aloneMillis: number
  readonly #passes = Semaphore.makeUnsafe(1)
  /** Machines for which the store did not confirm a change of owners. */
  readonly #unconfirmed = new Set<string>()
  readonly #woken = Latch.makeUnsafe(false)
  /** This node has gained shards since the last pass: the instances in them that other nodes owned are placed on this node now. */
  #hasGained = false

  /** `leaseMillis`: the time of a lease. A node that is alone checks twice in that time, and so sees others in time. */
  constructor(engine: Parts, node: NodeMembership, leaseMillis: number) {
    this.#engine = engine
    this.#node = node
    this.#aloneMillis = Math.max(intervalMillis, Math.min(leaseMillis / 2, longestIntervalMillis))
  }

  /** This node has gained instances: it checks immediately. */
  gained() {
    this.#hasGained = true
    this.#woken.openUnsafe()
  }

  /** Takes over one instance that is being opened, if its owner is not alive. Returns the owner after that. */
  claim({ machine, id, owner }: Pick<InstanceRecord, "machine" | "id" | "owner">): Effect.Effect<string | undefined, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const placement = this.#node.placement
      if (this.#engine.registry.get(machine)?.runsWork !== true) return owner
      if (placement === undefined || placement.fence() === undefined || !this.#engine.table.isLocal({ machine, id })) return owner
      const node = placement.node()
      // If instances are divided between nodes, this node has the instance: a node that is still stored as its owner has given it up.
      if (owner === node || (placement.routing === undefined && !(yield* isGone(placement, owner)))) return owner
      const taken = yield* this.#unconfirmedUnlessDone(machine, this.#engine.journal.changeOwner([{ machine, id }], owner, node))
      if (taken.length > 0) return node
      // Another node has taken it over first, or the loop of this node has.
      const now = yield* this.#engine.journal.open({ machine, id })
      return Option.match(now, { onNone: () => owner, onSome: ({ record }) => record.owner })
    })
  }

  /** Checks the owners of all instances of the registered machines. */
  start(): Effect.Effect<void, never, Scope.Scope> {
    return this.#repeat((hasGained) =>
      Effect.map(
        Effect.forEach(this.#engine.registry.all, (machine) => this.takeOver(machine, hasGained)),
        (areShared) => areShared.includes(true),
      ),
    )
  }

  /** Checks only instances that are open here, for a process that resumes no others: their owner may die after they were opened. */
  startOpened(): Effect.Effect<void, never, Scope.Scope> {
    return this.#repeat(() => this.#takeOverOpened())
  }

  /** Returns whether other nodes own work of instances that are open here. */
  #takeOverOpened(): Effect.Effect<boolean, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#engine
      const placement = this.#node.placement
      let isShared = false
      for (const live of [...table.all]) {
        if (placement === undefined || table.isClosed) return false
        const { key } = live
        const { owner } = live.work
        const node = placement.node()
        if (owner === undefined || owner === node) continue
        if ((yield* this.claim({ ...key, owner })) === node) yield* this.#runInMemory(live, node)
        else isShared = true
      }
      return isShared
    })
  }

  /** Repeats the pass for as long as the scope lasts. Begins when this process is a node. A new lease of the node ends the pause. */
  #repeat(pass: (hasGained: boolean) => Effect.Effect<boolean, PersistenceFailed>): Effect.Effect<void, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#engine
      const joined = Latch.makeUnsafe(false)
      const subscriptions: Array<() => void> = []
      this.#node.onJoined((placement) => {
        const lost = () => {
          for (const live of [...table.all]) live.ownershipLost()
        }
        subscriptions.push(
          placement.onLost(lost),
          placement.onRegained(() => this.#woken.openUnsafe()),
        )
        joined.openUnsafe()
      })
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const unsubscribe of subscriptions) unsubscribe()
        }),
      )
      const turn = Effect.gen({ self: this }, function* () {
        yield* joined.await
        this.#woken.closeUnsafe()
        const hasGained = this.#hasGained
        this.#hasGained = false
        const isShared = yield* Effect.tapError(pass(hasGained), () =>
          Effect.sync(() => {
            this.#hasGained ||= hasGained
          }),
        )
        const chance = yield* Random.next
        const pause = (isShared ? intervalMillis : this.#aloneMillis) * (0.8 + 0.4 * chance)
        // The lease of a node that missed its heartbeats may end before the next pass.
        const end = this.#node.placement?.nextEnd?.() ?? Number.POSITIVE_INFINITY
        const afterEnd = end + afterEndMillis.least + (afterEndMillis.most - afterEndMillis.least) * chance
        yield* Effect.timeoutOption(this.#woken.await, Math.ceil(Math.min(pause, afterEnd)))
      })
      yield* forkLoop("takeover of state work", turn)
    })
  }

  /**
   * Takes over the instances of a machine whose owner is not alive, and starts their work here. One pass at a time. Returns whether
   * other nodes own work of the machine. `isNew`: the machine or some shards are new to this node. If instances are divided between
   * nodes, it then takes over the instances in its shards that other nodes still own.
   */
  takeOver(machine: RegisteredMachine, isNew: boolean): Effect.Effect<boolean, PersistenceFailed> {
    const pass = Effect.gen({ self: this }, function* () {
      const placement = this.#node.placement
      if (!machine.mayHaveWork || !machine.runsWork || placement === undefined) return false
      const hasGained = isNew && placement.routing !== undefined
      const owners = yield* this.#engine.journal.owners(machine.name)
      for (const owner of owners) {
        if (this.#engine.table.isClosed) return false
        if (owner === placement.node()) yield* this.#runOwn(machine, placement, owner, hasGained)
        else if (hasGained || (yield* isGone(placement, owner))) yield* this.#takeOverFrom(machine, placement, owner)
      }
      return owners.some((owner) => owner !== placement.node())
    })
    return this.#passes.withPermit(pass)
  }

  /** If a change of owners fails, the store may have made it anyway: the next pass looks for the instances of the machine. */
  #unconfirmedUnlessDone<A>(machine: string, change: Effect.Effect<A, PersistenceFailed>): Effect.Effect<A, PersistenceFailed> {
    return Effect.tapError(change, () => Effect.sync(() => this.#unconfirmed.add(machine)))
  }

  /**
   * Runs instances that have this node as their owner and do not run here: the store did not confirm that this node is their owner
   * now, or they left this node and came back before another had become their owner.
   */
  #runOwn(
    machine: RegisteredMachine,
    placement: PlacementService,
    node: string,
    hasGained: boolean,
  ): Effect.Effect<void, PersistenceFailed> {
    const { journal, table } = this.#engine
    return Effect.gen({ self: this }, function* () {
      if (!hasGained && !this.#unconfirmed.has(machine.name)) return
      for (let after: string | undefined; ; ) {
        const page = yield* journal.page({ machine: machine.name, owner: node, ...shardsOf(placement) }, pageSize, after)
        const idle = page.filter((record) => table.find(record)?.work.isRunning !== true)
        yield* this.#run(machine, placement, yield* journal.openAll(idle), node)
        if (page.length < pageSize) break
        after = page.at(-1)?.id
      }
      this.#unconfirmed.delete(machine.name)
    })
  }

  /**
   * Pages by id: instances that were taken over have another owner, and those that others took over are skipped. The next page is taken
   * over while the instances of the one before are being replayed. An older version of the machine must not run instances of a newer one.
   */
  #takeOverFrom(
    machine: RegisteredMachine,
    placement: PlacementService,
    owner: string | undefined,
  ): Effect.Effect<void, PersistenceFailed> {
    const { journal, table } = this.#engine
    let opening: Effect.Effect<void, PersistenceFailed> = Effect.void
    const pages = Effect.gen({ self: this }, function* () {
      const filter = { machine: machine.name, owner: owner ?? null, newestVersion: machine.version }
      for (let after: string | undefined, limit = firstPageSize; ; limit = pageSize) {
        // A node that has lost its lease meanwhile must not take over anything.
        if (table.isClosed || placement.fence() === undefined) return
        const node = placement.node()
        const taking = journal.takeOver({ ...filter, ...shardsOf(placement) }, node, limit, after)
        const { opened, next } = yield* this.#unconfirmedUnlessDone(machine.name, taking)
        yield* opening
        opening = Fiber.join(yield* Effect.forkChild(this.#run(machine, placement, opened, node)))
        if (next === undefined) return
        after = next
      }
    })
    return Effect.gen(function* () {
      const exit = yield* Effect.exit(pages)
      // The instances that were taken over are opened even if the next page cannot be read.
      yield* opening
      return yield* exit
    })
  }

  /**
   * Starts the work of instances whose rows name this node as owner. A store that fails is tried again for as long as the node
   * lives: no other node checks these instances. They are then read again, since they may have changed.
   */
  #run(
    machine: RegisteredMachine,
    placement: PlacementService,
    taken: ReadonlyArray<OpenedInstance>,
    node: string,
  ): Effect.Effect<void, PersistenceFailed> {
    const { table } = this.#engine
    const keys = taken.map(({ record: { machine, id } }) => ({ machine, id }))
    let isFirst = true
    return Effect.gen({ self: this }, function* () {
      // An instance that moved to another node meanwhile still has this node as its stored owner: the other node must open it.
      for (const key of keys) if (!table.isLocal(key)) this.#engine.wake(key)
      const opening = isFirst ? table.openTaken(machine, taken) : table.openAll(machine, keys)
      isFirst = false
      yield* opening
      const idle = keys.flatMap((key) => table.find(key) ?? []).filter((live) => !live.work.isRunning)
      yield* Effect.forEach(idle, (live) => this.#runInMemory(live, node), { concurrency: "unbounded", discard: true })
    }).pipe(Effect.retry({ schedule: Schedule.spaced("250 millis"), while: () => placement.node() === node && !table.isClosed }))
  }

  /** A commit of this node may be unconfirmed: until it is resolved, the instance does not apply newer reads of the journal. */
  #runLater(live: LiveInstance, node: string): Effect.Effect<void, PersistenceFailed> {
    const isOver = () => this.#node.placement?.node() !== node || this.#engine.table.isClosed
    return Effect.andThen(
      Effect.sleep(behindMillis),
      Effect.suspend(() => (isOver() ? Effect.void : this.#runInMemory(live, node))),
    )
  }

  /**
   * Starts the work of an instance that is in memory here. Since the owner was changed, another node may have entered a state with
   * work, and runs it: the stored row decides which node is the owner, and memory must be at the sequence of that row.
   */
  #runInMemory(live: LiveInstance, node: string): Effect.Effect<void, PersistenceFailed> {
    const { follower, journal, table } = this.#engine
    return Effect.gen({ self: this }, function* () {
      yield* follower.catchUp(live)
      // It was removed, and has left memory. Its id may have another instance, whose row has this node as owner.
      if (table.find(live.key) !== live) return yield* Effect.asVoid(table.openAll(live.machine, [live.key]))
      const stored = yield* journal.open(live.key)
      if (Option.isNone(stored) || stored.value.record.owner !== node) return
      const { record } = stored.value
      if (live.position.isBehind(record) || record.startedAt !== live.record.startedAt) return yield* this.#runLater(live, node)
      live.own(node)
    }).pipe(
      Effect.catchTag(["EventReplayError", "InstanceNotFound"], (error) =>
        Effect.logWarning(`the work of ${live.key.machine} ${live.key.id} does not run: ${error.message}`),
      ),
    )
  }
}

/** The shards of this node, where instances are divided between nodes. */
const shardsOf = ({ routing }: PlacementService): Pick<KeyFilter, "shards"> => (routing === undefined ? {} : { shards: routing.shards() })
