/**
 * Durable machines and workflows for async code, on the same engine and journal as the Effect API.
 *
 * ```ts
 * await using engine = await openEngine({ database: "sqlite:orders.db", machines: [Order] })
 * const order = await engine.start(Order, "order-123", { total: 42 })
 * await order.send(E.Pay(), { id: "webhook-77" })
 * ```
 */
export type { Actor } from "./machine/Actor.ts"
export type { PurgeOptions } from "./operate/Retention.ts"
export { type AsyncEngine, type EngineServices, type OpenEngineOptions, openEngine } from "./promise/AsyncEngine.ts"
export type { AsyncInstance } from "./promise/AsyncInstance.ts"
export type { AsyncSchedules } from "./promise/AsyncSchedules.ts"
export {
  type AsyncWorkflow,
  type AsyncWorkflowOptions,
  type Durable,
  type EventSchemas,
  type StepContext,
  type StepFunction,
  type StepOptions,
  workflow,
} from "./promise/AsyncWorkflow.ts"
export type { AsyncWorkflows, KnownWorkflow } from "./promise/AsyncWorkflows.ts"
export { type DatabaseAddress, DatabaseRefused } from "./promise/Database.ts"
export { EngineClosed, ExecutionCancelled } from "./promise/errors.ts"
export * as HandlerResult from "./promise/HandlerResult.ts"
export type { PlainOf } from "./promise/PlainResult.ts"
export type { AbortOptions } from "./promise/promised.ts"
export { enqueue, runWorkflow, type Schedule, type ScheduledTime, schedule, scheduleTarget, startInstance } from "./Schedules.ts"
export { type SendStatementOptions, type SqlStatement, type StartStatementOptions, sendStatement, startStatement } from "./SqlStatements.ts"
