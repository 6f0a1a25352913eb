/**
 * Finds the instances that do not open with the definitions of this process. Most instances wait in the store until an event arrives, so
 * a deployment that they do not fit would go unnoticed until then. After a machine is registered, its running instances are replayed in
 * the background, page by page with pauses, without bringing them into memory. Those that do not replay are held with the reason, as when
 * a caller opens them. In a cluster a node checks the shards that it has, and those that it gains later.
 */
import { NewerVersion, type PersistenceFailed } from "@detent/machine"
import type { Compiled } from "@detent/machine/internal"
import type { InstanceKey } from "@detent/store"
import { forkLoop } from "@detent/store"
import { monotonicMillis, type ShardFilter } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import type { EngineParts } from "../engine/EngineParts.ts"
import { prefetchEvents } from "../live/prefetchEvents.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { instancesHeldNow } from "../runtime/Telemetry.ts"

/** What is known of the instances of one machine. */
export interface HeldReport {
  readonly machine: string
  /** How many instances the store has as held, of all processes. At most 100,000 are counted. */
  readonly held: number
  /** How many instances this process has replayed in the background. */
  readonly checked: number
  /** Whether it has replayed all that it had to. */
  readonly isComplete: boolean
}

interface Progress {
  /** A newer definition under the same name is checked anew. */
  readonly compiled: Compiled
  held: number
  checked: number
  isComplete: boolean
  /** In a cluster: the shards of this node whose instances have been checked. */
  shards: ReadonlySet<number>
}

/** The start of a process comes first. */
const delayMillis = 2000

/** How often the held instances are counted, and gained shards are looked for. */
const intervalMillis = 10_000

/** One page is in memory at a time. */
const pageSize = 50

/** The pause after a page: at least this long, and several times as long as the page took, so that commits come first. */
const pauseMillis = 50
const pauseFactor = 4

const countPage = 1000
const mostCounted = 100_000

export class HeldCheck {
  readonly #engine: EngineParts
  readonly #progress = new Map<string, Progress>()

  constructor(engine: EngineParts) {
    this.#engine = engine
  }

  get report(): ReadonlyArray<HeldReport> {
    return this.#engine.registry.all.map((machine) => {
      const { held, checked, isComplete } = this.#progressOf(machine)
      return { machine: machine.name, held, checked, isComplete }
    })
  }

  /** Checks for as long as the scope lasts. */
  get start(): Effect.Effect<void, never, Scope.Scope> {
    const turn = Effect.andThen(Effect.sleep(delayMillis), Effect.andThen(this.#checkAll, Effect.sleep(intervalMillis - delayMillis)))
    return Effect.asVoid(forkLoop("the check of instances", turn))
  }

  #progressOf({ name, compiled }: RegisteredMachine): Progress {
    const known = this.#progress.get(name)
    if (known?.compiled === compiled) return known
    const progress: Progress = { compiled, held: 0, checked: 0, isComplete: false, shards: new Set() }
    this.#progress.set(name, progress)
    return progress
  }

  get #checkAll(): Effect.Effect<void, PersistenceFailed> {
    return Effect.suspend(() =>
      Effect.forEach(
        this.#engine.registry.all,
        (machine) =>
          Effect.gen({ self: this }, function* () {
            const progress = this.#progressOf(machine)
            yield* this.#checkMachine(machine, progress)
            progress.held = yield* this.#count(machine.name)
            yield* Metric.update(Metric.withAttributes(instancesHeldNow, { machine: machine.name }), progress.held)
          }),
        { discard: true },
      ),
    )
  }

  #checkMachine(machine: RegisteredMachine, progress: Progress): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const routing = this.#engine.node?.placement?.routing
      if (routing === undefined) {
        if (!progress.isComplete) yield* this.#checkInstances(machine, progress, undefined)
        progress.isComplete = true
        return
      }
      const { count, held } = routing.shards()
      const unchecked = held.filter((shard) => !progress.shards.has(shard))
      progress.isComplete = unchecked.length === 0
      if (unchecked.length > 0) yield* this.#checkInstances(machine, progress, { count, held: unchecked })
      // A shard that was lost is checked again when it is back: another version may have written to its instances.
      const now = new Set(routing.shards().held)
      progress.shards = new Set(held.filter((shard) => now.has(shard)))
      progress.isComplete = progress.shards.size === now.size
    })
  }

  #checkInstances(machine: RegisteredMachine, progress: Progress, shards: ShardFilter | undefined): Effect.Effect<void, PersistenceFailed> {
    const { journal, table } = this.#engine
    return Effect.gen({ self: this }, function* () {
      const clock = yield* Clock.Clock
      let failing = 0
      const filter = { machine: machine.name, status: "running", newestVersion: machine.version } as const
      for (let after: string | undefined; !table.isClosed; ) {
        const began = monotonicMillis(clock)
        const page = yield* journal.page(shards === undefined ? filter : { ...filter, shards }, pageSize, after)
        failing += yield* this.#checkPage(machine, page)
        progress.checked += page.length
        if (page.length < pageSize) break
        after = page.at(-1)?.id
        const took = monotonicMillis(clock) - began
        yield* Effect.sleep(Math.max(pauseMillis, pauseFactor * took))
      }
      if (failing > 0) yield* Effect.logWarning(summary(machine, failing, progress.checked))
    })
  }

  /** Replays instances that are not in memory. Returns how many do not replay: the loader has held them. */
  #checkPage(machine: RegisteredMachine, page: ReadonlyArray<InstanceKey>): Effect.Effect<number, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const { journal, loader, table } = this.#engine
      const absent = page.filter((key) => !table.knows(key)).map(({ machine, id }) => ({ machine, id }))
      if (absent.length === 0) return 0
      const opened = (yield* journal.openAll(absent)).filter(({ record }) => record.status === "running")
      const { journal: prefetched } = yield* prefetchEvents(journal, opened)
      let failing = 0
      for (const one of opened) {
        if (table.isClosed) break
        // A caller may have opened it since, and has its result then.
        if (table.knows(one.record)) continue
        const read = yield* Effect.result(loader.recover(machine, one, prefetched))
        if (read._tag === "Failure" && read.failure._tag === "PersistenceFailed") return yield* Effect.fail(read.failure)
        if (read._tag === "Failure" && read.failure._tag === "EventReplayError" && !(read.failure instanceof NewerVersion)) failing++
        yield* Effect.yieldNow
      }
      return failing
    })
  }

  /** How many instances of a machine the store has as held. */
  #count(machine: string): Effect.Effect<number, PersistenceFailed> {
    const { journal } = this.#engine
    return Effect.gen(function* () {
      let count = 0
      for (let after: string | undefined; count < mostCounted; ) {
        const page = yield* journal.page({ machine, status: "held" }, countPage, after)
        count += page.length
        if (page.length < countPage) break
        after = page.at(-1)?.id
      }
      return count
    })
  }
}

const summary = ({ name, version }: RegisteredMachine, failing: number, checked: number): string =>
  `${failing} of ${checked} running instances of machine ${name} do not open with version ${version} of its definition, and are held; ` +
  "detent instance list --status held has the reasons; go back to the version before, or repair them"
