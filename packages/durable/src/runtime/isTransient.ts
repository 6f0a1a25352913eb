/** Whether an event failed because of the store, a lock or another node, and was neither accepted nor refused. */
import { LockingFailed, PersistenceFailed, SequenceConflict } from "@detent/machine"

export const isTransient = (result: unknown): boolean =>
  result instanceof PersistenceFailed || result instanceof LockingFailed || result instanceof SequenceConflict
