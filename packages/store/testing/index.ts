/** The rules that every store is held to, as vitest suites: run them on a store of your own. */
export type { CommandHooks, CommandStoreLayer } from "./CommandKit.ts"
export { instancesConformance } from "./instancesConformance.ts"
export { journalConformance } from "./journalConformance.ts"
export { leasesConformance } from "./leasesConformance.ts"
export { ownershipConformance } from "./ownershipConformance.ts"
export type { Part, StoreHooks, StoreLayer } from "./StoreHooks.ts"
export { storeAgreement } from "./storeAgreement.ts"
export { timersConformance } from "./timersConformance.ts"
