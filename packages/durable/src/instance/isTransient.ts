/** Failures that say nothing of an event: the store or a lock stood in the way, and it was neither taken nor refused. */
import { LockingFailed, PersistenceFailed, SequenceConflict } from "@detent/machine"

export const isUndecided = (result: unknown): boolean =>
  result instanceof PersistenceFailed || result instanceof LockingFailed || result instanceof SequenceConflict
