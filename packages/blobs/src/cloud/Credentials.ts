/**
 * Credentials for object stores: tokens of Google Cloud, and keys of AWS with the signature of requests. Expiring credentials are cached
 * until shortly before they expire, and fetched once even if many requests need them. No message contains them.
 */
import { createHash, createHmac, createSign } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { isIP } from "node:net"
import { homedir } from "node:os"
import { join } from "node:path"
import { innermostReason } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Data from "effect/Data"
import * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"

/** No credentials are available. `retryable`: their source is unreachable, and may provide some later. */
export class CredentialsRefused extends Schema.TaggedError<CredentialsRefused>()("CredentialsRefused", {
  problem: Schema.String,
  nextStep: Schema.String,
  retryable: Schema.Boolean.pipe(Schema.withConstructorDefault(Effect.succeed(false))),
}) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

interface Credentials<A> {
  readonly current: Effect.Effect<A, CredentialsRefused>
  /** Drops the cached credentials, so that the next call fetches new ones. */
  readonly forget: Effect.Effect<void>
}

interface Expiring<A> {
  readonly value: A
  /** In milliseconds since the Unix epoch. */
  readonly expiresAt: number
}

/** Credentials are renewed this long before they expire. Google's metadata server issues new ones no earlier than five minutes before. */
const renewedBefore = 225_000

/** Once the source has answered, a missing answer is an outage, and not a machine without that source. */
const cached = <A>(fetch: (hasAnswered: boolean) => Effect.Effect<Expiring<A>, CredentialsRefused>): Credentials<A> => {
  let kept: Expiring<A> | undefined
  let hasAnswered = false
  const turn = Semaphore.makeUnsafe(1)
  const current = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (kept !== undefined && kept.expiresAt - renewedBefore > now) return kept.value
    const before = kept
    kept = yield* Effect.catch(fetch(hasAnswered), (refused) =>
      // The cached credentials are still valid; the next request tries again.
      before !== undefined && before.expiresAt > now + 10_000 ? Effect.succeed(before) : Effect.fail(refused),
    )
    hasAnswered = true
    return kept.value
  })
  return {
    current: turn.withPermit(current),
    forget: Effect.sync(() => {
      kept = undefined
    }),
  }
}

/** An environment variable; undefined if it is unset or empty. */
const variable = (name: string): Effect.Effect<string | undefined> =>
  Effect.map(Effect.orDie(Config.String(name).pipe(Config.withDefault(""))), (value) => (value === "" ? undefined : value))

/** The reason why one attempt failed. */
class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly message: string; readonly status?: number }> {}

/** The HttpClient of the caller, if there is one. */
export const clientInContext: Effect.Effect<HttpClient.HttpClient | undefined> = Effect.map(
  Effect.serviceOption(HttpClient.HttpClient),
  Option.getOrUndefined,
)

interface AskOptions {
  readonly problem: string
  readonly nextStep: string
  /** Timeout of one attempt. Default: ten seconds. */
  readonly timeout?: Duration.Input
  /** How long attempts are started. */
  readonly patience: Duration.Input
  /** The server may not exist on this machine: then a missing response is not an outage. */
  readonly mayBeAbsent?: boolean
  /** The name of the server exists only in its cloud: an unknown name is not an outage. */
  readonly mayBeUnknown?: boolean
  readonly client: HttpClient.HttpClient | undefined
}

export interface CredentialsOptions {
  /** For how long failed requests for credentials are repeated. Requests that need them wait meanwhile. Default: 15 seconds. */
  readonly patience?: Duration.Input
}

const defaultPatience = "15 seconds"

/** A shorter patience with a server that may not exist. */
const shortPatience = "2 seconds"

const attemptsWithin = (patience: Duration.Input) =>
  Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("3 seconds")]).pipe(
    Schedule.jittered,
    Schedule.upTo({ duration: patience }),
  )

/** The server has answered, and another attempt would get the same answer. */
const isRefusal = (error: unknown): boolean => {
  const status = error instanceof NoAnswer ? error.status : undefined
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429
}

