/**
 * The tables of a cluster: its nodes and which of them has each shard. A row is valid while the lease of its node is held under the token
 * in the row, by the database's clock. So a node renews one row, its lease, and loses all its shards with it.
 */
import { DatabaseClock, migratePostgresTables } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"

/** A node with the lease and the fencing token it currently holds. */
export interface NodeLife {
  readonly node: string
  readonly lease: string
  readonly token: number
}

/** Settings that all nodes of a cluster must share. */
export interface SharedSettings {
  readonly shardCount: number
  /** The digest by which the tokens of nodes are compared. */
  readonly tokenMark: string
}

/** A node with the settings that it must share with others. */
export interface NodeSettings extends SharedSettings {
  readonly address: string
}

export interface NodeRow extends NodeSettings {
  /** How Effect's cluster describes the node. */
  readonly runner: string
  readonly node: string
  readonly draining: boolean
  readonly startedAt: number
  readonly shards: number
  /** Running instances and executions whose work it has. */
  readonly working: number
  /** Milliseconds until its lease ends, unless it extends it. */
  readonly leaseMillis: number
  /** How long the oldest overdue timer of its instances has been due. 0: none is late. */
  readonly lagMillis: number
}

/** A node as Effect's cluster needs it. */
export interface RunnerRow {
  readonly runner: string
  readonly draining: boolean
}

export interface Owner {
  readonly shard: number
  readonly address: string
}

export interface ClusterTables {
  /** Registers a node, unless the settings of another one differ. Returns that one. Of two nodes that start together, one registers first. */
  readonly register: (
    address: string,
    runner: string,
    life: NodeLife,
    settings: SharedSettings,
  ) => Effect.Effect<NodeSettings | undefined, SqlError>
  readonly unregister: (address: string, life: NodeLife) => Effect.Effect<void, SqlError>
  /** Nodes that are alive. Every node asks for them twice a second. */
  readonly runners: Effect.Effect<ReadonlyArray<RunnerRow>, SqlError>
  /** Nodes that are alive, with their shards. */
  readonly nodes: Effect.Effect<ReadonlyArray<NodeRow>, SqlError>
  /** Asks a node to give up its shards, or withdraws the request. Returns false if the node does not exist. */
  readonly drain: (node: string, draining: boolean) => Effect.Effect<boolean, SqlError>
  /** Nodes that had these shards and are no longer alive: their leases must be fenced before the shards are acquired. */
  readonly deadHolders: (shards: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<string>, SqlError>
  /** Acquires shards without an owner. Returns those it got. */
  readonly acquire: (address: string, shards: ReadonlyArray<number>, life: NodeLife) => Effect.Effect<ReadonlyArray<number>, SqlError>
  readonly release: (shards: ReadonlyArray<number>, life: NodeLife) => Effect.Effect<void, SqlError>
  readonly owners: Effect.Effect<ReadonlyArray<Owner>, SqlError>
  /** The channel on which changes of owners are announced. */
  readonly channel: string
}

/** Fixed for a database: the shard of an instance depends on it. */
export const shardCount = 300

/** How many late timers of one machine are examined. */
const lateLimit = 1000

const migrations = (schema: string) => ({
  "0001_cluster": Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`create table ${schema}.cluster_nodes (
      address text primary key,
      runner text not null,
      node text not null,
      lease text not null,
      token bigint not null,
      draining boolean not null default false,
      started_at bigint not null,
      shard_count integer not null,
      token_mark text not null
    )`)
    yield* sql.unsafe(`create table ${schema}.cluster_shards (
      shard integer primary key,
      address text not null,
      node text not null,
      lease text not null,
      token bigint not null
    )`)
  }),
})

/** Creates the tables if they are missing. */
export const makeClusterTables = (schema: string): Effect.Effect<ClusterTables, MigrationError | SqlError, SqlClient> =>
  Effect.andThen(migratePostgresTables(schema, "cluster_migrations", migrations(schema)), clusterTables(schema))

/** The tables, if a node of a cluster has created them. */
export const findClusterTables = (schema: string): Effect.Effect<Option.Option<ClusterTables>, SqlError, SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [found] = yield* sql<{ found: boolean }>`select to_regclass(${`${schema}.cluster_shards`}) is not null as found`
    return found?.found === true ? Option.some(yield* clusterTables(schema)) : Option.none()
  })

