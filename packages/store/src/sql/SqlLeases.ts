/**
 * Leases in SQL. A released lease keeps its row, so that its token keeps growing.
 *
 * On PostgreSQL a fenced commit locks the lease's row FOR KEY SHARE until it is committed. That does not conflict with `extend`,
 * which changes no key column, so a heartbeat never waits for a flush. It does conflict with a change of the token, because
 * `acquire` and `fenceHolder` name the key column in their SET list: PostgreSQL then locks the row FOR UPDATE. So a token only changes
 * when every commit that has checked the old one is committed and visible, and every commit after that sees the new one. Without
 * the lock, a commit that had read the old token could be stored after `changeOwner`, which changes no sequence number and is
 * therefore not a conflict. SQLite has one writer at a time and needs no lock.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { Lease, LeaseResult, LeasesService } from "../contract/Leases.ts"
import type { Dialect } from "./Dialect.ts"
import type { Row } from "./Row.ts"
import { textOf, wholeOf } from "./Row.ts"
import { purgeLeases } from "./retention.ts"
import { persisting } from "./StoreFailure.ts"

export const sqlLeases = (dialect: Dialect): LeasesService => {
  const { now } = dialect
  const acquire = (name: string, owner: string, millis: number): Effect.Effect<LeaseResult, SqlError> =>
    Effect.flatMap(now, (time) =>
      Effect.flatMap(takeOver(dialect, name, owner, millis, time), ([taken]) => {
        if (taken !== undefined) return Effect.succeed<LeaseResult>({ _tag: "Acquired", lease: leaseOf(taken) })
        return Effect.flatMap(holderOf(dialect, name, time), ([holder]) =>
          // Released between the two statements: then it can be acquired.
          holder === undefined ? acquire(name, owner, millis) : Effect.succeed<LeaseResult>({ _tag: "Busy", holder: leaseOf(holder) }),
        )
      }),
    )
  return {
    acquire: (name, owner, millis) => persisting("acquire", { machine: "lease", id: name })(acquire(name, owner, millis)),
    extend: (lease, millis) =>
      persisting("extend", { machine: "lease", id: lease.name })(
        Effect.flatMap(now, (time) =>
          Effect.map(prolong(dialect, lease, millis, time), ([row]) => Option.map(Option.fromNullishOr(row), leaseOf)),
        ),
      ),
    release: (lease) =>
      persisting("release", { machine: "lease", id: lease.name })(
        Effect.flatMap(now, (time) => Effect.map(giveBack(dialect, lease, time), (rows) => rows.length > 0)),
      ),
    purge: (endedMillis, limit) => persisting("purge", { machine: "lease" })(purgeLeases(dialect, endedMillis, limit)),
    fenceHolder: (name, ended) =>
      persisting("fence the holder", { machine: "lease", id: name })(
        Effect.flatMap(now, (time) =>
          Effect.flatMap(growToken(dialect, name, ended, time), ([row]) =>
            row === undefined ? Effect.map(holderOf(dialect, name, time), ([holder]) => holder === undefined) : Effect.succeed(true),
          ),
        ),
      ),
    held: (prefix, limit) =>
      persisting("held", { machine: "lease", id: prefix })(
        Effect.flatMap(now, (time) => Effect.map(heldRows(dialect, prefix, limit, time), (rows) => rows.map(leaseOf).sort(byName))),
      ),
    get: (name) =>
      persisting("get", { machine: "lease", id: name })(
        Effect.flatMap(now, (time) =>
          Effect.map(holderOf(dialect, name, time), ([row]) =>
            Option.map(Option.fromNullishOr(row), (held) => ({ ...leaseOf(held), remainingMillis: wholeOf(held, "remaining") })),
          ),
        ),
      ),
  }
}

const leaseOf = (row: Row): Lease => ({
  name: textOf(row, "name"),
  owner: textOf(row, "owner"),
  token: wholeOf(row, "token"),
  expiresAt: wholeOf(row, "expires_at"),
})

/**
 * The first token of a lease is greater than that of its row too: if `purge` removes the row while the statement waits for it, the
 * statement still sees the row with an empty name as it was before.
 */
const takeOver = ({ sql, leases }: Dialect, name: string, owner: string, millis: number, now: Fragment) => sql<Row>`
  insert into ${leases} as old (name, owner, token, expires_at)
  values (${name}, ${owner}, (select coalesce(max(token), 0) + 1 from ${leases} where name in ('', ${name})), ${now} + ${Math.ceil(millis)})
  on conflict (name) do update
  set name = excluded.name, owner = excluded.owner, token = old.token + 1, expires_at = ${now} + ${Math.ceil(millis)}
  where old.expires_at <= ${now}
  returning name, owner, token, expires_at`

/**
 * An upsert, because a plain UPDATE locks by the columns that change and not by those it names. It selects an existing row, so it inserts
 * only if `purge` removes that row while the statement waits for it. Then the row returns with the grown token.
 */
const growToken = ({ sql, leases }: Dialect, name: string, ended: string | undefined, now: Fragment) => {
  const orEnded = (owner: string) => (ended === undefined ? sql.literal("") : sql`or ${sql.literal(owner)} = ${ended}`)
  return sql<Row>`
    insert into ${leases} as old (name, owner, token, expires_at)
    select name, owner, token + 1, 0 from ${leases} where name = ${name} and (expires_at <= ${now} ${orEnded("owner")})
    on conflict (name) do update
    set name = excluded.name, token = old.token + 1, expires_at = 0
    where old.expires_at <= ${now} ${orEnded("old.owner")}
    returning name`
}

const holderOf = ({ sql, leases }: Dialect, name: string, now: Fragment) => sql<Row>`
  select name, owner, token, expires_at, expires_at - ${now} as remaining from ${leases} where name = ${name} and expires_at > ${now}`

const heldRows = ({ sql, leases }: Dialect, prefix: string, limit: number, now: Fragment) => sql<Row>`
  select name, owner, token, expires_at from ${leases}
  where expires_at > ${now} and substr(name, 1, ${[...prefix].length}) = ${prefix} order by name limit ${limit}`

/** Databases sort names by their own collation. */
const byName = (left: Lease, right: Lease): number => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0)

const prolong = ({ sql, leases }: Dialect, { name, owner, token }: Lease, millis: number, now: Fragment) => sql<Row>`
  update ${leases} set expires_at = ${now} + ${Math.ceil(millis)}
  where name = ${name} and owner = ${owner} and token = ${token} and expires_at > ${now}
  returning name, owner, token, expires_at`

const giveBack = ({ sql, leases }: Dialect, { name, owner, token }: Lease, now: Fragment) => sql<Row>`
  update ${leases} set expires_at = 0
  where name = ${name} and owner = ${owner} and token = ${token} and expires_at > ${now}
  returning name`