/** Outside of the cloud, the name of the metadata server is known to be unknown. Without an answer of DNS, the code is EAI_AGAIN. */
const isUnknownName = (error: unknown): boolean => {
  let inner = error
  for (let depth = 0; depth < 8 && inner instanceof Error; depth++) {
    if ("code" in inner && inner.code === "ENOTFOUND") return true
    inner = "reason" in inner && inner.reason instanceof Error ? inner.reason : inner.cause
  }
  return false
}

/**
 * The response text of a token endpoint or a metadata server. Repeated while the server or DNS does not answer, so that a short outage does
 * not fail the requests that need credentials.
 */
const askedText = (
  request: HttpClientRequest.HttpClientRequest,
  { problem, nextStep, timeout = "10 seconds", patience, mayBeAbsent = false, mayBeUnknown = false, client }: AskOptions,
): Effect.Effect<string, CredentialsRefused> =>
  Effect.gen(function* () {
    const response = yield* HttpClient.execute(request)
    const text = yield* response.text
    const { status } = response
    return status === 200 ? text : yield* Effect.fail(new NoAnswer({ message: `${status} ${problemIn(text)}`.trim(), status }))
  }).pipe(
    Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(new NoAnswer({ message: "no answer came in time" })) }),
    Effect.retry({ schedule: attemptsWithin(patience), while: (error) => !isRefusal(error) }),
    Effect.mapError((error) => {
      const retryable = !mayBeAbsent && !isRefusal(error) && !(mayBeUnknown && isUnknownName(error))
      return new CredentialsRefused({ problem: `${problem} (${innermostReason(error)})`, nextStep, retryable })
    }),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
    Effect.provide(client === undefined ? FetchHttpClient.layer : Layer.succeed(HttpClient.HttpClient, client)),
  )

/** Like `askedText`, for a JSON response. */
const asked = <A>(
  request: HttpClientRequest.HttpClientRequest,
  schema: Schema.Decoder<A>,
  options: AskOptions,
): Effect.Effect<A, CredentialsRefused> =>
  Effect.flatMap(askedText(request, options), (text) =>
    Effect.mapError(
      Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text),
      // The message of the schema error could contain a part of a key.
      () => new CredentialsRefused({ problem: `${options.problem} (the response contains none)`, nextStep: options.nextStep }),
    ),
  )

/** The error code of the token endpoint, like `invalid_grant`; never its description, which may quote the request. */
const problemIn = (text: string): string => /"error"\s*:\s*"([a-z_]{1,40})"/.exec(text)?.[1] ?? ""

// Access tokens of Google Cloud: from the key of a service account or the login of a user, in the file of
// GOOGLE_APPLICATION_CREDENTIALS or of gcloud, else from the metadata server of the machine.

export interface GoogleCredentials {
  readonly token: Effect.Effect<Redacted.Redacted<string>, CredentialsRefused>
  /** Drops the cached token, so that the next call fetches a new one. */
  readonly forget: Effect.Effect<void>
}

/** OAuth scope for reading and writing objects of Cloud Storage. */
export const storageScope = "https://www.googleapis.com/auth/devstorage.read_write"

const ServiceAccountKey = Schema.Struct({
  type: Schema.Literal("service_account"),
  client_email: Schema.String,
  private_key: Schema.String,
  private_key_id: Schema.optionalKey(Schema.String),
  token_uri: Schema.optionalKey(Schema.String),
})

const UserLogin = Schema.Struct({
  type: Schema.Literal("authorized_user"),
  client_id: Schema.String,
  client_secret: Schema.String,
  refresh_token: Schema.String,
  token_uri: Schema.optionalKey(Schema.String),
})

const KeyFile = Schema.Union([ServiceAccountKey, UserLogin])
type KeyFile = typeof KeyFile.Type

const TokenAnswer = Schema.Struct({ access_token: Schema.String, expires_in: Schema.Finite })

type Token = Expiring<Redacted.Redacted<string>>

