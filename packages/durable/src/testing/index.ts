/** The rules every store, and the engine on it, is held to, as vitest suites: run them on a store of your own. */
export { engineConformance } from "./engine/EngineConformance.ts"
export type { EngineKitOptions } from "./engine/Rig.ts"
export { instancesConformance } from "./instancesConformance.ts"
export { journalConformance } from "./journalConformance.ts"
export { leasesConformance } from "./leasesConformance.ts"
export type { Part, StoreHooks, StoreLayer } from "./StoreHooks.ts"
export { storeAgreement } from "./storeAgreement.ts"
export { timersConformance } from "./timersConformance.ts"
