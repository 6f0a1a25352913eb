/**
 * Access tokens of Google Cloud: from the key of a service account or the login of a user, in the file that
 * GOOGLE_APPLICATION_CREDENTIALS or gcloud names, else from the metadata server of the machine. A token is kept until shortly before
 * it ends, and asked for once although many requests need it. Tokens and keys are in no message.
 */
import { createSign } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as FetchHttpClient from "effect/unstable/http/FetchHttpClient"
import * as HttpClient from "effect/unstable/http/HttpClient"
import * as HttpClientRequest from "effect/unstable/http/HttpClientRequest"
import { innermostReason } from "../Describe.ts"

/** No token could be had. */
export class CredentialsRefused extends Schema.TaggedError<CredentialsRefused>()("CredentialsRefused", {
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

export interface GoogleCredentials {
  readonly token: Effect.Effect<Redacted.Redacted<string>, CredentialsRefused>
  /** The next token is a new one. */
  readonly forget: Effect.Effect<void>
}

/** Of Cloud Storage: to read and to write objects. */
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

interface Token {
  readonly value: Redacted.Redacted<string>
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

/** So long before its end a token is replaced: the metadata server gives no new one earlier than five minutes before. */
const renewedBefore = 225_000

/** The credentials that the environment names. Which they are is found out when the first token is needed. */
export const fromEnvironment = (scope: string): Effect.Effect<GoogleCredentials> =>
  Effect.gen(function* () {
    const [named, configFolder, metadataHost] = yield* Effect.all([
      setting("GOOGLE_APPLICATION_CREDENTIALS"),
      setting("CLOUDSDK_CONFIG"),
      setting("GCE_METADATA_HOST"),
    ])
    return cached(
      Effect.suspend(() => {
        const wellKnown = join(
          configFolder === "" ? join(homedir(), ".config", "gcloud") : configFolder,
          "application_default_credentials.json",
        )
        const file = named !== "" ? named : existsSync(wellKnown) ? wellKnown : undefined
        if (file === undefined) return fromMetadata(metadataHost === "" ? "metadata.google.internal" : metadataHost)
        return Effect.flatMap(keyIn(file), (key) => fromKey(key, scope))
      }),
    )
  })

/** No proof of who asks, as emulators take it. */
export const anonymous: GoogleCredentials = { token: Effect.succeed(Redacted.make("anonymous")), forget: Effect.void }

const setting = (name: string): Effect.Effect<string> => Effect.orDie(Config.String(name).pipe(Config.withDefault("")))

const cached = (fetched: Effect.Effect<Token, CredentialsRefused>): GoogleCredentials => {
  let kept: Token | undefined
  const turn = Semaphore.makeUnsafe(1)
  const token = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (kept !== undefined && kept.expiresAt - renewedBefore > now) return kept.value
    const before = kept
    kept = yield* Effect.catch(fetched, (refused) =>
      // The one before is good for minutes: the next request asks again.
      before !== undefined && before.expiresAt > now + 10_000 ? Effect.succeed(before) : Effect.fail(refused),
    )
    return kept.value
  })
  return {
    token: turn.withPermit(token),
    forget: Effect.sync(() => {
      kept = undefined
    }),
  }
}

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
        // What the schema says could repeat a part of the key.
        () =>
          new CredentialsRefused({
            problem: `${file} holds neither the key of a service account nor the login of a user`,
            nextStep: "make one with `gcloud auth application-default login`, or download the key of a service account",
          }),
      ),
    ),
  )

const defaultTokenUri = "https://oauth2.googleapis.com/token"

const fromKey = (key: KeyFile, scope: string): Effect.Effect<Token, CredentialsRefused> =>
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
    return yield* asked(HttpClientRequest.bodyUrlParams(HttpClientRequest.post(address), form), {
      problem: `Google gives ${who} no token`,
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

const fromMetadata = (host: string): Effect.Effect<Token, CredentialsRefused> =>
  asked(
    HttpClientRequest.get(`http://${host}/computeMetadata/v1/instance/service-accounts/default/token`, {
      headers: { "metadata-flavor": "Google" },
    }),
    {
      problem: "there are no Google credentials",
      nextStep: "set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or give the machine a service account",
    },
  )

/** One attempt gave no token, for this reason. */
class NoToken extends Data.TaggedError("NoToken")<{ readonly message: string }> {}

/** Asked three times: a token endpoint that is away for a moment must not fail a write. */
const asked = (
  request: HttpClientRequest.HttpClientRequest,
  refusal: { readonly problem: string; readonly nextStep: string },
): Effect.Effect<Token, CredentialsRefused> =>
  Effect.gen(function* () {
    const response = yield* HttpClient.execute(request)
    const text = yield* response.text
    if (response.status !== 200) return yield* Effect.fail(new NoToken({ message: `${response.status} ${problemIn(text)}` }))
    const { access_token, expires_in } = yield* Effect.mapError(
      Schema.decodeEffect(Schema.fromJsonString(TokenAnswer))(text),
      () => new NoToken({ message: "the answer holds no token" }),
    )
    const now = yield* Clock.currentTimeMillis
    return { value: Redacted.make(access_token), expiresAt: now + expires_in * 1000 }
  }).pipe(
    Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.fail(new NoToken({ message: "no answer came in time" })) }),
    Effect.retry({ times: 2, while: (error) => !/^4\d\d /.test(error.message) }),
    Effect.mapError(
      (error) => new CredentialsRefused({ problem: `${refusal.problem} (${innermostReason(error)})`, nextStep: refusal.nextStep }),
    ),
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provide(FetchHttpClient.layer),
  )

/** The word of the token endpoint, like `invalid_grant`; never its description, which may repeat what was sent. */
const problemIn = (text: string): string => /"error"\s*:\s*"([a-z_]{1,40})"/.exec(text)?.[1] ?? ""
