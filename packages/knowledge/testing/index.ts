/** The rules every storage is held to, as vitest suites: run them on a storage of your own. */
export { type StorageKitOptions, storageConformance } from "./storageConformance.ts"
