/**
 * The number of finished commands of each queue, so that counting does not read them all. The call that finishes commands adds to it, once
 * per queue; in processes of the previous version too, because their functions are replaced as well.
 *
 * Two workers that add to the same row would wait for each other's disk sync. So each connection has a row of its own, or shares it with
 * few; the count is their sum, and one row alone may be negative.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { countFinished, exchangeFunction, withOrder, withoutRounds, withRounds } from "../exchangeFunction.ts"

const statements = (schema: string) => [
  // Commands that are being finished meanwhile are counted after their commit.
  `lock table ${schema}.commands in share row exclusive mode`,
  `create table ${schema}.finished (
    queue text collate "C" not null,
    status text not null,
    shard integer not null,
    commands bigint not null,
    primary key (queue, status, shard)
  ) with (fillfactor = 50)`,
  `insert into ${schema}.finished (queue, status, shard, commands)
    select queue, status, 0, count(*) from ${schema}.commands where status in ('completed', 'skipped') group by queue, status`,
  ...[withoutRounds, withRounds, withOrder].map((version) => exchangeFunction(schema, version)),
  `create function ${schema}.count_removed_commands() returns trigger language plpgsql as $function$
  begin
    ${countFinished(schema, "removed", "-count(*)")};
    return null;
  end
  $function$`,
  `create trigger count_removed after delete on ${schema}.commands
    referencing old table as removed for each statement execute function ${schema}.count_removed_commands()`,
]

export const finished = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of statements(schema)) yield* sql.unsafe(statement)
  })
