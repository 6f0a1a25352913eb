/** A memory store at the far end of a bad line: requests and answers are delayed, lost, or arrive after they were given up. */
import { PersistenceFailed } from "@detent/machine"
import type { Commit, CommitOutcome, EventRecord, InstanceKey } from "@detent/store"
import { Journal, type JournalService, Leases, type LeasesService, Timers, type TimersService } from "@detent/store"
import { emptyState, findInstance, instanceName, type MemoryState, memoryJournal, memoryLeases, memoryTimers } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Stored } from "./Audit.ts"
import type { Process, World } from "./World.ts"

/** How often, of one, a request meets each fate. */
export interface Line {
  /** The request never arrives, and fails for the sender. */
  readonly lost: number
  /** It is done, and the answer is lost: it fails for the sender. */
  readonly unanswered: number
  /** It fails for the sender, and is done later all the same. */
  readonly late: number
  /** It takes its time. */
  readonly slow: number
}

export const perfectLine: Line = { lost: 0, unanswered: 0, late: 0, slow: 0 }

type Fate = "lost" | "unanswered" | "late" | "fine"

/** A mistake made on purpose, to see that it is found. */
export type Mistake = (commit: Commit, state: MemoryState) => ReadonlyArray<Commit>

interface Whole {
  readonly origin: string | undefined
  readonly events: ReadonlyArray<EventRecord>
  readonly pruned: number
}

export class FaultyStore {
  line: Line = perfectLine
  /** No node reaches it, or no node can write to it. */
  outage: { readonly kind: "all" | "writes"; readonly until: number } | undefined
  mistake: Mistake | undefined
  readonly state: MemoryState = emptyState("simulated")
  readonly journal: JournalService = memoryJournal(this.state)
  /** What was pruned, for the verdict: the journal no longer has it. */
  readonly #pruned = new Map<string, Whole>()
  readonly #timers: TimersService = memoryTimers(this.state)
  readonly #leases: LeasesService = memoryLeases(this.state)
  readonly #world: World
  readonly #process: Process

  constructor(world: World) {
    this.#world = world
    this.#process = world.process("store")
  }

  /** The store as a process reaches it. */
  reachedFrom(process: Process): Context.Context<Journal | Timers | Leases> {
    const { journal } = this
    const timers = this.#timers
    const leases = this.#leases
    const read = <A>(request: Effect.Effect<A, PersistenceFailed>) => this.#send(process, "read", request)
    const write = <A>(request: Effect.Effect<A, PersistenceFailed>) => this.#send(process, "write", request)
    return Context.make(Journal, {
      databaseId: journal.databaseId,
      commit: (commits) => write(Effect.suspend(() => this.#commit(process, commits))),
      open: (key) => read(journal.open(key)),
      clock: read(journal.clock),
      page: (filter, limit, after) => read(journal.page(filter, limit, after)),
      owners: (machine) => read(journal.owners(machine)),
      changeOwner: (keys, from, to) => write(journal.changeOwner(keys, from, to)),
      takeOver: (filter, to, limit, after) => write(journal.takeOver(filter, to, limit, after)),
      standings: (keys) => read(journal.standings(keys)),
      openAll: (keys) => read(journal.openAll(keys)),
      events: (key, after, limit) => read(journal.events(key, after, limit)),
      tails: (keys) => read(journal.tails(keys)),
      findDuplicate: (key, dedupeId) => read(journal.findDuplicate(key, dedupeId)),
      saveSnapshot: (key, snapshot) => write(journal.saveSnapshot(key, snapshot)),
      prune: (key, through, after) => write(Effect.suspend(() => this.#prune(key, through, after))),
      list: (filter, limit, after) => read(journal.list(filter, limit, after)),
      machines: read(journal.machines),
      count: (machine) => read(journal.count(machine)),
      setStatus: (seen, status, reason) => write(journal.setStatus(seen, status, reason)),
      search: (filter, limit, after) => read(journal.search(filter, limit, after)),
      indexFill: (machine) => read(journal.indexFill(machine)),
      setIndexFill: (machine, seen, fill) => write(journal.setIndexFill(machine, seen, fill)),
      writeFields: (machine, writes) => write(journal.writeFields(machine, writes)),
      label: (key, changes) => write(journal.label(key, changes)),
      countEnded: (machine, endedMillis) => read(journal.countEnded(machine, endedMillis)),
      purgeEnded: (machine, endedMillis, limit) => write(journal.purgeEnded(machine, endedMillis, limit)),
      rewrite: (key, event, seen) => write(journal.rewrite(key, event, seen)),
      fork: (from, through, to) => write(journal.fork(from, through, to)),
    }).pipe(
      Context.add(Timers, {
        claim: (request) => write(timers.claim(request)),
        nextDue: (machines, versions) => read(timers.nextDue(machines, versions)),
        unserved: (machines, overdueMillis) => read(timers.unserved(machines, overdueMillis)),
        complete: (timer) => write(timers.complete(timer)),
        release: (timer, owner, delayMillis) => write(timers.release(timer, owner, delayMillis)),
        bury: (timer, problem) => write(timers.bury(timer, problem)),
        dead: (limit) => read(timers.dead(limit)),
        revive: (timer) => write(timers.revive(timer)),
        fireNow: (timer) => write(timers.fireNow(timer)),
      }),
      Context.add(Leases, {
        acquire: (name, owner, millis) => write(leases.acquire(name, owner, millis)),
        extend: (lease, millis) => write(leases.extend(lease, millis)),
        release: (lease) => write(leases.release(lease)),
        purge: (endedMillis, limit) => write(leases.purge(endedMillis, limit)),
        fenceHolder: (name, ended) => write(leases.fenceHolder(name, ended)),
        get: (name) => read(leases.get(name)),
        held: (prefix, limit) => read(leases.held(prefix, limit)),
      }),
    )
  }

  #commit(process: Process, commits: ReadonlyArray<Commit>) {
    const { mistake, state } = this
    const each = (commit: Commit) => {
      const applied = mistake === undefined ? [commit] : mistake(commit, state)
      return Effect.map(
        Effect.forEach(applied, (one) => this.journal.commit([one])),
        (outcomes): CommitOutcome => {
          const outcome = outcomes[0]?.[0] ?? { _tag: "Stored" }
          const tags = commit.events.map(({ sequence, tag, body }) => `${sequence} ${tag} ${/"token":"(.*?)"/.exec(body)?.[1] ?? ""}`)
          this.#world.tell(process.name, `${commit.machine} ${commit.id} from ${commit.expected} [${tags}] → ${JSON.stringify(outcome)}`)
          return outcome
        },
      )
    }
    return Effect.forEach(commits, each)
  }

  #prune(key: InstanceKey, through: number, after: number | undefined) {
    const { origin, events, pruned } = this.#whole(key)
    const limit = Math.min(through, findInstance(this.state, key)?.snapshot?.sequence ?? 0)
    this.#pruned.set(instanceName(key), { origin, events: [...events], pruned: Math.max(pruned, limit) })
    return Effect.tap(this.journal.prune(key, through, after), (count) =>
      Effect.sync(() => this.#world.tell("store", `${key.machine} ${key.id} is pruned through ${limit}: ${count} events`)),
    )
  }

  /** The journal of an instance as if nothing had ever been pruned. */
  #whole(key: InstanceKey): Whole {
    const { origin, events = [] } = findInstance(this.state, key) ?? {}
    const pruned = this.#pruned.get(instanceName(key))
    if (pruned === undefined) return { origin, events, pruned: 0 }
    const last = pruned.events.at(-1)?.sequence ?? 0
    return { ...pruned, events: [...pruned.events, ...events.filter(({ sequence }) => sequence > last)] }
  }

  #fate(kind: "read" | "write"): Fate {
    const { chance } = this.#world
    const { lost, unanswered, late } = this.line
    const at = chance.next()
    if (at < lost || this.#isAway(kind)) return "lost"
    if (kind === "read") return "fine"
    if (at < lost + unanswered) return "unanswered"
    return at < lost + unanswered + late ? "late" : "fine"
  }

  #isAway(kind: "read" | "write"): boolean {
    const { outage } = this
    return outage !== undefined && this.#world.now < outage.until && (outage.kind === "all" || kind === "write")
  }

  #delay(): number {
    const { chance } = this.#world
    if (!chance.happens(this.line.slow)) return 0
    return chance.happens(0.1) ? chance.between(500, 8000) : chance.between(1, 100)
  }

