/** The server: HTTP, RPC, live streams and metrics on one port. */

export {
  type AnyMachine,
  type Config,
  type ConfigLayer,
  type ConfigOf,
  ConfigRefused,
  defineConfig,
  loadConfig,
  readConfig,
} from "@detent/workspace/Config"
export { type MachineEntry, Machines, type MachinesService } from "@detent/workspace/Machines"
export {
  CurrentWorkspace,
  type CurrentWorkspaceService,
  DatabaseRefused,
  type Role,
  Workspace,
  type WorkspaceError,
  type WorkspaceOptions,
  WorkspaceRefused,
  type WorkspaceServices,
} from "@detent/workspace/Workspace"
export { type InstanceTokenOptions, type InstanceTokens, makeInstanceTokens } from "./access/InstanceTokens.ts"
export { runServer } from "./runServer.ts"
export { type Limits, ListenFailed, OriginInvalid, type ServeOptions, Server, serve, TokenNeeded, TokenWeak } from "./Serve.ts"
export { type ObservabilityOptions, observability } from "./serve/Observability.ts"
