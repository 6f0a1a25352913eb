/**
 * Access tokens of Google Cloud: from the key of a service account or the login of a user, in the file of
 * GOOGLE_APPLICATION_CREDENTIALS or of gcloud, else from the metadata server of the machine.
 */
import { createSign } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { innermostReason } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  type CredentialRequest,
  type CredentialSource,
  type Credentials,
  type CredentialsOptions,
  CredentialsRefused,
  cacheCredentials,
  clientInContext,
  defaultPatience,
  type Expiring,
  requestJson,
  shortPatience,
  variable,
} from "./CredentialSource.ts"

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
    const credentials: Credentials<Redacted.Redacted<string>> = cacheCredentials((hasAnswered) =>
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

const fromKey = (key: KeyFile, scope: string, source: CredentialSource): Effect.Effect<Token, CredentialsRefused> =>
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
    return yield* requestToken(HttpClientRequest.bodyUrlParams(HttpClientRequest.post(address), form), {
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

const fromMetadata = (host: string, source: CredentialSource): Effect.Effect<Token, CredentialsRefused> =>
  requestToken(
    HttpClientRequest.get(`http://${host}/computeMetadata/v1/instance/service-accounts/default/token`, {
      headers: { "metadata-flavor": "Google" },
    }),
    {
      ...source,
      problem: "there are no Google credentials",
      nextStep: "set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or give the machine a service account",
    },
  )

const requestToken = (request: HttpClientRequest.HttpClientRequest, options: CredentialRequest): Effect.Effect<Token, CredentialsRefused> =>
  Effect.gen(function* () {
    const { access_token, expires_in } = yield* requestJson(request, TokenAnswer, options)
    const now = yield* Clock.currentTimeMillis
    return { value: Redacted.make(access_token), expiresAt: now + expires_in * 1000 }
  })
