/**
 * The shards of this node. Effect's cluster uses this class as its storage: the cluster decides which shards this node should have, and
 * this class acquires and releases them, in the tables and in the engines of this process. When the node loses its lease, all shards are
 * lost together.
 */
import type { PlacementService } from "@detent/durable"
import type { Receiver } from "@detent/durable/internal"
import type { InstanceKey } from "@detent/store"
import { Batcher, type ShardFilter } from "@detent/store/internal"
import { PersistenceError } from "effect/cluster/ClusterError"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type ClusterTables, type NodeLife, type NodeSettings, shardCount } from "./ClusterTables.ts"

/** Effect's cluster numbers shards from 1, within a group. */
const group = "default"
const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf(":") + 1)) - 1
const idOf = (shard: number): string => `${group}:${shard + 1}`

export interface ShardsOptions {
  readonly address: string
  readonly placement: PlacementService
  readonly tables: ClusterTables
  readonly shardOf: (key: InstanceKey) => number
  /** The digest by which the tokens of nodes are compared. */
  readonly tokenMark: string
  /** Called when this node has registered, or was refused because of a node whose settings differ. Then it tries again. */
  readonly registered: (different: NodeSettings | undefined) => void
  readonly receivers: Iterable<Receiver>
  readonly run: (effect: Effect.Effect<void>) => void
  /** How long instances may take to leave before the release is logged as late and tried again. */
  readonly leaveTimeout: Duration.Input
  /** Called when the shards of this node have changed. */
  readonly changed: () => void
}

export class Shards {
  readonly #options: ShardsOptions
  readonly #held = new Set<number>()
  /** Shards that are not released yet. They are not held any more: requests for their instances wait. */
  readonly #leaving = new Set<number>()
  readonly #releases: Batcher<number, void, PersistenceError>
  #filter: ShardFilter | undefined

  constructor(options: ShardsOptions) {
    this.#options = options
    this.#releases = new Batcher({
      run: options.run,
      limit: shardCount,
      prepare: (shard: number) => shard,
      perform: (shards) =>
        Effect.map(persisting(this.#release(shards)), (late) =>
          shards.map((shard) => (late.has(shard) ? Exit.fail(failed("work of its instances has not ended")) : Exit.void)),
        ),
    })
    options.placement.onLost(() => this.#lose())
  }

  get size(): number {
    return this.#held.size
  }

  /** Whether it has no shards, and has released those that it had. */
  get isEmpty(): boolean {
    return this.#held.size === 0 && this.#leaving.size === 0
  }

  has(key: InstanceKey): boolean {
    return this.#held.size > 0 && this.#held.has(this.#options.shardOf(key))
  }

  get filter(): ShardFilter {
    this.#filter ??= { count: shardCount, held: [...this.#held].sort((left, right) => left - right) }
    return this.#filter
  }

