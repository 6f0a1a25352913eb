/** The definition of the HTTP API and of the RPC group. */

export * as BatchApi from "../batches/Api.ts"
export { BatchRpc } from "../batches/Rpc.ts"
export * as CommandApi from "../commands/Api.ts"
export * as ExecutionApi from "../executions/Api.ts"
export * as InstanceApi from "../instances/Api.ts"
export * as KnowledgeApi from "../knowledge/Api.ts"
export * as MachineApi from "../machines/Api.ts"
export * as SystemApi from "../system/Api.ts"
export * as UploadApi from "../uploads/Api.ts"
export { Api, openApi } from "./Api.ts"
export { pageLimit } from "./Paging.ts"
export * as Problem from "./Problem.ts"