/** The credentials of the environment. Their kind is determined when the first token is needed. */
export const googleCredentials = (
  scope: string,
  { patience = defaultPatience }: CredentialsOptions = {},
): Effect.Effect<GoogleCredentials> =>
  Effect.gen(function* () {
    const client = yield* clientInContext
    const [named, configFolder, metadataHost] = yield* Effect.all([
      variable("GOOGLE_APPLICATION_CREDENTIALS"),
      variable("CLOUDSDK_CONFIG"),
      variable("GCE_METADATA_HOST"),
    ])
    const credentials: Credentials<Redacted.Redacted<string>> = cached((hasAnswered) =>
      Effect.suspend(() => {
        const wellKnown = join(
          configFolder === undefined ? join(homedir(), ".config", "gcloud") : configFolder,
          "application_default_credentials.json",
        )
        const file = named ?? (existsSync(wellKnown) ? wellKnown : undefined)
        if (file !== undefined) return Effect.flatMap(keyIn(file), (key) => fromKey(key, scope, { patience, client }))
        const mayBeUnknown = metadataHost === undefined && !hasAnswered
        return fromMetadata(metadataHost ?? metadataServer, { patience: mayBeUnknown ? shortPatience : patience, mayBeUnknown, client })
      }),
    )
    return { token: credentials.current, forget: credentials.forget }
  })

const metadataServer = "metadata.google.internal"

/** No credentials, for emulators. */
export const anonymous: GoogleCredentials = { token: Effect.succeed(Redacted.make("anonymous")), forget: Effect.void }

const keyIn = (file: string): Effect.Effect<KeyFile, CredentialsRefused> =>
  Effect.try({
    try: () => readFileSync(file, "utf8"),
    catch: (cause) =>
      new CredentialsRefused({
        problem: `the Google credentials ${file} cannot be read: ${innermostReason(cause)}`,
        nextStep: "correct GOOGLE_APPLICATION_CREDENTIALS",
      }),
  }).pipe(
    Effect.flatMap((text) =>
      Effect.mapError(
        Schema.decodeEffect(Schema.fromJsonString(KeyFile))(text),
        // The message of the schema error could contain a part of the key.
        () => new CredentialsRefused({ problem: `${file} ${kindProblem(text)}`, nextStep: otherKinds }),
      ),
    ),
  )

const otherKinds = "use a machine that has a service account, the key of one, or `gcloud auth application-default login`"

const decodeKind = Schema.decodeOption(Schema.fromJsonString(Schema.Struct({ type: Schema.String.check(Schema.isPattern(/^\w{1,60}$/u)) })))

/** Detent makes no exchange for credentials of another cloud or account: the message names the kinds it takes. */
const kindProblem = (text: string): string => {
  const kind = Option.getOrUndefined(decodeKind(text))?.type
  return kind === undefined || kind === "service_account" || kind === "authorized_user"
    ? "holds neither the key of a service account nor the login of a user"
    : `holds credentials of the kind ${kind}, and not the key of a service account or the login of a user`
}

const defaultTokenUri = "https://oauth2.googleapis.com/token"

type Source = Pick<AskOptions, "patience" | "mayBeAbsent" | "mayBeUnknown" | "client">

const fromKey = (key: KeyFile, scope: string, source: Source): Effect.Effect<Token, CredentialsRefused> =>
  Effect.gen(function* () {
    const address = key.token_uri ?? defaultTokenUri
    const now = yield* Clock.currentTimeMillis
    const form: Readonly<Record<string, string>> =
      key.type === "service_account"
        ? { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: yield* assertionOf(key, address, scope, now) }
        : {
            grant_type: "refresh_token",
            client_id: key.client_id,
            client_secret: key.client_secret,
            refresh_token: key.refresh_token,
          }
    const who = key.type === "service_account" ? `service account ${key.client_email}` : "the logged-in user"
    return yield* askedToken(HttpClientRequest.bodyUrlParams(HttpClientRequest.post(address), form), {
      ...source,
      problem: `Google refused a token for ${who}`,
      nextStep:
        key.type === "service_account"
          ? "check that the key has not been deleted, and the clock of this machine"
          : "log in again with `gcloud auth application-default login`",
    })
  })