  /** The storage of Effect's cluster. Health is the lease and nothing else, so that no node can declare another dead or alive. */
  readonly storage = RunnerStorage.makeEncoded({
    getRunners: persisting(
      Effect.suspend(() =>
        Effect.map(this.#options.tables.runners, (runners) => runners.map(({ runner, draining }) => [runner, !draining] as const)),
      ),
    ),
    register: (address, runner) =>
      persisting(
        this.#withLife((life) => {
          const { tables, tokenMark, registered } = this.#options
          return Effect.flatMap(tables.register(address, runner, life, { shardCount, tokenMark }), (different) => {
            registered(different)
            return different === undefined ? Effect.succeed(1) : Effect.fail(failed(`the settings of node ${different.address} differ`))
          })
        }),
      ),
    unregister: (address) => persisting(this.#withLife((life) => this.#options.tables.unregister(address, life))),
    setRunnerHealth: () => Effect.void,
    acquire: (_, ids) => persisting(Effect.map(this.#acquire(ids.map(numberOf)), (shards) => shards.map(idOf))),
    // Only the loss of its lease takes a shard from this node, and this node notices that without asking the database.
    refresh: (_, ids) => Effect.sync(() => ids.filter((id) => this.#held.has(numberOf(id)) || this.#leaving.has(numberOf(id)))),
    release: (_, id) => this.#releaseOne(numberOf(id)),
    releaseAll: () => persisting(Effect.asVoid(Effect.suspend(() => this.#release([...this.#held])))),
  })

  get #life(): NodeLife | undefined {
    const { placement } = this.#options
    const fence = placement.fence()
    return fence === undefined ? undefined : { node: placement.node(), lease: fence.lease, token: fence.token }
  }

  #withLife<A, E>(use: (life: NodeLife) => Effect.Effect<A, E>): Effect.Effect<A, E | PersistenceError> {
    return Effect.suspend((): Effect.Effect<A, E | PersistenceError> => {
      const life = this.#life
      return life === undefined ? Effect.fail(failed("this node has lost its lease and waits for another")) : use(life)
    })
  }

  #acquire(wanted: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<number>, unknown> {
    const { address, placement, tables } = this.#options
    return this.#withLife((life) =>
      Effect.gen({ self: this }, function* () {
        const dead = yield* tables.deadHolders(wanted)
        for (const node of dead) yield* placement.fenceDead(node)
        const acquired = (yield* tables.acquire(address, wanted, life)).filter((shard) => !this.#leaving.has(shard))
        if (this.#life?.token !== life.token) return []
        for (const shard of acquired) this.#held.add(shard)
        if (acquired.length > 0) this.#changed()
        if (acquired.length > 0 && dead.length > 0) this.#options.run(Effect.logInfo(tookOver(address, dead, this.#held.size)))
        if (acquired.length > 0) for (const receiver of this.#options.receivers) receiver.gained()
        return acquired
      }),
    )
  }

  /** A shard that was late before waits for its own instances first, and delays no other shard. */
  #releaseOne(shard: number): Effect.Effect<void, PersistenceError> {
    return Effect.suspend(() => {
      if (!this.#leaving.has(shard)) return this.#releases.submit(shard)
      return Effect.andThen(
        this.#leave((key) => this.#options.shardOf(key) === shard, "leaving"),
        this.#releases.submit(shard),
      )
    })
  }

  /**
   * Instances leave first: when another node acquires a shard, none of its requests is in flight here, and its work has ended. Returns
   * the shards for which that takes too long: this node keeps them, and Effect's cluster tries to release them again.
   */
  #release(shards: ReadonlyArray<number>): Effect.Effect<ReadonlySet<number>, unknown> {
    return Effect.gen({ self: this }, function* () {
      const { leaveTimeout, receivers, shardOf, tables } = this.#options
      const life = this.#life
      const leaving = new Set(shards)
      const isLeaving = (key: InstanceKey) => leaving.has(shardOf(key))
      for (const shard of shards) this.#leaving.add(shard)
      this.#drop(shards)
      yield* Effect.timeoutOption(this.#leave(isLeaving, "leaving"), leaveTimeout)
      const remaining = [...receivers].flatMap((receiver) => receiver.remaining(isLeaving))
      const late = new Set(remaining.map(shardOf))
      const left = shards.filter((shard) => !late.has(shard))
      if (life !== undefined && left.length > 0) yield* tables.release(left, life)
      for (const shard of left) this.#leaving.delete(shard)
      if (late.size > 0) yield* Effect.logWarning(stillHere(late.size, remaining))
      return late
    })
  }

  #leave(isLeaving: (key: InstanceKey) => boolean, departure: "leaving" | "lost"): Effect.Effect<void> {
    return Effect.forEach([...this.#options.receivers], (receiver) => receiver.leave(isLeaving, departure), {
      discard: true,
      concurrency: "unbounded",
    })
  }

  /**
   * Gives up all shards after the lease is lost: other nodes may already own them. This includes shards that were leaving: their undecided
   * events would otherwise be decided under the next lease.
   */
  #lose() {
    this.#drop([...this.#held])
    this.#options.run(this.#leave(() => true, "lost"))
  }

  #drop(shards: ReadonlyArray<number>) {
    for (const shard of shards) this.#held.delete(shard)
    this.#changed()
  }

  #changed() {
    this.#filter = undefined
    this.#options.changed()
  }
}

/** How many instances a message names. */
const namedLimit = 5

/** Another node must not begin work that has not ended here. */
const stillHere = (shards: number, remaining: ReadonlyArray<InstanceKey>): string => {
  const names = [...new Set(remaining.map(({ machine, id }) => `${machine} ${id}`))]
  const more = names.length > namedLimit ? ` and ${names.length - namedLimit} others` : ""
  const what = shards === 1 ? "1 shard is" : `${shards} shards are`
  return `${what} not released yet: work of ${names.slice(0, namedLimit).join(", ")}${more} has not ended, or its events are not stored`
}

/** A node id is its name in the cluster without the part that is new with every start. */
const tookOver = (address: string, dead: ReadonlyArray<string>, held: number): string => {
  const nodes = dead.map((node) => node.slice(node.indexOf("/") + 1, node.lastIndexOf("/")))
  return `the node of the cluster at ${address} took over the shards of ${nodes.join(", ")}, which no longer runs; it has ${held} shards now`
}

const failed = (problem: string): PersistenceError => new PersistenceError({ cause: new Error(problem) })

const persisting = <A>(effect: Effect.Effect<A, unknown>): Effect.Effect<A, PersistenceError> =>
  Effect.mapError(effect, (cause) => new PersistenceError({ cause }))
