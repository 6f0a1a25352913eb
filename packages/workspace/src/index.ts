/** A workspace: a data folder or database, opened with one configuration. */

export {
  type AnyMachine,
  type Config,
  type ConfigLayer,
  type ConfigOf,
  ConfigRefused,
  type ConfiguredWorkflow,
  decodeConfig,
  defineConfig,
  findConfig,
  type HttpLimits,
  loadConfig,
  type ProvidedServices,
  readConfig,
  type UploadType,
  type WorkflowEvents,
  type WorkspaceLimits,
} from "./Config.ts"
export { SystemOff } from "./errors.ts"
export { type MachineEntry, Machines, type MachinesService } from "./Machines.ts"
export { type KnowledgeServices, Systems, type SystemsService } from "./Systems.ts"
export {
  CurrentWorkspace,
  type CurrentWorkspaceService,
  DatabaseRefused,
  type Role,
  type Stores,
  Workspace,
  type WorkspaceError,
  type WorkspaceOptions,
  WorkspaceRefused,
  type WorkspaceServices,
} from "./Workspace.ts"
