/** Every operation on a workspace, implemented once. HTTP, RPC, the command line and MCP decode, call an operation, and encode. */

export * as access from "./access.ts"
export * as batches from "./batches.ts"
export * as commands from "./commands.ts"
export * as executions from "./executions.ts"
export * as graph from "./graph.ts"
export * as instances from "./instances.ts"
export * as machines from "./machines.ts"
export * as oracle from "./oracle.ts"
export * as schedules from "./schedules.ts"
export * as uploads from "./uploads.ts"
