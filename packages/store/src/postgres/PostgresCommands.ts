/** The operations on commands that are specific to PostgreSQL. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { CommandSignal } from "../contract/CommandSignal.ts"
import type { CommandsService, Exchange, ExchangeRequest } from "../contract/Commands.ts"
import { checkingCommands } from "../contract/CommitCheck.ts"
import { byTurn, claimedCommandOf, finishedRow } from "../sql/CommandRows.ts"
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
      exchange: callExchange(schema),
    }
    const enqueue = yield* enqueueing({
      sql,
      statements: {
        insert: (rows) => sql.unsafe<Row>(statements.insert, [rows]),
        find: (keys) => sql.unsafe<Row>(statements.find, [keys]),
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
  return { claimed: claimed.sort(byTurn), refused, next, busy }
}

const callExchange = (schema: string): string => `select * from ${schema}.exchange_commands($1::text, $2::jsonb, $3::jsonb, $4::bigint)`

/** Rows: key, queue. */
const findCommands = (schema: string): string => `
  select c.id as number, c.key, c.queue from jsonb_array_elements($1::jsonb) k
  join ${schema}.commands c on c.key = k ->> 0 and c.queue = k ->> 1`
