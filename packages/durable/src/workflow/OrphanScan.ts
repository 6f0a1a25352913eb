/**
 * Executions that somebody should run and nobody does: those of a process that died, those that were started where their
 * workflow is not known, and those of this process before it was restarted. They are found and gone on with in bulk.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Random from "effect/Random"
import { instanceName } from "../store/CommitCheck.ts"
import type { InstanceCursor, InstanceRecord } from "../store/Journal.ts"
import type { Executions } from "./Executions.ts"
import { Unreadable } from "./Reading.ts"

const pageSize = 500

export class OrphanScan {
  readonly #executions: Executions
  readonly #workflowAdded = Latch.makeUnsafe(false)
  /** Machines whose held executions are tried again: a new version may be able to go on with them. */
  readonly #fresh = new Set<string>()

  constructor(executions: Executions) {
    this.#executions = executions
  }

  /** A workflow has been registered: what is left of it goes on at once. */
  workflowAdded(machine: string) {
    this.#fresh.add(machine)
    this.#workflowAdded.openUnsafe()
  }

  /** This node holds a lease again: what its former life ran is taken over at once, unless another node was quicker. */
  regained() {
    this.#workflowAdded.openUnsafe()
  }

  /** Looks at once, and then again and again. A store that is away is asked the next time. */
  forever(intervalMillis: number): Effect.Effect<never> {
    return Effect.gen({ self: this }, function* () {
      for (;;) {
        this.#workflowAdded.closeUnsafe()
        yield* Effect.catch(this.scan, (error) => Effect.logWarning("unfinished executions could not be looked for", error.message))
        const pause = Math.ceil(intervalMillis * (1 + 0.2 * (yield* Random.next)))
        yield* Effect.timeoutOption(this.#workflowAdded.await, pause)
        for (const key of this.#executions.waiting.due) {
          if (this.#executions.live(instanceName(key)) === undefined) this.#executions.look(key)
        }
      }
    })
  }

  readonly scan: Effect.Effect<void, PersistenceFailed> = Effect.gen({ self: this }, function* () {
    for (const machine of this.#executions.machines) {
      yield* this.#pages({ machine, resident: true })
      if (!this.#fresh.delete(machine)) continue
      yield* this.#pages({ machine, status: "held" })
    }
  })

  #pages(filter: { readonly machine: string; readonly resident?: boolean; readonly status?: "held" }) {
    return Effect.gen({ self: this }, function* () {
      let after: InstanceCursor | undefined
      do {
        const page = yield* this.#executions.journal.list(filter, pageSize, after)
        const considered = page.instances.filter(({ status }) => filter.status === "held" || status !== "held")
        const dead = yield* this.#deadOwners(considered)
        for (const record of considered) this.#consider(record, dead)
        after = page.next
      } while (after !== undefined)
    })
  }

  #deadOwners(records: ReadonlyArray<InstanceRecord>): Effect.Effect<ReadonlySet<string | undefined>> {
    const executions = this.#executions
    const owners = new Set(records.flatMap(({ owner }) => owner ?? []))
    return Effect.map(
      Effect.filter(owners, (owner) => executions.isDead(owner)),
      (dead) => new Set([undefined, ...dead]),
    )
  }

  /** One of its own that is not in memory is one that nobody runs. */
  #consider(record: InstanceRecord, dead: ReadonlySet<string | undefined>) {
    const executions = this.#executions
    const live = executions.live(instanceName(record))
    // Somebody else has completed a deferred of it, or interrupted it.
    if (live !== undefined && record.sequence > live.state.sequence) live.refresh()
    if (live !== undefined || !executions.canOwn) return
    if (record.status === "running" && !dead.has(record.owner)) return
    executions.use({ machine: record.machine, id: record.id }, (found) => {
      if (found === undefined || found instanceof Unreadable) return
      found.takeOver()
    })
  }
}
