/** The fake object stores as scoped resources, and storages on them that do not wait long between attempts. */
import { generateKeyPairSync } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { RetryOptions } from "../../src/cloud/ObjectHttp.ts"
import { StorageFolder } from "../../src/storage/Storage.ts"
import { type FakeGcs, type FakeGcsOptions, type FakeS3, type FakeS3Options, startFakeGcs, startFakeS3 } from "../../testing/cloud/index.ts"

export const gsRoot = StorageFolder.make("gs://detent-test/data/")
export const s3Root = StorageFolder.make("s3://detent-test/data/")

export const bucket = "detent-test"

/** Many attempts: the faults of a test come in any order. */
export const quick: RetryOptions = { attempts: 12, base: "2 millis", longest: "30 millis", timeout: "10 seconds" }

export const fakeGcs = (options: Partial<FakeGcsOptions> = {}): Effect.Effect<FakeGcs, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => startFakeGcs({ buckets: [bucket], anonymous: true, ...options })),
    (fake) => Effect.promise(() => fake.close()),
  )

export const awsKeys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" }

export const keys = { accessKeyId: awsKeys.accessKeyId, secretAccessKey: Redacted.make(awsKeys.secretAccessKey) }

export const fakeS3 = (options: Partial<FakeS3Options> = {}): Effect.Effect<FakeS3, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => startFakeS3({ buckets: [bucket], ...awsKeys, ...options })),
    (fake) => Effect.promise(() => fake.close()),
  )

export const keyPair = () =>
  generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
