/** Commands on SQLite. There is one writer at a time, so counts stay valid until the claim. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import { CommandSignal } from "../contract/CommandSignal.ts"
import type { ClaimedCommand, CommandsService, Exchange, ExchangeRequest, Want } from "../contract/Commands.ts"
import { checkingCommands } from "../contract/CommitCheck.ts"
import { begun, roomIn, type Start, unlimited } from "../contract/QueueLimits.ts"
import { byTurn, claimedCommandOf, finishedRow, queueOf } from "../sql/CommandRows.ts"
import type { Dialect } from "../sql/Dialect.ts"
import { enqueueing } from "../sql/enqueueing.ts"
import type { Row } from "../sql/Row.ts"
import { textOf, wholeOf } from "../sql/Row.ts"
import { sqlCommands } from "../sql/SqlCommands.ts"
import { anyMachine, persisting, RowProblem } from "../sql/StoreFailure.ts"
import * as statements from "./commandStatements.ts"
import type { Run, Transact } from "./transaction.ts"

export const sqliteCommands = (dialect: Dialect, transact: Transact, maxBodyBytes: number): Effect.Effect<CommandsService> =>
  Effect.gen(function* () {
    const { sql } = dialect
    const signal = new CommandSignal()
    const enqueue = yield* enqueueing({
      sql,
      statements: {
        insert: (rows) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            transact((run) => run(statements.insertCommands, [Math.floor(now), Math.floor(now), rows])),
          ),
        find: (keys) => sql.unsafe<Row>(statements.findCommands, [keys]),
      },
      signal,
      // There is one connection: a worker that asks now is served when the transaction has ended, and then sees the commands.
      tellOnCommit: (queues) => Effect.sync(() => signal.announce(queues)),
    })
    return {
      ...sqlCommands(dialect),
      isShared: true,
      signal,
      enqueue: checkingCommands(enqueue, maxBodyBytes),
      exchange: (request) =>
        persisting(
          "exchange commands",
          anyMachine,
        )(Effect.flatMap(Clock.currentTimeMillis, (now) => transact((run) => exchange(run, request, Math.floor(now))))),
    }
  })

const exchange = (run: Run, { worker, finished, wants, claimMillis }: ExchangeRequest, now: number): Effect.Effect<Exchange, SqlError> =>
  Effect.gen(function* () {
    const rows = JSON.stringify(finished.map(finishedRow))
    const done = finished.length === 0 ? [] : yield* run(statements.finishCommands, [now, now, now, rows, worker])
    const counts = countsOf(done)
    if (counts.length > 0) yield* run(statements.countFinished, [JSON.stringify(counts)])
    const before = done.length === finished.length ? [] : yield* run(statements.finishedBefore, [rows, worker])
    const stored = new Set([...done, ...before].map((row) => wholeOf(row, "id")))
    const claimed: Array<ClaimedCommand> = []
    const next = new Map<string, number>()
    const busy = new Set<string>()
    for (const want of wants) {
      const from = yield* claimFrom(run, want, worker, Math.ceil(claimMillis), now)
      claimed.push(...from.commands)
      if (from.nextMillis !== undefined) next.set(want.queue, from.nextMillis)
      if (from.isBusy) busy.add(want.queue)
    }
    return {
      claimed: claimed.sort(byTurn),
      refused: finished.filter(({ number }) => !stored.has(number)).map(({ number }) => number),
      next,
      busy,
    }
  })

/** Counts the completed, skipped and handled commands among these, by queue and status. */
const countsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<readonly [queue: string, status: string, count: number]> => {
  const counts = new Map<string, [queue: string, status: string, count: number]>()
  for (const row of rows) {
    const [queue, status] = [textOf(row, "queue"), textOf(row, "status")]
    if (status !== "completed" && status !== "skipped" && status !== "handled") continue
    const known = counts.get(`${status} ${queue}`)
    if (known === undefined) counts.set(`${status} ${queue}`, [queue, status, 1])
    else known[2]++
  }
  return [...counts.values()]
}

const claimFrom = (run: Run, { queue, limit }: Want, worker: string, claimMillis: number, now: number) =>
  Effect.gen(function* () {
    const [row] = yield* run(statements.selectQueue, [queue])
    const settings = row === undefined ? unlimited : queueOf(row)
    if (settings.paused) return { commands: [], nextMillis: undefined, isBusy: false }
    yield* run(statements.wakeCommands, [queue, now])
    const processing = settings.concurrency === undefined ? [] : yield* run(statements.countProcessing, [queue, now])
    const starts = row === undefined ? [] : startsOf(row)
    const room = roomIn(settings, limit, () => processing.reduce((sum, counted) => sum + wholeOf(counted, "count"), 0), starts, now)
    const isCounted = settings.concurrency === undefined ? 0 : 1
    const claim = [worker, now + claimMillis, isCounted, queue, now, room.limit]
    const commands = room.limit === 0 ? [] : (yield* run(statements.claimCommands, claim)).map(claimedCommandOf)
    if (settings.rate !== undefined)
      yield* run(statements.noteStarts, [JSON.stringify(begun(starts, settings.rate, now, commands.length)), queue])
    const dues = [
      ...(yield* run(statements.nextDue, [queue])),
      ...(commands.length < room.limit ? yield* run(statements.nextFree, [queue]) : []),
    ].flatMap((found) => (found["due"] === null ? [] : [Math.max(0, wholeOf(found, "due") - now)]))
    const untilDue = dues.length === 0 ? undefined : Math.min(...dues)
    return { commands, nextMillis: room.nextMillis ?? untilDue, isBusy: room.isBusy }
  })

const startsOf = (row: Row): ReadonlyArray<Start> => {
  const starts: unknown = JSON.parse(textOf(row, "starts"))
  if (!Array.isArray(starts)) throw new RowProblem("column starts should hold a list")
  return starts.map((start: ReadonlyArray<unknown>): Start => [Number(start[0]), Number(start[1])])
}
