/** What an execution in memory needs of the engine that keeps it. */
import type { Environment } from "@detent/machine/internal"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Workflow from "effect/unstable/workflow/Workflow"
import type { WorkflowEngine, WorkflowInstance } from "effect/unstable/workflow/WorkflowEngine"
import type { GroupCommit } from "../runtime/GroupCommit.ts"
import type { InstanceKey } from "../store/Commit.ts"
import type { JournalService } from "../store/Journal.ts"
import type { Execution } from "./Execution.ts"
import type { ExecutionEvent } from "./ExecutionEvent.ts"
import type { Codecs } from "./StoredExit.ts"
import type { Waiting } from "./Waiting.ts"

/** A workflow this process can run. */
export interface RegisteredWorkflow {
  readonly workflow: Workflow.Any
  readonly execute: (payload: object, executionId: string) => Effect.Effect<unknown, unknown, WorkflowEngine | WorkflowInstance>
  /** The services its executions run with. */
  readonly context: Context.Context<never>
}

export interface ExecutionKeeper {
  readonly journal: JournalService
  /** For an execution that comes into memory now. */
  readonly committer: GroupCommit
  readonly environment: Environment
  readonly codecs: Codecs
  readonly waiting: Waiting
  /** The name of this process among those who share the store. */
  readonly owner: string
  readonly isClosed: boolean
  /** Whether this node holds its lease, so that it may run executions. */
  readonly canOwn: boolean
  registered(machine: string): RegisteredWorkflow | undefined
  /** Whether the process of that name is still there, as far as the store knows. */
  isAlive(owner: string): Effect.Effect<boolean>
  /** Stores an event with an execution, wherever that is. */
  deliver(key: InstanceKey, event: ExecutionEvent): Effect.Effect<void>
  /** A deadline has been stored. */
  clockSet(due: number): void
  /** The execution is no longer in memory. */
  left(execution: Execution): void
}
