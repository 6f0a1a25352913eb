/**
 * Other processes may take instances further than this one has them in memory. Before somebody reads one, and for as long as
 * somebody waits for one, the store is asked how far it has come, and what is behind is read anew. Senders do without: a commit
 * finds out by itself.
 */
import type { EventReplayError, PersistenceFailed } from "@detent/machine"
import type { Environment, Tagged } from "@detent/machine/internal"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { InstanceNotFound } from "../InstanceNotFound.ts"
import type { InstanceCell } from "../instance/InstanceCell.ts"
import type { Reloaded } from "../instance/InstanceContext.ts"
import { recover } from "../instance/Replay.ts"
import type { InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import type { InstanceStanding, JournalService } from "../store/Journal.ts"
import type { InstanceLoader } from "./InstanceLoader.ts"
import type { OpenError } from "./InstanceTable.ts"
import { PositionReader, questionLimit } from "./PositionReader.ts"

/** So many instances are read anew at a time. */
const concurrency = 16

export class ChangeFollower {
  readonly #journal: JournalService
  readonly #reading: InstanceLoader
  readonly #environment: Environment
  readonly #intervalMillis: number
  readonly #standings: PositionReader
  readonly #reloading = new Map<InstanceCell, Deferred.Deferred<Reloaded, OpenError>>()
  /** By name, and how many wait for each. An engine that only observes has one instance in several places. */
  readonly #followed = new Map<string, Map<InstanceCell, number>>()
  /** Of a store that tells by itself: those it told of. */
  readonly #written = new Set<InstanceCell>()
  #looking: Fiber.Fiber<void> | undefined
  #unwatch: (() => void) | undefined
  #isAway = false
  #closed = false

  constructor(journal: JournalService, reading: InstanceLoader, environment: Environment, intervalMillis: number) {
    this.#journal = journal
    this.#reading = reading
    this.#environment = environment
    this.#intervalMillis = intervalMillis
    this.#standings = new PositionReader(journal, environment)
  }

  // Before somebody reads

  /**
   * Whether memory is known to be as far as the store without asking it: nobody else writes, or what is on its way finds out.
   * Reading a state costs 0.30 to 0.33 µs of CPU on the memory store, as much as without this look. Where SQLite is asked it is
   * 23 µs instead of 0.35, and for 50 that are read at once 5 µs each instead of 0.45.
   */
  isCurrent(cell: InstanceCell): boolean {
    return this.#journal.local?.sequence(cell.key) === cell.reached || cell.isLocked || cell.isCommitting
  }

  standing(key: InstanceKey): Effect.Effect<InstanceStanding | undefined, PersistenceFailed> {
    return this.#standings.of(key)
  }

  /** What the store has where that is further than memory. Unless something is on its way, the instance goes on from there. */
  catchUp(cell: InstanceCell): Effect.Effect<Reloaded | undefined, OpenError> {
    return Effect.flatMap(this.#standings.of(cell.key), (standing) =>
      isBehind(cell, standing) ? this.#readAnew(cell, standing) : Effect.succeed(undefined),
    )
  }

  /** Many who find the same instance behind share one reading, but none that began too early. */
  #readAnew(cell: InstanceCell, standing: InstanceStanding | undefined): Effect.Effect<Reloaded, OpenError> {
    return Effect.suspend(() => {
      const underway = this.#reloading.get(cell)
      if (underway !== undefined) {
        return Effect.flatMap(Deferred.await(underway), (reloaded) =>
          reloaded.recovered.sequence < (standing?.sequence ?? 0) ? this.#readAnew(cell, standing) : Effect.succeed(reloaded),
        )
      }
      const deferred = Deferred.makeUnsafe<Reloaded, OpenError>()
      this.#reloading.set(cell, deferred)
      this.#environment.run(
        Effect.flatMap(Effect.exit(this.#reload(cell)), (exit) => {
          this.#reloading.delete(cell)
          return Deferred.done(deferred, exit)
        }),
      )
      return Deferred.await(deferred)
    })
  }

  #reload(cell: InstanceCell): Effect.Effect<Reloaded, OpenError> {
    return Effect.gen({ self: this }, function* () {
      const reloaded = yield* this.#reading.reload(cell.registered, cell.key)
      if (reloaded === undefined) {
        cell.refresh()
        return yield* Effect.fail(new InstanceNotFound(cell.key))
      }
      const passed = cell.isFollowed ? yield* this.#passed(cell, reloaded) : undefined
      cell.takeIn(reloaded, passed)
      return reloaded
    })
  }

  /**
   * The states between memory and the store: whoever follows the instance is told of each. Undefined where they cannot be told
   * any more, since the events were pruned: then only the last is.
   */
  #passed(cell: InstanceCell, { opened }: Reloaded): Effect.Effect<ReadonlyArray<Tagged> | undefined> {
    const states: Array<Tagged> = []
    const replayed = Effect.flatMap(
      Effect.try({ try: () => cell.snapshotRecord(), catch: () => "unencodable" as const }),
      (snapshot): Effect.Effect<unknown, EventReplayError | PersistenceFailed> =>
        recover(cell.registered, this.#journal, { ...opened, snapshot }, opened.record.sequence, ({ from, state, moved }) => {
          if (moved || from !== state) states.push(state)
        }),
    )
    return Effect.match(replayed, { onFailure: () => undefined, onSuccess: () => states })
  }

  // While somebody waits

  /** Looks after an instance for as long as the scope lasts. */
  follow(cell: InstanceCell): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => this.#add(cell)),
      () => Effect.sync(() => this.#remove(cell)),
    )
  }

  close() {
    this.#closed = true
    this.#followed.clear()
    this.#written.clear()
    this.#rest()
  }

  #add(cell: InstanceCell) {
    if (this.#closed) return
    const cells = this.#followed.get(cell.name) ?? new Map<InstanceCell, number>()
    cells.set(cell, (cells.get(cell) ?? 0) + 1)
    this.#followed.set(cell.name, cells)
    const { local } = this.#journal
    if (local === undefined) this.#looking ??= this.#environment.run(this.#lookNowAndThen)
    else this.#unwatch ??= local.watch((key) => this.#told(key))
  }

  #remove(cell: InstanceCell) {
    const cells = this.#followed.get(cell.name)
    const waiting = (cells?.get(cell) ?? 1) - 1
    if (waiting > 0) return void cells?.set(cell, waiting)
    cells?.delete(cell)
    this.#written.delete(cell)
    if (cells?.size === 0) this.#followed.delete(cell.name)
    if (this.#followed.size === 0) this.#rest()
  }

  /** Nobody waits: nothing runs. */
  #rest() {
    this.#looking?.interruptUnsafe()
    this.#looking = undefined
    this.#unwatch?.()
    this.#unwatch = undefined
  }

  /** A store that is local tells of what this engine writes, too: that is known here. */
  #told(key: InstanceKey) {
    for (const cell of this.#followed.get(instanceName(key))?.keys() ?? []) if (!cell.isCommitting) this.#written.add(cell)
    if (this.#written.size > 0) this.#looking ??= this.#environment.run(this.#lookAtWritten)
  }

  readonly #lookAtWritten: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    yield* Effect.yieldNow
    for (;;) {
      yield* this.#look([...this.#written])
      for (const cell of this.#written) if (!cell.isRunning || this.isCurrent(cell)) this.#written.delete(cell)
      if (this.#written.size === 0) break
      // What is busy is looked at again.
      yield* Effect.sleep(this.#intervalMillis)
    }
    this.#looking = undefined
  })

  readonly #lookNowAndThen: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    for (;;) {
      yield* Effect.sleep(this.#intervalMillis)
      yield* this.#look([...this.#followed.values()].flatMap((cells) => [...cells.keys()]))
    }
  })

  #look(followed: ReadonlyArray<InstanceCell>): Effect.Effect<void> {
    const cells = followed.filter((cell) => cell.isRunning && cell.isSettled && !cell.isLocked)
    const parts = Array.from({ length: Math.ceil(cells.length / questionLimit) }, (_, index) =>
      cells.slice(index * questionLimit, (index + 1) * questionLimit),
    )
    return Effect.forEach(parts, (part) => this.#lookAt(part), { discard: true })
  }

  /** A store that is away is asked again with the next look. The log hears of it once. */
  #lookAt(cells: ReadonlyArray<InstanceCell>): Effect.Effect<void> {
    return Effect.matchEffect(this.#journal.standings(cells.map(({ key }) => key)), {
      onFailure: (error) => {
        if (this.#isAway) return Effect.void
        this.#isAway = true
        return Effect.logWarning(`whether other processes went on with what is waited for cannot be told until the store is back`, error)
      },
      onSuccess: (standings) => {
        this.#isAway = false
        const behind = cells.flatMap((cell, index) => (isBehind(cell, standings[index]) ? [[cell, standings[index]] as const] : []))
        return Effect.forEach(behind, ([cell, standing]) => this.#bring(cell, standing), { discard: true, concurrency })
      },
    })
  }

  /** One that can no longer be read here leaves memory, and whoever waits is told why. */
  #bring(cell: InstanceCell, standing: InstanceStanding | undefined): Effect.Effect<void> {
    return Effect.matchEffect(this.#readAnew(cell, standing), {
      onFailure: (error) => (error._tag === "EventReplayError" ? cell.leave(error.message) : Effect.void),
      onSuccess: () => Effect.void,
    })
  }
}

/** One that is gone counts as further, too: it has to be read to find out. */
const isBehind = (cell: InstanceCell, standing: InstanceStanding | undefined): boolean =>
  standing === undefined || standing.sequence > cell.reached
