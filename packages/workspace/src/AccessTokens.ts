/**
 * Named tokens of a server, each with a role and a scope, kept as hashes. Two secrets of one name may be valid at once, while one replaces
 * the other. A secret is shown once, when it is made.
 */
import { createHash, randomBytes } from "node:crypto"
import { actorText, OwnTables } from "@detent/durable"
import { boundedActor } from "@detent/durable/internal"
import { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { actor } from "./CurrentActor.ts"
import { TokenNameTaken, TokenRefused, TokenUnknown } from "./errors.ts"
import { optional } from "./optional.ts"

export interface TokenScope {
  /** Only instances of these machines. Default: everything that the role may do. */
  readonly machines?: ReadonlyArray<string>
  /** Of these machines, only these events may be sent, and nothing else may be changed. Default: all. */
  readonly events?: ReadonlyArray<string>
}

export interface TokenRequest extends TokenScope {
  readonly name: string
  readonly role: "read" | "operate"
  /** When it ends, in milliseconds from now. Default: never. */
  readonly expiresInMillis?: number | undefined
}

/** A token without its secret. */
export interface AccessToken extends TokenScope {
  readonly name: string
  readonly role: "read" | "operate"
  readonly createdAt: number
  readonly createdBy: string
  readonly expiresAt?: number
  readonly revokedAt?: number
}

export interface MadeToken extends AccessToken {
  /** Shown once: only its hash is kept. */
  readonly token: string
}

type Stored<A, E = never> = Effect.Effect<A, E | PersistenceFailed>

export interface AccessTokensService {
  readonly create: (request: TokenRequest) => Stored<MadeToken, TokenNameTaken | TokenRefused>
  /** A new secret of the same name, role and scope. Those before end after this time. */
  readonly rotate: (name: string, keepMillis: number) => Stored<MadeToken, TokenUnknown | TokenRefused>
  /** Ends all secrets of a name. Returns how many were valid. */
  readonly revoke: (name: string) => Stored<number, TokenUnknown>
  /** By name, newest first within a name; with those that have ended. */
  readonly list: Stored<ReadonlyArray<AccessToken>>
  /** The valid ones by the hash of their secret. */
  readonly valid: Stored<ReadonlyMap<string, AccessToken>>
}

/** Distinguishes these tokens from others. */
const prefix = "detent_t1."

/** Whether a token is a named one, valid or not. */
export const isNamedToken = (token: string): boolean => token.startsWith(prefix)

export const hashOf = (token: string): string => createHash("sha256").update(token).digest("base64url")

/** More valid tokens would make a server read too many. */
const mostValid = 1000

/** Of one name: the one in use, and the one that replaces it. */
const mostOfName = 2

const columns = "name, role, machines, events, created_at, created_by, expires_at, revoked_at"

const sqliteSteps: OwnTables.Steps = {
  "0001_tokens": [
    `CREATE TABLE detent_tokens (
      hash TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, machines TEXT, events TEXT, created_at INTEGER NOT NULL,
      created_by TEXT NOT NULL, expires_at INTEGER, revoked_at INTEGER
    ) WITHOUT ROWID`,
    "CREATE INDEX detent_tokens_name ON detent_tokens (name, created_at)",
  ],
}

const postgresSteps = (schema: string): OwnTables.Steps => ({
  "0001_tokens": [
    `CREATE TABLE ${schema}.tokens (
      hash TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, machines TEXT, events TEXT, created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL, expires_at BIGINT, revoked_at BIGINT
    )`,
    `CREATE INDEX tokens_name ON ${schema}.tokens (name, created_at)`,
  ],
})

// PostgreSQL returns a BIGINT as a bigint.
const Whole = Schema.Union([Schema.Finite, Schema.BigInt])
const Names = Schema.NullOr(Schema.fromJsonString(Schema.Array(Schema.String)))

const Rows = Schema.Array(
  Schema.Struct({
    hash: Schema.String,
    name: Schema.String,
    role: Schema.Literals(["read", "operate"]),
    machines: Names,
    events: Names,
    created_at: Whole,
    created_by: Schema.String,
    expires_at: Schema.NullOr(Whole),
    revoked_at: Schema.NullOr(Whole),
  }),
)

const readRows = Schema.decodeUnknownSync(Rows)

const tokenOf = ({
  name,
  role,
  machines,
  events,
  created_at,
  created_by,
  expires_at,
  revoked_at,
}: (typeof Rows.Type)[number]): AccessToken => ({
  name,
  role,
  createdAt: Number(created_at),
  createdBy: created_by,
  ...optional({
    machines: machines ?? undefined,
    events: events ?? undefined,
    expiresAt: expires_at === null ? undefined : Number(expires_at),
    revokedAt: revoked_at === null ? undefined : Number(revoked_at),
  }),
})

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  yield* OwnTables.migrate({ name: "access", sqlite: sqliteSteps, postgres: postgresSteps })
  const table = sql.onDialectOrElse({ pg: () => sql.literal("detent.tokens"), orElse: () => sql.literal("detent_tokens") })
  const shown = sql.literal(`hash, ${columns}`)
  const storing = <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, PersistenceFailed> =>
    Effect.mapError(effect, (cause) => new PersistenceFailed({ machine: "(tokens)", operation: "tokens", cause }))
  const now = Effect.map(Clock.currentTimeMillis, Math.floor)
  const isValid = (at: number) => sql`revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${at})`
  const validOf = (name: string, at: number) =>
    Effect.map(storing(sql`SELECT ${shown} FROM ${table} WHERE name = ${name} AND ${isValid(at)} ORDER BY created_at DESC`), readRows)
  const insert = (token: string, { name, role, machines, events, createdAt, createdBy, expiresAt }: AccessToken) =>
    storing(sql`INSERT INTO ${table} (hash, name, role, machines, events, created_at, created_by, expires_at, revoked_at)
      VALUES (${hashOf(token)}, ${name}, ${role}, ${jsonOf(machines)}, ${jsonOf(events)}, ${createdAt}, ${createdBy}, ${expiresAt ?? null}, NULL)`)
  const storeNew = (request: Omit<AccessToken, "createdAt" | "createdBy">, createdAt: number) =>
    Effect.gen(function* () {
      const [counted] = yield* storing(
        sql<{ readonly count: number | bigint }>`SELECT count(*) AS count FROM ${table} WHERE ${isValid(createdAt)}`,
      )
      if (Number(counted?.count ?? 0) >= mostValid)
        return yield* new TokenRefused({ problem: `there are ${mostValid} valid tokens`, nextStep: "revoke those that are not used" })
      const token = `${prefix}${randomBytes(32).toString("base64url")}`
      const made: AccessToken = { ...request, createdAt, createdBy: actorText(boundedActor(yield* actor)) }
      yield* insert(token, made)
      return { ...made, token }
    })
  return AccessTokens.of({
    create: ({ expiresInMillis, ...request }) =>
      Effect.gen(function* () {
        const at = yield* now
        const refused = refusalOf({ ...request, expiresInMillis })
        if (refused !== undefined) return yield* refused
        if ((yield* validOf(request.name, at)).length > 0) return yield* new TokenNameTaken({ name: request.name })
        const { name, role, machines, events } = request
        const expiresAt = expiresInMillis === undefined ? undefined : at + Math.floor(expiresInMillis)
        return yield* storeNew({ name, role, ...optional({ machines, events, expiresAt }) }, at)
      }),
    rotate: (name, keepMillis) =>
      Effect.gen(function* () {
        const at = yield* now
        const before = yield* validOf(name, at)
        const [latest] = before
        if (latest === undefined) return yield* new TokenUnknown({ name })
        if (before.length >= mostOfName)
          return yield* new TokenRefused({
            problem: `${name} is being replaced already: two of its secrets are valid`,
            nextStep: "wait until one ends, or revoke it",
          })
        const { role, machines, events, expiresAt } = tokenOf(latest)
        const made = yield* storeNew({ name, role, ...optional({ machines, events, expiresAt }) }, at)
        const until = at + Math.max(0, Math.floor(keepMillis))
        yield* storing(
          sql`UPDATE ${table} SET expires_at = ${until} WHERE hash = ${latest.hash} AND (expires_at IS NULL OR expires_at > ${until})`,
        )
        return made
      }),
    revoke: (name) =>
      Effect.gen(function* () {
        const at = yield* now
        const valid = yield* validOf(name, at)
        if (valid.length === 0) return yield* new TokenUnknown({ name })
        yield* storing(sql`UPDATE ${table} SET revoked_at = ${at} WHERE name = ${name} AND revoked_at IS NULL`)
        return valid.length
      }),
    list: Effect.map(storing(sql`SELECT ${shown} FROM ${table} ORDER BY name, created_at DESC LIMIT 10000`), (rows) =>
      readRows(rows).map(tokenOf),
    ),
    valid: Effect.gen(function* () {
      const rows = yield* storing(sql`SELECT ${shown} FROM ${table} WHERE ${isValid(yield* now)} LIMIT ${mostValid * 2}`)
      return new Map(readRows(rows).map((row) => [row.hash, tokenOf(row)]))
    }),
  })
})

const jsonOf = (names: ReadonlyArray<string> | undefined): string | null => (names === undefined ? null : JSON.stringify(names))

const longestMillis = 10 * 366 * 24 * 3_600_000

const refusalOf = ({ name, machines, events, expiresInMillis }: TokenRequest): TokenRefused | undefined => {
  const refused = (problem: string, nextStep: string) => new TokenRefused({ problem, nextStep })
  if (!/^[\w.-]{1,64}$/.test(name)) return refused(`${name} is no name of a token`, "use at most 64 letters, digits, dots, - and _")
  if (machines?.length === 0) return refused("machines names no machine", "leave it out for all")
  if (events !== undefined && machines === undefined) return refused("events are limited for machines only", "name the machines too")
  if (expiresInMillis !== undefined && !(expiresInMillis >= 1000 && expiresInMillis <= longestMillis))
    return refused("a token lasts a second at least and ten years at most", "give another time, or none for a token without an end")
  return undefined
}

export class AccessTokens extends Context.Service<AccessTokens, AccessTokensService>()("@detent/workspace/AccessTokens") {
  static readonly layer: Layer.Layer<AccessTokens, Effect.Error<typeof make>, SqlClient> = Layer.effect(AccessTokens, make)
}
