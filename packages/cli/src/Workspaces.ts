/** Opens the workspaces of commands. A command says how; the service opens, or returns the services of a workspace that is open. */
import type { Workspace, WorkspaceOptions, WorkspaceServices } from "@detent/workspace/Workspace"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface WorkspacesService {
  readonly open: (options: WorkspaceOptions) => Layer.Layer<WorkspaceServices, Layer.Error<ReturnType<typeof Workspace.open>>>
}

export class Workspaces extends Context.Service<Workspaces, WorkspacesService>()("@detent/cli/Workspaces") {
  /** Loads the code of workspaces when a command opens one. */
  static readonly layer: Layer.Layer<Workspaces> = Layer.succeed(Workspaces, {
    open: (options) =>
      Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@detent/workspace/Workspace")),
          (workspace) => workspace.Workspace.open(options),
        ),
      ),
  })
}