  #send<A>(process: Process, kind: "read" | "write", request: Effect.Effect<A, PersistenceFailed>): Effect.Effect<A, PersistenceFailed> {
    return Effect.callback((resume) => {
      const fate = this.#fate(kind)
      const there = this.#delay()
      const back = this.#delay()
      const world = this.#world
      const answer = (result: Exit.Exit<A, PersistenceFailed>) => this.#in(back, process, () => resume(result))
      const failure = () =>
        Exit.fail(new PersistenceFailed({ machine: "any", operation: kind, cause: new Error(`the line broke (${fate})`) }))
      // What a process had on its way when it was killed arrives or not.
      const arrives = world.chance.happens(0.5)
      const work = () => (process.isAlive || arrives ? this.#work(request) : failure())
      if (fate !== "fine") world.tell(process.name, `${kind} is ${fate}, ${there} + ${back} ms`)
      if (fate === "lost") return this.#in(there, this.#process, () => answer(failure()))
      if (fate === "late") {
        this.#in(there, this.#process, () => answer(failure()))
        return this.#in(there + back + world.chance.between(0, 2000), this.#process, () => void work())
      }
      this.#in(there, this.#process, () => {
        const result = work()
        answer(fate === "unanswered" ? failure() : result)
      })
    })
  }

  #work<A>(request: Effect.Effect<A, PersistenceFailed>): Exit.Exit<A, PersistenceFailed> {
    const clock = Context.get(this.#process.context, Clock.Clock)
    return Effect.runSyncExit(Effect.provideService(request, Clock.Clock, clock))
  }

  #in(millis: number, process: Process, task: () => void) {
    if (millis === 0) this.#world.soon(process, task)
    else this.#world.after(process, millis, task)
  }

  stored(): ReadonlyArray<Stored> {
    return [...this.state.instances.values()].map(({ record, snapshot, timers }) => ({
      ...record,
      ...this.#whole(record),
      snapshot,
      timers: [...timers.values()].filter(({ problem }) => problem === undefined),
      commands: [...this.state.commands.values()].filter(({ machine, id }) => machine === record.machine && id === record.id),
    }))
  }
}
