/** A workspace: a data folder or database with all that is in it, opened by one configuration. */

export {
  type AnyMachine,
  type Config,
  type ConfigLayer,
  type ConfigOf,
  ConfigRefused,
  defineConfig,
  loadConfig,
  readConfig,
} from "./Config.ts"
export { type MachineEntry, Machines, type MachinesService } from "./Machines.ts"
export {
  DatabaseRefused,
  type Role,
  type Stores,
  Workspace,
  type WorkspaceError,
  type WorkspaceOptions,
  WorkspaceRefused,
  type WorkspaceService,
  type WorkspaceServices,
} from "./Workspace.ts"
