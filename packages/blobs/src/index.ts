/** Blobs by address, in memory, in a folder, in Google Cloud Storage or in a store that speaks the protocol of S3. */

export { type AwsKeys, CredentialsRefused, type GoogleCredentials } from "./cloud/Credentials.ts"
export * as GcsStorage from "./cloud/GcsStorage.ts"
export type { RetryOptions } from "./cloud/ObjectHttp.ts"
export type { BucketScope } from "./cloud/ObjectStorage.ts"
export * as S3Storage from "./cloud/S3Storage.ts"
export * as FileStorage from "./file/FileStorage.ts"
export * as StorageLocation from "./StorageLocation.ts"
export * from "./storage/ContentHash.ts"
export * as MemoryStorage from "./storage/MemoryStorage.ts"
export * from "./storage/Storage.ts"
export * as StorageKeyValueStore from "./storage/StorageKeyValueStore.ts"
