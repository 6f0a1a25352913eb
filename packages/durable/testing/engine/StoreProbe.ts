/** A hand between an engine and its store: counts what is asked, and lets a test fail it, delay it or cut it off. */
import { PersistenceFailed } from "@detent/machine"
import type { Commit, CommitOutcome, InstanceKey } from "@detent/store"
import {
  type ClaimedTimer,
  type ClaimRequest,
  type InstancePage,
  type InstanceRecord,
  Journal,
  type KeyFilter,
  Leases,
  type OpenedInstance,
  Timers,
} from "@detent/store"
import type { TakenOver } from "@detent/store/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

export type Store = Context.Context<Journal | Timers | Leases>
export type Outcomes = Effect.Effect<ReadonlyArray<CommitOutcome>, PersistenceFailed>

export class StoreProbe {
  /** Every group commit, as it was asked for. */
  readonly batches: Array<ReadonlyArray<Commit>> = []
  /** Whose standings were asked for, question by question. */
  readonly standings: Array<ReadonlyArray<InstanceKey>> = []
  readonly claims: Array<ClaimRequest> = []
  readonly claimed: Array<ReadonlyArray<ClaimedTimer>> = []
  /** What becomes of a group commit. */
  onCommit: (commits: ReadonlyArray<Commit>, commit: Outcomes) => Outcomes = (_, commit) => commit
  /** What becomes of a reading. */
  onOpen: <A>(open: Effect.Effect<A, PersistenceFailed>) => Effect.Effect<A, PersistenceFailed> = (open) => open
  /** What becomes of a reading of this instance, alone or with others. */
  onRead: <A>(key: InstanceKey, read: Effect.Effect<A, PersistenceFailed>) => Effect.Effect<A, PersistenceFailed> = (_, read) => read
  /** What becomes of a reading of events, of one instance or of many. */
  onEvents: <A>(read: Effect.Effect<A, PersistenceFailed>) => Effect.Effect<A, PersistenceFailed> = (read) => read
  /** What becomes of a search for the event of an id. */
  onFindDuplicate: <A>(dedupeId: string, find: Effect.Effect<A, PersistenceFailed>) => Effect.Effect<A, PersistenceFailed> = (_, find) =>
    find
  /** What becomes of a list. */
  onList: (list: Effect.Effect<InstancePage, PersistenceFailed>) => Effect.Effect<InstancePage, PersistenceFailed> = (list) => list
  /** What becomes of a page by key. */
  onPage: (
    filter: KeyFilter,
    page: Effect.Effect<ReadonlyArray<InstanceRecord>, PersistenceFailed>,
  ) => Effect.Effect<ReadonlyArray<InstanceRecord>, PersistenceFailed> = (_, page) => page
  /** What becomes of the replacement of a journaled event. */
  onRewrite: (rewrite: Effect.Effect<boolean, PersistenceFailed>) => Effect.Effect<boolean, PersistenceFailed> = (rewrite) => rewrite
  /** What becomes of a fork. */
  onFork: (fork: Effect.Effect<CommitOutcome, PersistenceFailed>) => Effect.Effect<CommitOutcome, PersistenceFailed> = (fork) => fork
  /** What becomes of a change of owners. */
  onChangeOwner: <A>(change: Effect.Effect<A, PersistenceFailed>) => Effect.Effect<A, PersistenceFailed> = (change) => change
  /** What becomes of a page of instances that are taken over. */
  onTakeOver: (page: Effect.Effect<TakenOver, PersistenceFailed>) => Effect.Effect<TakenOver, PersistenceFailed> = (page) => page
  onClaim: <A>(claim: Effect.Effect<A, PersistenceFailed>) => Effect.Effect<A, PersistenceFailed> = (claim) => claim
  /** What becomes of a request about a lease. */
  onLease: <A>(request: Effect.Effect<A, PersistenceFailed>) => Effect.Effect<A, PersistenceFailed> = (request) => request
  /** From now on the store hears nothing of this engine and never answers it: as if its process had been killed. */
  isCut = false

  get events(): number {
    return this.batches.flat().reduce((sum, commit) => sum + commit.events.length, 0)
  }

