/**
 * Keys and region of AWS, and of stores that speak its protocol: from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else from the
 * profile that AWS_PROFILE names in the shared files. Keys are in no message.
 */
import { readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { CredentialsRefused } from "./GoogleCredentials.ts"
import type { AwsKeys } from "./SignatureV4.ts"

export interface AwsSettings {
  /** Read anew after they were refused as expired. */
  readonly keys: Effect.Effect<AwsKeys, CredentialsRefused>
  readonly region: string | undefined
  readonly endpoint: string | undefined
}

const setting = (name: string): Effect.Effect<string | undefined> =>
  Effect.map(Effect.orDie(Config.String(name).pipe(Config.withDefault(""))), (value) => (value === "" ? undefined : value))

export const fromEnvironment: Effect.Effect<AwsSettings> = Effect.gen(function* () {
  const [accessKeyId, secret, token] = [
    yield* setting("AWS_ACCESS_KEY_ID"),
    yield* setting("AWS_SECRET_ACCESS_KEY"),
    yield* setting("AWS_SESSION_TOKEN"),
  ]
  const profile = (yield* setting("AWS_PROFILE")) ?? "default"
  const credentialsFile = (yield* setting("AWS_SHARED_CREDENTIALS_FILE")) ?? join(homedir(), ".aws", "credentials")
  const configFile = (yield* setting("AWS_CONFIG_FILE")) ?? join(homedir(), ".aws", "config")
  const configured = yield* Effect.sync(() => sectionIn(configFile, profile === "default" ? profile : `profile ${profile}`))
  const keys = Effect.suspend(() => {
    if (accessKeyId !== undefined && secret !== undefined) return Effect.succeed(keysOf(accessKeyId, secret, token))
    const section = { ...configured, ...sectionIn(credentialsFile, profile) }
    const { aws_access_key_id: id, aws_secret_access_key: key, aws_session_token: session } = section
    if (id !== undefined && key !== undefined) return Effect.succeed(keysOf(id, key, session))
    return Effect.fail(
      new CredentialsRefused({
        problem: `there are no keys of AWS in the environment or in the profile ${profile}`,
        nextStep: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile that has them with AWS_PROFILE",
      }),
    )
  })
  return {
    keys,
    region: (yield* setting("AWS_REGION")) ?? (yield* setting("AWS_DEFAULT_REGION")) ?? configured["region"],
    endpoint: (yield* setting("AWS_ENDPOINT_URL_S3")) ?? (yield* setting("AWS_ENDPOINT_URL")) ?? configured["endpoint_url"],
  }
})

const keysOf = (accessKeyId: string, secret: string, token: string | undefined): AwsKeys => ({
  accessKeyId,
  secretAccessKey: Redacted.make(secret),
  sessionToken: token === undefined ? undefined : Redacted.make(token),
})

/** The settings of a section. A file that is missing or cannot be read has none. */
const sectionIn = (file: string, name: string): Readonly<Record<string, string>> => {
  const found: Record<string, string> = {}
  let isIn = false
  for (const line of linesOf(file)) {
    const header = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)
    if (header !== null) {
      isIn = header[1] === name
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
    // Without a profile the environment has the keys, or the error names both.
    return []
  }
}
