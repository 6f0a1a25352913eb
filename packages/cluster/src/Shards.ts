/**
 * The shards of this node. Effect's cluster uses this class as its storage: the cluster decides which shards this node should have, and
 * this class acquires and releases them, in the tables and in the engines of this process. When the node loses its lease, all shards are
 * lost together.
 */
import type { PlacementService } from "@detent/durable"
import { Batcher, type InstanceKey, type Receiver, type ShardFilter } from "@detent/durable/internal"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { PersistenceError } from "effect/unstable/cluster/ClusterError"
import * as RunnerStorage from "effect/unstable/cluster/RunnerStorage"
import { type ClusterTables, type NodeLife, shardCount } from "./ClusterTables.ts"

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
  readonly #leaving = new Set<number>()
  readonly #releases: Batcher<number, void, PersistenceError>
  #filter: ShardFilter | undefined

  constructor(options: ShardsOptions) {
    this.#options = options
    this.#releases = new Batcher({
      run: options.run,
      limit: shardCount,
      prepare: (shard: number) => shard,
      perform: (shards) => Effect.map(persisting(this.#release(shards)), () => shards.map(() => Exit.void)),
    })
    options.placement.onLost(() => this.#lose())
  }

  get size(): number {
    return this.#held.size
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
          const { tables, tokenMark } = this.#options
          return Effect.as(tables.register(address, runner, life, { shardCount, tokenMark }), 1)
        }),
      ),
    unregister: (address) => persisting(this.#withLife((life) => this.#options.tables.unregister(address, life))),
    setRunnerHealth: () => Effect.void,
    acquire: (_, ids) => persisting(Effect.map(this.#acquire(ids.map(numberOf)), (shards) => shards.map(idOf))),
    // Only the loss of its lease takes a shard from this node, and this node notices that without asking the database.
    refresh: (_, ids) => Effect.sync(() => ids.filter((id) => this.#held.has(numberOf(id)) || this.#leaving.has(numberOf(id)))),
    release: (_, id) => this.#releases.submit(numberOf(id)),
    releaseAll: () => persisting(Effect.suspend(() => this.#release([...this.#held]))),
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
        for (const node of yield* tables.deadHolders(wanted)) yield* placement.bury(node)
        const acquired = (yield* tables.acquire(address, wanted, life)).filter((shard) => !this.#leaving.has(shard))
        if (this.#life?.token !== life.token) return []
        for (const shard of acquired) this.#held.add(shard)
        if (acquired.length > 0) this.#changed()
        if (acquired.length > 0) for (const receiver of this.#options.receivers) receiver.gained()
        return acquired
      }),
    )
  }

  /** Instances leave first: when another node acquires a shard, none of its requests is in flight here. */
  #release(shards: ReadonlyArray<number>): Effect.Effect<void, unknown> {
    return Effect.gen({ self: this }, function* () {
      const life = this.#life
      const leaving = new Set(shards)
      for (const shard of shards) this.#leaving.add(shard)
      this.#drop(shards)
      yield* Effect.timeoutOrElse(
        this.#leave((key) => leaving.has(this.#options.shardOf(key)), "leaving"),
        {
          duration: this.#options.leaveTimeout,
          orElse: () => Effect.andThen(Effect.logWarning(stillHere(shards.length)), Effect.fail(failed(stillHere(shards.length)))),
        },
      )
      if (life !== undefined) yield* this.#options.tables.release(shards, life)
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          for (const shard of shards) this.#leaving.delete(shard)
        }),
      ),
    )
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

/** Another node must not begin work that has not ended here. Effect's cluster tries the release again. */
const stillHere = (shards: number): string => `${shards} shards are not released yet: work of their instances has not ended`

const failed = (problem: string): PersistenceError => new PersistenceError({ cause: new Error(problem) })

const persisting = <A>(effect: Effect.Effect<A, unknown>): Effect.Effect<A, PersistenceError> =>
  Effect.mapError(effect, (cause) => new PersistenceError({ cause }))
