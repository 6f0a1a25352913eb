/**
 * Keys and region of AWS, and of stores that speak its protocol: from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else from the
 * profile that AWS_PROFILE names in the shared files, else from the container that the process runs in (ECS, or EKS with pod
 * identities), else from the machine (EC2).
 */
import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import { homedir } from "node:os"
import { join } from "node:path"
import { innermostReason } from "@detent/machine/internal"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  type CredentialRequest,
  type CredentialSource,
  type Credentials,
  CredentialsRefused,
  cacheCredentials,
  clientInContext,
  defaultPatience,
  type Expiring,
  requestJson,
  requestText,
  shortPatience,
  variable,
} from "./CredentialSource.ts"

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
  const ofSurroundings = cacheCredentials((hasAnswered) =>
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

const requestKeys = (
  request: HttpClientRequest.HttpClientRequest,
  options: CredentialRequest,
): Effect.Effect<Expiring<AwsKeys>, CredentialsRefused> =>
  Effect.map(requestJson(request, KeysAnswer, options), ({ AccessKeyId, SecretAccessKey, Token, Expiration }) => ({
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
  source: CredentialSource,
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
    return yield* requestKeys(HttpClientRequest.get(url, proof === undefined ? {} : { headers: { authorization: proof } }), {
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
const fromMachine = (
  address: string | undefined,
  profile: string,
  source: CredentialSource,
): Effect.Effect<Expiring<AwsKeys>, CredentialsRefused> =>
  Effect.gen(function* () {
    const problem = `there are no AWS keys in the environment, in the profile ${profile}, or from the machine`
    if (address === undefined) return yield* new CredentialsRefused({ problem, nextStep: setKeys })
    // Machines outside of AWS do not answer, so the timeout is short.
    const options: CredentialRequest = { ...source, problem, nextStep: `${setKeys}, or give the machine a role`, timeout: "1 second" }
    const session = yield* requestText(
      HttpClientRequest.put(`${address}/latest/api/token`, { headers: { "x-aws-ec2-metadata-token-ttl-seconds": "21600" } }),
      options,
    )
    const headers = { "x-aws-ec2-metadata-token": session }
    const roles = `${address}/latest/meta-data/iam/security-credentials/`
    const role = (yield* requestText(HttpClientRequest.get(roles, { headers }), options)).split("\n")[0]?.trim() ?? ""
    return yield* requestKeys(HttpClientRequest.get(`${roles}${encodeURIComponent(role)}`, { headers }), options)
  })

const keysOf = (accessKeyId: string, secret: string, token: string | undefined): AwsKeys => ({
  accessKeyId,
  secretAccessKey: Redacted.make(secret),
  sessionToken: token === undefined ? undefined : Redacted.make(token),
})

/** The settings of a section. Empty if the file is missing or cannot be read. */
const sectionIn = (file: string, name: string): Readonly<Record<string, string>> => {
  const settings: Record<string, string> = {}
  let isIn = false
  for (const line of linesOf(file)) {
    const header = /^\s*\[([^\]]*)\]/.exec(line)
    if (header !== null) {
      isIn = header[1]?.trim() === name
      continue
    }
    const at = line.indexOf("=")
    if (isIn && at > 0 && !/^\s*[#;]/.test(line)) settings[line.slice(0, at).trim()] = line.slice(at + 1).trim()
  }
  return settings
}

const linesOf = (file: string): ReadonlyArray<string> => {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/)
  } catch {
    // Without a profile, the keys come from another source, or the error names all sources.
    return []
  }
}