const assertionOf = (key: typeof ServiceAccountKey.Type, audience: string, scope: string, now: number) =>
  Effect.try({
    try: () => {
      const issuedAt = Math.floor(now / 1000)
      const header = { alg: "RS256", typ: "JWT", ...(key.private_key_id === undefined ? {} : { kid: key.private_key_id }) }
      const claims = { iss: key.client_email, scope, aud: audience, iat: issuedAt, exp: issuedAt + 3600 }
      const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")
      return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key.private_key, "base64url")}`
    },
    catch: () =>
      new CredentialsRefused({ problem: `the private key of ${key.client_email} cannot be used`, nextStep: "download the key again" }),
  })

const fromMetadata = (host: string, source: Source): Effect.Effect<Token, CredentialsRefused> =>
  askedToken(
    HttpClientRequest.get(`http://${host}/computeMetadata/v1/instance/service-accounts/default/token`, {
      headers: { "metadata-flavor": "Google" },
    }),
    {
      ...source,
      problem: "there are no Google credentials",
      nextStep: "set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or give the machine a service account",
    },
  )

const askedToken = (request: HttpClientRequest.HttpClientRequest, options: AskOptions): Effect.Effect<Token, CredentialsRefused> =>
  Effect.gen(function* () {
    const { access_token, expires_in } = yield* asked(request, TokenAnswer, options)
    const now = yield* Clock.currentTimeMillis
    return { value: Redacted.make(access_token), expiresAt: now + expires_in * 1000 }
  })

// Keys and region of AWS, and of stores that speak its protocol: from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else from the
// profile that AWS_PROFILE names in the shared files, else from the container that the process runs in (ECS, or EKS with pod
// identities), else from the machine (EC2).

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: Redacted.Redacted<string>
  readonly sessionToken?: Redacted.Redacted<string> | undefined
}

export interface AwsSettings {
  /** Fetched again after the store has refused them as expired. */
  readonly keys: Credentials<AwsKeys>
  readonly region: string | undefined
  readonly endpoint: string | undefined
}

export const awsSettings: Effect.Effect<AwsSettings> = Effect.gen(function* () {
  const client = yield* clientInContext
  const profile = (yield* variable("AWS_PROFILE")) ?? "default"
  const credentialsFile = (yield* variable("AWS_SHARED_CREDENTIALS_FILE")) ?? join(homedir(), ".aws", "credentials")
  const configFile = (yield* variable("AWS_CONFIG_FILE")) ?? join(homedir(), ".aws", "config")
  const configured = yield* Effect.sync(() => sectionIn(configFile, profile === "default" ? profile : `profile ${profile}`))
  const [accessKeyId, secret, token] = [
    yield* variable("AWS_ACCESS_KEY_ID"),
    yield* variable("AWS_SECRET_ACCESS_KEY"),
    yield* variable("AWS_SESSION_TOKEN"),
  ]
  const container = yield* containerSettings
  const machine = yield* machineAddress
  const ofSurroundings = cached((hasAnswered) =>
    container === undefined
      ? fromMachine(
          machine,
          profile,
          hasAnswered ? { patience: defaultPatience, client } : { patience: shortPatience, mayBeAbsent: true, client },
        )
      : fromContainer(container, { patience: defaultPatience, client }),
  )
  const current = Effect.suspend(() => {
    if (accessKeyId !== undefined && secret !== undefined) return Effect.succeed(keysOf(accessKeyId, secret, token))
    const section = { ...configured, ...sectionIn(credentialsFile, profile) }
    const { aws_access_key_id: id, aws_secret_access_key: key, aws_session_token: session } = section
    if (id !== undefined && key !== undefined) return Effect.succeed(keysOf(id, key, session))
    const kind = ["sso_session", "sso_start_url", "role_arn", "credential_process", "login_session"].find((name) => name in section)
    return kind === undefined ? ofSurroundings.current : Effect.fail(exchanged(profile, kind))
  })
  return {
    keys: { current, forget: ofSurroundings.forget },
    region: (yield* variable("AWS_REGION")) ?? (yield* variable("AWS_DEFAULT_REGION")) ?? configured["region"],
    endpoint: (yield* variable("AWS_ENDPOINT_URL_S3")) ?? (yield* variable("AWS_ENDPOINT_URL")) ?? configured["endpoint_url"],
  }
})