  wrap(store: Store): Store {
    const journal = Context.get(store, Journal)
    const timers = Context.get(store, Timers)
    const leases = Context.get(store, Leases)
    return Context.make(Journal, {
      databaseId: journal.databaseId,
      // With this hand between them, no store is local.
      ...(journal.writers === undefined ? {} : { writers: journal.writers }),
      ...(journal.transaction === undefined ? {} : { transaction: journal.transaction }),
      commit: (commits) =>
        this.#whileAlive(
          Effect.suspend(() => {
            this.batches.push(commits)
            return this.onCommit(commits, journal.commit(commits))
          }),
        ),
      open: (key) => this.#read(this.onRead(key, journal.open(key))),
      standings: (keys) =>
        this.#read(
          Effect.suspend(() => {
            this.standings.push(keys)
            return journal.standings(keys)
          }),
        ),
      openAll: (keys): Effect.Effect<ReadonlyArray<OpenedInstance>, PersistenceFailed> =>
        this.#read(keys.reduce((read, key) => this.onRead(key, read), journal.openAll(keys))),
      events: (key, after, limit) => this.#read(Effect.suspend(() => this.onEvents(journal.events(key, after, limit)))),
      tails: (keys) => this.#read(Effect.suspend(() => this.onEvents(journal.tails(keys)))),
      clock: journal.clock,
      findDuplicate: (key, dedupeId) =>
        this.#read(Effect.suspend(() => this.onFindDuplicate(dedupeId, journal.findDuplicate(key, dedupeId)))),
      saveSnapshot: (key, snapshot) => this.#whileAlive(journal.saveSnapshot(key, snapshot)),
      prune: (key, through, after) => this.#whileAlive(journal.prune(key, through, after)),
      list: (filter, limit, after) => this.#read(Effect.suspend(() => this.onList(journal.list(filter, limit, after)))),
      page: (filter, limit, after) => this.#read(Effect.suspend(() => this.onPage(filter, journal.page(filter, limit, after)))),
      owners: (machine) => this.#read(journal.owners(machine)),
      changeOwner: (keys, from, to) => this.#whileAlive(Effect.suspend(() => this.onChangeOwner(journal.changeOwner(keys, from, to)))),
      takeOver: (filter, to, limit, after) =>
        this.#whileAlive(Effect.suspend(() => this.onChangeOwner(this.onTakeOver(journal.takeOver(filter, to, limit, after))))),
      machines: this.#read(journal.machines),
      count: (machine) => this.#read(journal.count(machine)),
      setStatus: (seen, status, reason) => this.#whileAlive(journal.setStatus(seen, status, reason)),
      purgeEnded: (machine, endedMillis, limit) => this.#whileAlive(journal.purgeEnded(machine, endedMillis, limit)),
      search: (filter, limit, after) => this.#read(journal.search(filter, limit, after)),
      indexFill: (machine) => this.#read(journal.indexFill(machine)),
      setIndexFill: (machine, seen, fill) => this.#whileAlive(journal.setIndexFill(machine, seen, fill)),
      writeFields: (machine, writes) => this.#whileAlive(journal.writeFields(machine, writes)),
      label: (key, changes) => this.#whileAlive(journal.label(key, changes)),
      countEnded: (machine, endedMillis) => this.#read(journal.countEnded(machine, endedMillis)),
      rewrite: (key, event, seen) => this.#whileAlive(Effect.suspend(() => this.onRewrite(journal.rewrite(key, event, seen)))),
      fork: (from, through, to) => this.#whileAlive(Effect.suspend(() => this.onFork(journal.fork(from, through, to)))),
    }).pipe(
      Context.add(Timers, {
        claim: (request) =>
          this.#whileAlive(
            Effect.suspend(() => {
              this.claims.push(request)
              return Effect.tap(this.onClaim(timers.claim(request)), (claimed) => Effect.sync(() => this.claimed.push(claimed)))
            }),
          ),
        nextDue: (machines, versions) => this.#whileAlive(timers.nextDue(machines, versions)),
        unserved: (machines, overdueMillis) => this.#whileAlive(timers.unserved(machines, overdueMillis)),
        complete: (timer) => this.#whileAlive(timers.complete(timer)),
        release: (timer, owner, delayMillis) => this.#whileAlive(timers.release(timer, owner, delayMillis)),
        bury: (timer, problem) => this.#whileAlive(timers.bury(timer, problem)),
        dead: (limit) => this.#whileAlive(timers.dead(limit)),
        revive: (timer) => this.#whileAlive(timers.revive(timer)),
        fireNow: (timer) => this.#whileAlive(timers.fireNow(timer)),
      }),
      Context.add(Leases, {
        acquire: (name, owner, millis) => this.#lease(leases.acquire(name, owner, millis)),
        extend: (lease, millis) => this.#lease(leases.extend(lease, millis)),
        release: (lease) => this.#lease(leases.release(lease)),
        purge: (endedMillis, limit) => this.#lease(leases.purge(endedMillis, limit)),
        fenceHolder: (name, ended) => this.#lease(leases.fenceHolder(name, ended)),
        get: (name) => this.#lease(leases.get(name)),
        held: (prefix, limit) => this.#lease(leases.held(prefix, limit)),
      }),
    )
  }

  #read<A>(read: Effect.Effect<A, PersistenceFailed>): Effect.Effect<A, PersistenceFailed> {
    return this.#whileAlive(Effect.suspend(() => this.onOpen(read)))
  }

  #lease<A>(request: Effect.Effect<A, PersistenceFailed>): Effect.Effect<A, PersistenceFailed> {
    return this.#whileAlive(Effect.suspend(() => this.onLease(request)))
  }

  /** What was asked before the cut may still be done, but is not answered. */
  #whileAlive<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() =>
      this.isCut ? Effect.never : Effect.flatMap(Effect.exit(effect), (exit): Effect.Effect<A, E> => (this.isCut ? Effect.never : exit)),
    )
  }
}

/** A failure as a store reports it. */
export const outage = (operation = "commit"): PersistenceFailed =>
  new PersistenceFailed({ machine: "any", operation, cause: new Error("the store is away") })
