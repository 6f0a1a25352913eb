/** Gives the operations that a handler calls the services of the workspace, and maps their errors to problems. */
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import { answering, type OperationError } from "./ProblemOf.ts"

export const makeOperating = Effect.map(
  Effect.context<WorkspaceServices>(),
  (workspace) =>
    <A, E extends OperationError, R>(operation: Effect.Effect<A, E, R>) =>
      answering(Effect.provideContext(operation, workspace)),
)
