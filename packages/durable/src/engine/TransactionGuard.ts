/**
 * What an instance does is stored by the engine's own flushes. Inside a transaction of the caller's it would be no part of that:
 * on PostgreSQL it stays when the transaction is rolled back, on SQLite each would wait for the other.
 */
import { PersistenceFailed } from "@detent/machine"
import type { InstanceKey } from "../store/Commit.ts"

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
