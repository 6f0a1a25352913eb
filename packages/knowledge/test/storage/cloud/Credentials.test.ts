import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Config from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as GcsStorage from "../../../src/storage/cloud/GcsStorage.ts"
import * as S3Storage from "../../../src/storage/cloud/S3Storage.ts"
import { getText } from "../../../src/storage/Storage.ts"
import { blobIn } from "../../../src/storage/Uri.ts"
import { inTurn } from "../../../testing/cloud/index.ts"
import { awsKeys, fakeGcs, fakeS3, gsRoot, keyPair, keys, quick, s3Root } from "./fakes.ts"

const home = mkdtempSync(join(tmpdir(), "detent-credentials-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

let files = 0
const fileOf = (content: string): string => {
  const file = join(home, `file-${files++}`)
  writeFileSync(file, content)
  return file
}

const withEnvironment = (environment: Readonly<Record<string, string>>) =>
  Effect.provideService(
    Config.ConfigProvider,
    Config.fromEnv({ env: { CLOUDSDK_CONFIG: home, AWS_CONFIG_FILE: home, AWS_SHARED_CREDENTIALS_FILE: home, ...environment } }),
  )

const uri = blobIn(gsRoot, "a.txt")
const email = "runner@project.iam.gserviceaccount.com"

describe("credentials of Google", () => {
  const { publicKey, privateKey } = keyPair()
  const keyFile = (url: string, key = privateKey) =>
    fileOf(
      JSON.stringify({ type: "service_account", client_email: email, private_key: key, private_key_id: "1", token_uri: `${url}/token` }),
    )

  it.live("a service account's key gives one token for many requests, and a new one when it has ended", () =>
    Effect.gen(function* () {
      const fake = yield* fakeGcs({ anonymous: false, serviceAccount: { email, publicKey } })
      const storage = yield* withEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: keyFile(fake.url) })(
        GcsStorage.make({ root: gsRoot, endpoint: fake.url, retry: quick }),
      )
      yield* Effect.forEach([1, 2, 3, 4], (number) => storage.set(blobIn(gsRoot, `${number}`), "x"), { concurrency: 4 })
      assert.strictEqual(fake.tokensGiven(), 1)
      fake.endTokens()
      yield* storage.set(uri, "after")
      assert.strictEqual(yield* getText(storage, uri), "after")
      assert.strictEqual(fake.tokensGiven(), 2)
    }).pipe(Effect.scoped),
  )

  it.live("a token that ends soon is replaced before it is used", () =>
    Effect.gen(function* () {
      const fake = yield* fakeGcs({ anonymous: false, tokenSeconds: 100 })
      const storage = yield* withEnvironment({ GCE_METADATA_HOST: fake.url.slice(7) })(
        GcsStorage.make({ root: gsRoot, endpoint: fake.url, retry: quick }),
      )
      yield* storage.set(uri, "x")
      assert.isAbove(fake.tokensGiven(), 1)
    }).pipe(Effect.scoped),
  )

  it.live("the metadata server gives the token of the machine's service account, also when it is away for a moment", () =>
    Effect.gen(function* () {
      const fake = yield* fakeGcs({ anonymous: false })
      fake.plan = inTurn({ status: 503 })
      const storage = yield* withEnvironment({ GCE_METADATA_HOST: fake.url.slice(7) })(
        GcsStorage.make({ root: gsRoot, endpoint: fake.url, retry: quick }),
      )
      yield* storage.set(uri, "x")
      assert.strictEqual(fake.tokensGiven(), 1)
    }).pipe(Effect.scoped),
  )

  it.live("a foreign key is refused with the account's name, and no part of a key is in a message", () =>
    Effect.gen(function* () {
      const fake = yield* fakeGcs({ anonymous: false, serviceAccount: { email, publicKey } })
      const refusalOf = (file: string) =>
        withEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: file })(GcsStorage.make({ root: gsRoot, endpoint: fake.url, retry: quick })).pipe(
          Effect.flatMap((storage) => Effect.flip(storage.get(uri))),
        )
      const other = keyPair().privateKey
      const foreign = yield* refusalOf(keyFile(fake.url, other))
      assert.include(foreign.message, `Google gives service account ${email} no token (400 invalid_grant)`)
      const broken = yield* refusalOf(keyFile(fake.url, "no key"))
      assert.include(broken.message, "download the key again")
      const noKey = yield* refusalOf(fileOf(`{"type":"external_account","secret":"s3cr3t"}`))
      assert.include(noKey.message, "neither the key of a service account nor the login of a user")
      const missing = yield* refusalOf(join(home, "missing"))
      assert.include(missing.message, "correct GOOGLE_APPLICATION_CREDENTIALS")
      for (const { message } of [foreign, broken, noKey, missing]) {
        assert.notInclude(message, other.split("\n")[1] ?? "-")
        assert.notInclude(message, "s3cr3t")
      }
    }).pipe(Effect.scoped),
  )

  it.live("an emulator is asked without credentials", () =>
    Effect.gen(function* () {
      const fake = yield* fakeGcs()
      const storage = yield* withEnvironment({ STORAGE_EMULATOR_HOST: fake.url.slice(7) })(GcsStorage.make({ root: gsRoot, retry: quick }))
      yield* storage.set(uri, "x")
      assert.strictEqual(yield* getText(storage, uri), "x")
    }).pipe(Effect.scoped),
  )
})

