/**
 * Finds executions that no living node runs and takes them over: those of a node that died or of this process before it lost its lease, and
 * those that were started on a node on which their workflow is not registered. Also notices writes of other nodes to executions that run
 * here.
 *
 * The scan asks the store which owners there are, checks each owner once, and pages by id through the executions of owners that are dead,
 * so that executions of living nodes cost nothing and a scan ends however many executions change meanwhile.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { InstanceRecord, KeyFilter } from "@detent/store"
import { instanceName, Wakeup } from "@detent/store/internal"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import { Execution } from "./Execution.ts"
import type { Executions } from "./Executions.ts"

const pageSize = 500

export class OrphanScan {
  readonly #executions: Executions
  readonly #wakeup = new Wakeup()
  /** Machines registered since the last scan. Their held executions are tried again: a new version may be able to run them. */
  readonly #fresh = new Set<string>()

  constructor(executions: Executions) {
    this.#executions = executions
  }

  /** Scans immediately because a workflow was registered. */
  workflowAdded(machine: string) {
    this.#fresh.add(machine)
    this.#wakeup.wake()
  }

  /** Scans immediately because this node holds a lease again: it may take over its former executions. */
  leaseRegained() {
    this.#wakeup.wake()
  }

  /** One scan, and the pause until the next. */
  turn(intervalMillis: number): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#scan
      this.#executions.lookForWaiters()
      const pause = Math.ceil(intervalMillis * (1 + 0.2 * (yield* Random.next)))
      yield* this.#wakeup.wait(pause)
    })
  }

  /** A machine that cannot be scanned does not keep the others from being scanned. */
  get #scan(): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const failures: Array<Cause.Cause<PersistenceFailed>> = []
      for (const machine of this.#executions.machines) {
        const exit = yield* Effect.exit(this.#scanMachine(machine))
        if (Exit.isFailure(exit)) failures.push(exit.cause)
      }
      const [failure] = failures
      if (failure !== undefined) return yield* Effect.failCause(failure)
    })
  }

  #scanMachine(machine: string): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      // With shards, this node runs all executions of its shards, whichever node owned them before.
      const isSharded = this.#executions.shards !== undefined
      for (const owner of yield* this.#executions.journal.owners(machine)) {
        if (isSharded || (yield* this.#executions.isDead(owner)))
          yield* this.#forEach({ machine, owner: owner ?? null }, (found) => found.takeOver())
      }
      yield* this.#forEach({ machine, owes: true }, (found) => found.takeOver())
      if (!this.#fresh.has(machine)) return
      yield* this.#forEach({ machine, status: "held" }, (found) => found.retryHeld())
      this.#fresh.delete(machine)
    })
  }

  #forEach(filter: KeyFilter, use: (found: Execution) => void): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const held = this.#executions.shards
      const shards = held === undefined ? {} : { shards: held }
      let after: string | undefined
      do {
        const records = yield* this.#executions.journal.page({ ...filter, ...shards }, pageSize, after)
        for (const record of records) this.#consider(record, use)
        after = records.length < pageSize ? undefined : records.at(-1)?.id
      } while (after !== undefined)
    })
  }

  #consider(record: InstanceRecord, use: (found: Execution) => void) {
    const executions = this.#executions
    const live = executions.live(instanceName(record))
    if (live !== undefined) {
      if (record.sequence > live.state.sequence) live.refresh()
    } else if (executions.canOwn(record)) {
      executions.use({ machine: record.machine, id: record.id }, (found) => {
        if (found instanceof Execution) use(found)
      })
    }
  }
}