const clusterTables = (schema: string): Effect.Effect<ClusterTables, never, SqlClient> =>
  Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    const time = yield* DatabaseClock
    const now = yield* time(sql)
    const nodes = sql.literal(`${schema}.cluster_nodes`)
    const shards = sql.literal(`${schema}.cluster_shards`)
    const leases = sql.literal(`${schema}.leases`)
    const instances = sql.literal(`${schema}.instances`)
    const timers = sql.literal(`${schema}.timers`)
    const channel = `${schema}_cluster`
    const isAlive = (row: Fragment) => sql`exists (
      select 1 from ${leases} l where l.name = ${row}.lease and l.token = ${row}.token and l.expires_at > ${now}
    )`
    const numbers = (list: ReadonlyArray<number>) => sql`cast(${`{${list.join(",")}}`} as integer[])`
    const announce = sql`select pg_notify(${channel}, '')::text`
    const shard = sql.literal("s")
    return {
      channel,
      register: (address, runner, { node, lease, token }, { shardCount, tokenMark }) =>
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`select pg_advisory_xact_lock(hashtext(${`${schema}.cluster_nodes`}))::text`
            const [different] = yield* sql<NodeSettings>`
              select n.address, n.shard_count as "shardCount", n.token_mark as "tokenMark" from ${nodes} n
              where n.address <> ${address} and (n.shard_count <> ${shardCount} or n.token_mark <> ${tokenMark})
                and ${isAlive(sql.literal("n"))} order by n.address limit 1`
            if (different !== undefined) return different
            yield* sql`
              insert into ${nodes} (address, runner, node, lease, token, started_at, shard_count, token_mark)
              values (${address}, ${runner}, ${node}, ${lease}, ${token}, ${now}, ${shardCount}, ${tokenMark})
              on conflict (address) do update set runner = excluded.runner, node = excluded.node, lease = excluded.lease,
                token = excluded.token, draining = false, started_at = excluded.started_at, shard_count = excluded.shard_count,
                token_mark = excluded.token_mark`
            return undefined
          }),
        ),
      unregister: (address, { lease, token }) =>
        sql`delete from ${nodes} where address = ${address} and lease = ${lease} and token = ${token}`.pipe(Effect.asVoid),
      runners: sql<RunnerRow>`select n.runner, n.draining from ${nodes} n where ${isAlive(sql.literal("n"))} order by n.address`,
      nodes: Effect.map(
        // Nodes are few, so each takes one lookup in the index of owners. A node without shards runs nothing, although rows that no other
        // node has taken over still name it. Late timers are found by a loose scan of their index, one step for each machine that has timers.
        sql<Omit<NodeRow, "startedAt" | "leaseMillis" | "lagMillis"> & { started_at: string; lease_millis: string; lag_millis: string }>`
          with recursive machines (machine) as (
            select min(t.machine) from ${timers} t where not t.dead
            union all
            select (select min(t.machine) from ${timers} t where not t.dead and t.machine > m.machine) from machines m where m.machine is not null
          ), late as materialized (
            select ('x' || left(md5(i.machine || '/' || i.id), 4))::bit(16)::integer % ${shardCount} as shard, min(o.due) as due
            from machines m cross join lateral (
              select t.instance, t.due from ${timers} t
              where t.machine = m.machine and not t.dead and t.due <= ${now} order by t.due limit ${lateLimit}
            ) o join ${instances} i on i.instance = o.instance group by 1
          )
          select n.address, n.runner, n.node, n.draining, n.started_at::text as started_at,
            n.shard_count as "shardCount", n.token_mark as "tokenMark", (
            select count(*)::integer from ${shards} s where s.lease = n.lease and s.token = n.token
          ) as shards, (
            select count(*)::integer from ${instances} i where i.needs_owner and i.status = 'running' and i.owner = n.node
              and exists (select 1 from ${shards} s where s.lease = n.lease and s.token = n.token)
          ) as working, (
            select (l.expires_at - ${now})::text from ${leases} l where l.name = n.lease
          ) as lease_millis, (
            select coalesce(${now} - min(l.due), 0)::text from late l
            join ${shards} s on s.shard = l.shard where s.lease = n.lease and s.token = n.token
          ) as lag_millis
          from ${nodes} n where ${isAlive(sql.literal("n"))} order by n.address`,
        (rows) =>
          rows.map(({ started_at, lease_millis, lag_millis, ...row }) => ({
            ...row,
            startedAt: Number(started_at),
            leaseMillis: Number(lease_millis),
            lagMillis: Number(lag_millis),
          })),
      ),
      drain: (node, draining) =>
        Effect.map(
          sql`update ${nodes} set draining = ${draining} where node = ${node} or address = ${node} returning address`,
          (rows) => rows.length > 0,
        ),
      deadHolders: (wanted) =>
        Effect.map(
          sql<{ node: string }>`select distinct s.node from ${shards} s where s.shard = any (${numbers(wanted)}) and not ${isAlive(shard)}`,
          (rows) => rows.map(({ node }) => node),
        ),
      // A shard is free when its holder's token is no longer the newest of its lease. In the order of shards, so that two nodes
      // that acquire at the same time do not deadlock.
      acquire: (address, wanted, { node, lease, token }) =>
        Effect.tap(
          Effect.map(
            sql<{ shard: number }>`
              insert into ${shards} as s (shard, address, node, lease, token)
              select w, ${address}, ${node}, ${lease}, ${token} from unnest(${numbers([...wanted].sort((a, b) => a - b))}) w
              where exists (select 1 from ${leases} l where l.name = ${lease} and l.token = ${token} and l.expires_at > ${now})
              on conflict (shard) do update
              set address = excluded.address, node = excluded.node, lease = excluded.lease, token = excluded.token
              where (s.lease = excluded.lease and s.token = excluded.token)
                or not exists (select 1 from ${leases} l where l.name = s.lease and l.token = s.token)
              returning s.shard`,
            (rows) => rows.map((row) => row.shard),
          ),
          (acquired) => (acquired.length === 0 ? Effect.void : Effect.asVoid(announce)),
        ),
      release: (given, { lease, token }) =>
        Effect.asVoid(
          Effect.andThen(
            sql`delete from ${shards} where shard = any (${numbers(given)}) and lease = ${lease} and token = ${token}`,
            announce,
          ),
        ),
      // Reads the lease of each node once, not once for each of its shards.
      owners: sql<Owner>`
        with holders as materialized (select distinct s.lease, s.token from ${shards} s),
        alive as materialized (select h.lease, h.token from holders h where ${isAlive(sql.literal("h"))})
        select s.shard, s.address from ${shards} s join alive a on a.lease = s.lease and a.token = s.token`,
    } satisfies ClusterTables
  })
