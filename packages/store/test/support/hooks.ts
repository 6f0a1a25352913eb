/** How the conformance kit reaches behind the stores in SQL. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { InstanceKey } from "../../src/contract/Commit.ts"
import type { StoreHooks } from "../../testing/index.ts"

const corrupt =
  (instances: string) =>
  ({ machine, id }: InstanceKey) =>
    Effect.flatMap(
      SqlClient,
      (sql) => sql`update ${sql.literal(instances)} set status = 'banana' where machine = ${machine} and id = ${id}`,
    )

const commandKeys =
  (instances: string, commands: string) =>
  ({ machine, id }: InstanceKey) =>
    Effect.flatMap(SqlClient, (sql) =>
      Effect.map(
        sql<{ readonly key: string }>`
          select c.key from ${sql.literal(commands)} c join ${sql.literal(instances)} i on i.instance = c.instance
          where i.machine = ${machine} and i.id = ${id} order by c.id`,
        (rows) => rows.map(({ key }) => key),
      ),
    )

const scoped = (install: string, remove: string) =>
  Effect.flatMap(SqlClient, (sql) => Effect.acquireRelease(sql.unsafe(install), () => Effect.orDie(sql.unsafe(remove))))

export const sqliteHooks: StoreHooks<SqlClient> = {
  corruptInstance: corrupt("detent_instances"),
  commandKeys: commandKeys("detent_instances", "detent_commands"),
  sabotage: (part) =>
    scoped(`create trigger sabotage before insert on detent_${part} begin select raise(abort, 'sabotaged'); end`, "drop trigger sabotage"),
}

export const postgresHooks: StoreHooks<SqlClient> = {
  corruptInstance: corrupt("detent.instances"),
  commandKeys: commandKeys("detent.instances", "detent.commands"),
  sabotage: (part) =>
    Effect.andThen(
      Effect.flatMap(SqlClient, (sql) =>
        sql.unsafe(`create or replace function sabotage() returns trigger language plpgsql as $$ begin raise 'sabotaged'; end $$`),
      ),
      scoped(
        `create trigger sabotage before insert on detent.${part} for each row execute function sabotage()`,
        `drop trigger sabotage on detent.${part}`,
      ),
    ),
}
