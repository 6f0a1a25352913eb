/** The operations on commands that are specific to PostgreSQL. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { CommandSignal } from "../contract/CommandSignal.ts"
import type { CommandsService, Exchange, ExchangeRequest } from "../contract/Commands.ts"
import { checkingCommands } from "../contract/CommitCheck.ts"
import { inTurns } from "../contract/GroupTurns.ts"
import { claimedCommandOf, finishedRow } from "../sql/CommandRows.ts"
import type { Dialect } from "../sql/Dialect.ts"
import { enqueueing } from "../sql/enqueueing.ts"
import type { Row } from "../sql/Row.ts"
import { textOf, wholeOf } from "../sql/Row.ts"
import { sqlCommands } from "../sql/SqlCommands.ts"
import { anyMachine, persisting } from "../sql/StoreFailure.ts"
import { insertCommands, insertForWorker } from "./insertCommands.ts"
import { notices } from "./notices.ts"
import type { Subscribe } from "./PgListener.ts"

export const postgresCommands = (
  dialect: Dialect,
  schema: string,
  subscribe: Subscribe | undefined,
  maxBodyBytes: number,
): Effect.Effect<CommandsService, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { sql } = dialect
    const signal = new CommandSignal()
    const notify = yield* notices(sql, subscribe, `${schema}_commands`, signal)
    const statements = {
      insert: insertCommands(schema),
      insertForWorker: insertForWorker(schema),
      find: findCommands(schema),
      replace: replaceCommands(schema),
      exchange: callExchange(schema),
    }
    const enqueue = yield* enqueueing({
      sql,
      statements: {
        insert: (rows) => sql.unsafe<Row>(statements.insert, [rows]),
        find: (keys) => sql.unsafe<Row>(statements.find, [keys]),
        replace: (rows) => sql.unsafe<Row>(statements.replace, [rows]),
      },
      insertForWorker: (rows, { queue, worker, claimMillis }) =>
        sql.unsafe<Row>(statements.insertForWorker, [rows, queue, worker, Math.ceil(claimMillis)]),
      signal,
      tellOnCommit: notify,
    })
    const exchange = ({ worker, finished, wants, claimMillis }: ExchangeRequest) =>
      sql.unsafe<Row>(statements.exchange, [
        worker,
        JSON.stringify(finished.map(finishedRow)),
        JSON.stringify(inOrder(wants)),
        Math.ceil(claimMillis),
      ])
    return {
      ...sqlCommands(dialect),
      isShared: true,
      hasInboxes: true,
      signal,
      enqueue: checkingCommands(enqueue, maxBodyBytes),
      exchange: (request) => persisting("exchange commands", anyMachine)(Effect.map(exchange(request), exchanged)),
    }
  })

/** Every worker locks limited queues in the same order, so that no two deadlock. */
const inOrder = (wants: ExchangeRequest["wants"]): ReadonlyArray<readonly [queue: string, limit: number]> =>
  wants.map(({ queue, limit }) => [queue, limit] as const).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))

const exchanged = (rows: ReadonlyArray<Row>): Exchange => {
  const claimed: Array<ReturnType<typeof claimedCommandOf>> = []
  const refused: Array<number> = []
  const next = new Map<string, number>()
  const busy = new Set<string>()
  for (const row of rows) {
    const kind = textOf(row, "kind")
    if (kind === "claimed") claimed.push(claimedCommandOf(row))
    else if (kind === "refused") refused.push(wholeOf(row, "number"))
    else if (kind === "busy") busy.add(textOf(row, "queue"))
    else next.set(textOf(row, "queue"), wholeOf(row, "number"))
  }
  return { claimed: inTurns(claimed), refused, next, busy }
}

const callExchange = (schema: string): string => `select * from ${schema}.exchange_commands($1::text, $2::jsonb, $3::jsonb, $4::bigint)`

/** Rows: key, queue, pending key. Returns the key that was asked for, and that of the stored command. */
const findCommands = (schema: string): string => `
  select c.id as number, c.queue, k ->> 0 as key, c.key as stored_key from jsonb_array_elements($1::jsonb) k
  join ${schema}.commands c on c.key = k ->> 0 and c.queue = k ->> 1
  union all
  select c.id as number, c.queue, k ->> 0 as key, c.key as stored_key from jsonb_array_elements($1::jsonb) k
  join ${schema}.commands c on c.pending_key = k ->> 2 and c.queue = k ->> 1`

/** Rows: queue, pending key, parameters, time, delay. */
const replaceCommands = (schema: string): string => `
  update ${schema}.commands c
  set parameters = k.parameters, run_at = k.run_at, waits = k.run_at > k.moment
  from (
    select given.*, coalesce(at, moment + delay) as run_at
    from (
      select k ->> 0 as queue, k ->> 1 as pending_key, k ->> 2 as parameters, (k ->> 3)::bigint as at, (k ->> 4)::bigint as delay,
        (extract(epoch from clock_timestamp()) * 1000)::bigint as moment
      from jsonb_array_elements($1::jsonb) k
    ) given
  ) k
  where c.pending_key = k.pending_key and c.queue = k.queue and c.status = 'pending'
  returning c.id as number, c.queue, c.pending_key, c.key as stored_key`
