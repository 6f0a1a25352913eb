/** Failures that do not decide about an event: the store or a lock was in the way, and the event was neither accepted nor refused. */
import { LockingFailed, PersistenceFailed, SequenceConflict } from "@detent/machine"

export const isTransient = (result: unknown): boolean =>
  result instanceof PersistenceFailed || result instanceof LockingFailed || result instanceof SequenceConflict
