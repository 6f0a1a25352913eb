/** XState machines as durable instances. */
export type { ActionCall, CommandCall, CommandOptions } from "./ChartCommands.ts"
export type { ChartState, ChildActor } from "./ChartState.ts"
export { EndlessTransition } from "./EndlessTransition.ts"
export { type Emitted, emitted } from "./emitted.ts"
export { type ChartOptions, type FromXStateOptions, fromXState, type XStateMachine } from "./fromXState.ts"
