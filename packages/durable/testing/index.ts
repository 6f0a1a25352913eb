/** The rules that the engine, its workers and its workflows are held to on every store, as vitest suites. Those of a store alone are in `@detent/store/testing`. */
export { commandsConformance } from "./commandsConformance.ts"
export { engineConformance } from "./engine/EngineConformance.ts"
export type { EngineKitOptions } from "./engine/Rig.ts"
export type { WorkflowKitOptions } from "./workflow/Rig.ts"
export { workflowConformance } from "./workflow/WorkflowConformance.ts"
