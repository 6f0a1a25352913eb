/** The conformance suite that every storage must pass, for vitest: run it on a storage of your own. */
export { type StorageKitOptions, storageConformance } from "./storageConformance.ts"
