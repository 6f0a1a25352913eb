/**
 * The errors of a command's latest executions, as JSON, and the function that keeps them. It has a new name: processes of the previous
 * version continue to call theirs. Commands whose failure was handled are counted as finished.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { countFinished, exchangeFunction, withErrors } from "../exchangeFunction.ts"

const statements = (schema: string) => [
  `alter table ${schema}.commands add column errors text`,
  exchangeFunction(schema, withErrors),
  `create or replace function ${schema}.count_removed_commands() returns trigger language plpgsql as $function$
  begin
    ${countFinished(schema, "removed", "-count(*)")};
    return null;
  end
  $function$`,
]

export const errors = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of statements(schema)) yield* sql.unsafe(statement)
  })