/** The keys of such a profile require an exchange, which only other programs implement. */
const exchanged = (profile: string, kind: string) =>
  new CredentialsRefused({
    problem: `the profile ${profile} has no keys of its own, only ${kind}`,
    nextStep: `set keys with \`eval "$(aws configure export-credentials --profile ${profile} --format env)"\``,
  })

const setKeys = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile that has them with AWS_PROFILE"

const KeysAnswer = Schema.Struct({
  AccessKeyId: Schema.String,
  SecretAccessKey: Schema.String,
  Token: Schema.String,
  Expiration: Schema.DateTimeUtcFromString,
})

const askedKeys = (
  request: HttpClientRequest.HttpClientRequest,
  options: AskOptions,
): Effect.Effect<Expiring<AwsKeys>, CredentialsRefused> =>
  Effect.map(asked(request, KeysAnswer, options), ({ AccessKeyId, SecretAccessKey, Token, Expiration }) => ({
    value: keysOf(AccessKeyId, SecretAccessKey, Token),
    expiresAt: DateTime.toEpochMillis(Expiration),
  }))

interface ContainerSettings {
  readonly url: string
  /** Read for each request, since the platform replaces the file while the process runs. */
  readonly tokenFile: string | undefined
  readonly token: string | undefined
}

const containerSettings: Effect.Effect<ContainerSettings | undefined> = Effect.gen(function* () {
  const relative = yield* variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
  const url = relative === undefined ? yield* variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") : `http://169.254.170.2${relative}`
  if (url === undefined) return undefined
  return {
    url,
    tokenFile: yield* variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    token: yield* variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
  }
})

/** Without TLS, only the addresses of ECS, EKS and this machine: any other would receive the container's token in the clear. */
const isTrusted = (url: URL): boolean =>
  url.protocol === "https:" ||
  ["localhost", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "[::1]"].includes(url.hostname) ||
  (isIP(url.hostname) === 4 && url.hostname.startsWith("127."))

const fromContainer = (
  { url, tokenFile, token }: ContainerSettings,
  source: Source,
): Effect.Effect<Expiring<AwsKeys>, CredentialsRefused> =>
  Effect.gen(function* () {
    const refused = (problem: string) =>
      new CredentialsRefused({ problem, nextStep: "correct the AWS_CONTAINER_ variables, which ECS and EKS set themselves" })
    if (!URL.canParse(url) || !isTrusted(new URL(url)))
      return yield* refused(`${url} is not a trusted address for the AWS keys of a container`)
    const proof =
      tokenFile === undefined
        ? token
        : yield* Effect.try({
            try: () => readFileSync(tokenFile, "utf8").trim(),
            catch: (cause) => refused(`the token of the container in ${tokenFile} cannot be read: ${innermostReason(cause)}`),
          })
    return yield* askedKeys(HttpClientRequest.get(url, proof === undefined ? {} : { headers: { authorization: proof } }), {
      ...source,
      problem: "the container provides no AWS keys",
      nextStep: "give the task or the pod a role",
    })
  })

/** The address of the metadata service; undefined if it is disabled. */
const machineAddress: Effect.Effect<string | undefined> = Effect.gen(function* () {
  if ((yield* variable("AWS_EC2_METADATA_DISABLED")) === "true") return undefined
  return ((yield* variable("AWS_EC2_METADATA_SERVICE_ENDPOINT")) ?? "http://169.254.169.254").replace(/\/$/, "")
})

/** Uses IMDSv2 only: it requires a session token, which a forwarded request cannot obtain. */
const fromMachine = (address: string | undefined, profile: string, source: Source): Effect.Effect<Expiring<AwsKeys>, CredentialsRefused> =>
  Effect.gen(function* () {
    const problem = `there are no AWS keys in the environment, in the profile ${profile}, or from the machine`
    if (address === undefined) return yield* new CredentialsRefused({ problem, nextStep: setKeys })
    // Machines outside of AWS do not answer, so the timeout is short.
    const options: AskOptions = { ...source, problem, nextStep: `${setKeys}, or give the machine a role`, timeout: "1 second" }
    const session = yield* askedText(
      HttpClientRequest.put(`${address}/latest/api/token`, { headers: { "x-aws-ec2-metadata-token-ttl-seconds": "21600" } }),
      options,
    )
    const headers = { "x-aws-ec2-metadata-token": session }
    const roles = `${address}/latest/meta-data/iam/security-credentials/`
    const role = (yield* askedText(HttpClientRequest.get(roles, { headers }), options)).split("\n")[0]?.trim() ?? ""
    return yield* askedKeys(HttpClientRequest.get(`${roles}${encodeURIComponent(role)}`, { headers }), options)
  })

