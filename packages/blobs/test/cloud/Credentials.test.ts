import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Config from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Redacted from "effect/Redacted"
import { signerFor } from "../../src/cloud/AwsSignature.ts"
import * as GcsStorage from "../../src/cloud/GcsStorage.ts"
import * as S3Storage from "../../src/cloud/S3Storage.ts"
import { blobIn, getText, ifAbsent } from "../../src/storage/Storage.ts"
import { inTurn } from "../../testing/cloud/index.ts"
import { awsKeys, fakeGcs, fakeS3, gsRoot, keyPair, keys, quick, s3Root } from "./fakes.ts"

const home = mkdtempSync(join(tmpdir(), "detent-credentials-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

let files = 0
const fileOf = (content: string): string => {
  const file = join(home, `file-${files++}`)
  writeFileSync(file, content)
  return file
}

/** No files of the user who runs the test, and no machine to ask. */
const nothing = { CLOUDSDK_CONFIG: home, AWS_CONFIG_FILE: home, AWS_SHARED_CREDENTIALS_FILE: home, AWS_EC2_METADATA_DISABLED: "true" }

const withEnvironment = (environment: Readonly<Record<string, string>>) =>
  Effect.provideService(Config.ConfigProvider, Config.fromEnv({ env: { ...nothing, ...environment } }))

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
      assert.include(foreign.message, `Google refused a token for service account ${email} (400 invalid_grant)`)
      const broken = yield* refusalOf(keyFile(fake.url, "no key"))
      assert.include(broken.message, "download the key again")
      const noKey = yield* refusalOf(fileOf(`{"type":"external_account","secret":"s3cr3t"}`))
      assert.include(noKey.message, "holds credentials of the kind external_account")
      assert.include(noKey.message, "use a machine that has a service account, the key of one")
      const noJson = yield* refusalOf(fileOf("{"))
      assert.include(noJson.message, "neither the key of a service account nor the login of a user")
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
      assert.include(expired.message, "get new ones, with AWS_SESSION_TOKEN where they have a session")
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
      const { message: where } = yield* Effect.flip(elsewhere.get(at))
      assert.include(where, "expecting 'us-east-1'")
      assert.include(where, "set AWS_REGION to the region of the bucket")
      const away = yield* S3Storage.make({ root: s3Root, endpoint: "http://127.0.0.1:1", keys, retry: quick })
      assert.include((yield* Effect.flip(away.get(at))).message, "AWS_ENDPOINT_URL_S3")
    }).pipe(Effect.scoped),
  )

  /** A server that gives out keys: each answer has the next session token, and `handle` decides on requests that ask for more. */
  const keyServer = (sessions: ReadonlyArray<string>, handle: (request: IncomingMessage) => string | undefined = () => undefined) =>
    Effect.acquireRelease(
      Effect.promise(async () => {
        const asked: Array<IncomingMessage> = []
        const server = createServer((request, response) => {
          asked.push(request)
          const said = handle(request)
          const Token = sessions[asked.filter(({ url }) => url === "/keys").length - 1] ?? sessions.at(-1)
          const keysNow = {
            AccessKeyId: awsKeys.accessKeyId,
            SecretAccessKey: awsKeys.secretAccessKey,
            Token,
            Expiration: "2100-01-01T00:00:00Z",
          }
          response.writeHead(said === "" ? 401 : 200).end(said ?? JSON.stringify(keysNow))
        })
        await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
        return { asked, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
      }),
      ({ server }) => Effect.promise(() => new Promise((done) => server.close(done).closeAllConnections())),
    )

  it.live("of a container are asked for once, with its token, and again when their session has ended", () =>
    Effect.gen(function* () {
      const fake = yield* fakeS3({ sessionToken: "second" })
      const source = yield* keyServer(["first", "second"])
      const storage = yield* withEnvironment({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${source.url}/keys`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: fileOf("pod-token\n"),
      })(S3Storage.make({ root: s3Root, endpoint: fake.url, retry: quick }))
      yield* Effect.forEach([1, 2, 3, 4], (number) => storage.set(blobIn(s3Root, `${number}`), "x"), { discard: true })
      assert.strictEqual(yield* getText(storage, blobIn(s3Root, "4")), "x")
      assert.deepStrictEqual(
        source.asked.map(({ headers }) => headers.authorization),
        ["pod-token", "pod-token"],
      )
    }).pipe(Effect.scoped),
  )

  it.live("of a machine are asked for in a session of the metadata service", () =>
    Effect.gen(function* () {
      const fake = yield* fakeS3({ sessionToken: "machine" })
      const roles = "/latest/meta-data/iam/security-credentials/"
      const source = yield* keyServer(["machine"], ({ method, url, headers }) => {
        if (method === "PUT" && url === "/latest/api/token" && headers["x-aws-ec2-metadata-token-ttl-seconds"] !== undefined)
          return "session"
        if (headers["x-aws-ec2-metadata-token"] !== "session") return ""
        return url === roles ? "the-role" : undefined
      })
      const environment = { AWS_EC2_METADATA_DISABLED: "false", AWS_EC2_METADATA_SERVICE_ENDPOINT: `${source.url}/` }
      const storage = yield* withEnvironment(environment)(S3Storage.make({ root: s3Root, endpoint: fake.url, retry: quick }))
      yield* storage.set(at, "x")
      assert.strictEqual(yield* getText(storage, at), "x")
      assert.deepStrictEqual(
        source.asked.map(({ url }) => url),
        ["/latest/api/token", roles, `${roles}the-role`],
      )
    }).pipe(Effect.scoped),
  )

  it.live("are not asked for at another machine, and a profile without keys is refused with the next step", () =>
    Effect.gen(function* () {
      const fake = yield* fakeS3()
      const refusalOf = (environment: Readonly<Record<string, string>>) =>
        withEnvironment(environment)(S3Storage.make({ root: s3Root, endpoint: fake.url, retry: quick })).pipe(
          Effect.flatMap((storage) => Effect.flip(storage.get(at))),
        )
      const elsewhere = yield* refusalOf({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://keys.example.org/",
        AWS_CONTAINER_AUTHORIZATION_TOKEN: "t-1",
      })
      assert.include(elsewhere.message, "http://keys.example.org/ is not a trusted address for the AWS keys of a container")
      assert.notInclude(elsewhere.message, "t-1")
      const login = yield* refusalOf({ AWS_PROFILE: "work", AWS_CONFIG_FILE: fileOf("[profile work]\nsso_session = company\n") })
      assert.include(login.message, "the profile work has no keys of its own, only sso_session")
      assert.include(login.message, "aws configure export-credentials --profile work")
    }).pipe(Effect.scoped),
  )

  it.live("sign requests to R2 for the region auto, at the account's own address", () =>
    Effect.gen(function* () {
      const sent: Array<{ readonly url: string; readonly headers: Readonly<Record<string, string | undefined>> }> = []
      const client = HttpClient.make((request, url) =>
        Effect.sync(() => {
          sent.push({ url: url.href, headers: request.headers })
          const isBegin = url.search === "?uploads="
          const isEnd = request.method === "POST" && !isBegin
          const body = isBegin ? "<R><UploadId>u</UploadId></R>" : isEnd ? '<R><ETag>"e-2"</ETag></R>' : ""
          return HttpClientResponse.fromWeb(
            request,
            new Response(body, { status: request.method === "HEAD" ? 404 : 200, headers: { etag: '"e"' } }),
          )
        }),
      )
      const endpoint = "https://account.r2.cloudflarestorage.com"
      const storage = yield* S3Storage.make({ root: s3Root, endpoint, keys, retry: quick }).pipe(
        Effect.provideService(HttpClient.HttpClient, client),
      )
      yield* storage.set(blobIn(s3Root, "a.txt"), "x", ifAbsent)
      yield* storage.set(blobIn(s3Root, "large.bin"), new Uint8Array(9 * 1024 * 1024), ifAbsent)
      for (const { url, headers } of sent) {
        assert.isTrue(url.startsWith(`${endpoint}/detent-test/data/`), url)
        assert.match(headers["authorization"] ?? "", /Credential=[^/]+\/\d{8}\/auto\/s3\/aws4_request/)
      }
      assert.strictEqual(sent.length, 5)
      // R2 knows no checksum of a whole object that was sent in parts.
      const [, begin, , , end] = sent
      for (const one of [begin, end]) assert.notInclude(Object.keys(one?.headers ?? {}).join(), "x-amz-checksum")
    }).pipe(Effect.scoped),
  )
})

describe("a signer of requests to S3", () => {
  it("signs with the keys and the day of each request, though it derives a key once", () => {
    const request = { method: "GET", url: "https://bucket.s3.us-east-1.amazonaws.com/a", headers: {} }
    const others = { ...keys, secretAccessKey: Redacted.make("another") }
    const sign = signerFor("us-east-1")
    const day = 24 * 3_600_000
    for (const [by, at] of [
      [keys, 0],
      [keys, 1000],
      [keys, day],
      [others, day],
      [keys, 0],
    ] as const)
      assert.deepStrictEqual(sign(request, by, at), signerFor("us-east-1")(request, by, at))
    assert.notStrictEqual(sign(request, keys, 0)["authorization"], sign(request, others, 0)["authorization"])
  })
})
