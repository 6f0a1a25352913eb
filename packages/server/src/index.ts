/** One port for everything: HTTP, RPC, live streams, metrics. */

export * as api from "./api/index.ts"
export * as client from "./client/index.ts"
export {
  type AnyMachine,
  type Config,
  type ConfigLayer,
  type ConfigOf,
  ConfigRefused,
  defineConfig,
  loadConfig,
  readConfig,
} from "./home/Config.ts"
export {
  DatabaseRefused,
  Home,
  type HomeError,
  type HomeOptions,
  HomeRefused,
  type HomeService,
  type HomeServices,
  type Role,
} from "./home/Home.ts"
export { type MachineEntry, Machines, type MachinesService } from "./home/Machines.ts"
export { type ObservabilityOptions, observability } from "./serve/Observability.ts"
export { runServer } from "./serve/runServer.ts"
export { type Limits, ListenFailed, type ServeOptions, Server, serve, TokenNeeded, TokenWeak } from "./serve/Serve.ts"