const keysOf = (accessKeyId: string, secret: string, token: string | undefined): AwsKeys => ({
  accessKeyId,
  secretAccessKey: Redacted.make(secret),
  sessionToken: token === undefined ? undefined : Redacted.make(token),
})

/** The settings of a section. Empty if the file is missing or cannot be read. */
const sectionIn = (file: string, name: string): Readonly<Record<string, string>> => {
  const found: Record<string, string> = {}
  let isIn = false
  for (const line of linesOf(file)) {
    const header = /^\s*\[([^\]]*)\]/.exec(line)
    if (header !== null) {
      isIn = header[1]?.trim() === name
      continue
    }
    const at = line.indexOf("=")
    if (isIn && at > 0 && !/^\s*[#;]/.test(line)) found[line.slice(0, at).trim()] = line.slice(at + 1).trim()
  }
  return found
}

const linesOf = (file: string): ReadonlyArray<string> => {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/)
  } catch {
    // Without a profile, the keys come from another source, or the error names all sources.
    return []
  }
}

// AWS Signature Version 4 for S3: the headers authenticate the sender of a request and the integrity of its body.

export interface UnsignedRequest {
  readonly method: string
  /** Path and query are percent-encoded according to RFC 3986. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
}

/** Returns the headers to add to a request. All of its headers are signed. */
export type Signer = (request: UnsignedRequest, keys: AwsKeys, nowMillis: number) => Readonly<Record<string, string>>

/** The signing key is derived from the secret, the day and the region, once for all requests of a day. */
export const signerFor = (region: string): Signer => {
  let last: { readonly secret: string; readonly day: string; readonly key: Buffer } | undefined
  const keyOf = (secret: string, day: string): Buffer => {
    if (last === undefined || last.secret !== secret || last.day !== day)
      last = { secret, day, key: [region, "s3", "aws4_request"].reduce(hmac, hmac(`AWS4${secret}`, day)) }
    return last.key
  }
  return (request, keys, nowMillis) => signed(request, keys, region, nowMillis, keyOf)
}

const signed = (
  request: UnsignedRequest,
  keys: AwsKeys,
  region: string,
  nowMillis: number,
  keyOf: (secret: string, day: string) => Buffer,
): Readonly<Record<string, string>> => {
  const url = new URL(request.url)
  const time = DateTime.formatIso(DateTime.makeUnsafe(nowMillis)).replace(/[-:]|\.\d{3}/g, "")
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const contentHash = hashOf(request.body ?? "")
  const added = {
    "x-amz-date": time,
    "x-amz-content-sha256": contentHash,
    ...(keys.sessionToken === undefined ? {} : { "x-amz-security-token": Redacted.value(keys.sessionToken) }),
  }
  const headers = Object.entries({ ...request.headers, ...added, host: url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ {2,}/g, " ")] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const names = headers.map(([name]) => name).join(";")
  const canonical = [
    request.method,
    url.pathname,
    canonicalQuery(url.search),
    ...headers.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    contentHash,
  ].join("\n")
  const toSign = ["AWS4-HMAC-SHA256", time, scope, hashOf(canonical)].join("\n")
  const signature = hmac(keyOf(Redacted.value(keys.secretAccessKey), time.slice(0, 8)), toSign).toString("hex")
  return {
    ...added,
    authorization: `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}

/** Percent-encodes every character but letters, digits and `-._~`. */
export const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const canonicalQuery = (search: string): string =>
  search
    .slice(1)
    .split("&")
    .filter((part) => part !== "")
    .map((part) => (part.includes("=") ? part : `${part}=`))
    .toSorted()
    .join("&")

const hashOf = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex")

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()
