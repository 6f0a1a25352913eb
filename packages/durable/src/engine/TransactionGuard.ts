/**
 * Refuses calls inside a transaction of the caller. The engine's own flushes write the commits of instances, so they would not be
 * part of that transaction: on PostgreSQL they would stay when it is rolled back, on SQLite each would wait for the other.
 */
import { PersistenceFailed } from "@detent/machine"
import type { Environment, Host } from "@detent/machine/internal"
import type { InstanceKey, JournalService } from "@detent/store"
import * as Context from "effect/Context"
import type * as Fiber from "effect/Fiber"
import type { TransactionConnection } from "effect/sql/SqlClient"

export class TransactionGuard {
  readonly #transaction: JournalService["transaction"]
  readonly #host: Host

  constructor(journal: JournalService, host: Host) {
    this.#transaction = journal.transaction
    this.#host = host
  }

  /** Whether a fiber is inside a transaction of the store's database. */
  isInside({ context }: Fiber.Fiber<unknown, unknown>): boolean {
    return this.#isIn(context)
  }

  #isIn(context: Context.Context<never>): boolean {
    return this.#transaction !== undefined && Context.getOrUndefined(context, this.#transaction) !== undefined
  }

  /** The services of a caller without its transaction: fibers started inside one outlive it. */
  environmentFor(context: Context.Context<unknown>): Environment {
    if (this.#transaction === undefined || !this.#isIn(context as Context.Context<never>)) return this.#host.environment(context)
    const outside = Context.omit(this.#transaction)(context as Context.Context<TransactionConnection>)
    return this.#host.environment(outside as Context.Context<unknown>)
  }
}

export const notInTransaction = (
  { machine, id }: Pick<InstanceKey, "machine"> & { readonly id?: string },
  operation: string,
): PersistenceFailed =>
  new PersistenceFailed({
    machine,
    ...(id === undefined ? {} : { id }),
    operation,
    cause: new Error("it is not part of your transaction; call it after the commit, or use startAll, which is part of it"),
  })