describe("keys of AWS", () => {
  const at = blobIn(s3Root, "a b/ø+!'()*~.txt")

  it.live("are taken from the environment, then from the profile that is named", () =>
    Effect.gen(function* () {
      const fake = yield* fakeS3({ region: "eu-central-1" })
      const fromVariables = {
        AWS_ACCESS_KEY_ID: awsKeys.accessKeyId,
        AWS_SECRET_ACCESS_KEY: awsKeys.secretAccessKey,
        AWS_REGION: "eu-central-1",
      }
      const fromProfile = {
        AWS_PROFILE: "work",
        AWS_SHARED_CREDENTIALS_FILE: fileOf(
          `[default]\naws_access_key_id = other\naws_secret_access_key = other\n\n[work]\naws_access_key_id = ${awsKeys.accessKeyId}\naws_secret_access_key=${awsKeys.secretAccessKey}\n`,
        ),
        AWS_CONFIG_FILE: fileOf("[profile work]\n# a comment = 1\nregion = eu-central-1\n"),
      }
      for (const environment of [fromVariables, fromProfile]) {
        const storage = yield* withEnvironment({ AWS_ENDPOINT_URL_S3: fake.url, ...environment })(
          S3Storage.make({ root: s3Root, retry: quick }),
        )
        yield* storage.set(at, "x")
        assert.strictEqual(yield* getText(storage, at), "x")
      }
    }).pipe(Effect.scoped),
  )

  it.live("of a session carry its token", () =>
    Effect.gen(function* () {
      const fake = yield* fakeS3({ sessionToken: "session" })
      const open = (token: string) =>
        S3Storage.make({ root: s3Root, endpoint: fake.url, keys: { ...keys, sessionToken: Redacted.make(token) }, retry: quick })
      yield* (yield* open("session")).set(at, "x")
      const expired = yield* Effect.flip((yield* open("before")).get(at))
      assert.include(expired.message, "ExpiredToken")
    }).pipe(Effect.scoped),
  )

  it.live("that are missing, foreign or of another region are refused without a secret in the message", () =>
    Effect.gen(function* () {
      const fake = yield* fakeS3()
      const missing = yield* withEnvironment({})(S3Storage.make({ root: s3Root, endpoint: fake.url, retry: quick }))
      assert.include((yield* Effect.flip(missing.get(at))).message, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
      const secret = "another-secret"
      const foreign = yield* S3Storage.make({
        root: s3Root,
        endpoint: fake.url,
        keys: { ...keys, secretAccessKey: Redacted.make(secret) },
        retry: quick,
      })
      const { message } = yield* Effect.flip(foreign.get(at))
      assert.include(message, "SignatureDoesNotMatch")
      assert.notInclude(message, secret)
      const elsewhere = yield* S3Storage.make({ root: s3Root, endpoint: fake.url, keys, region: "eu-west-3", retry: quick })
      assert.include((yield* Effect.flip(elsewhere.get(at))).message, "expecting 'us-east-1'")
    }).pipe(Effect.scoped),
  )
})
