/** Commands on SQLite. There is one writer at a time, so counts stay valid until the claim. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import { CommandSignal } from "../contract/CommandSignal.ts"
import type { ClaimedCommand, CommandsService, Exchange, ExchangeRequest, QueueSettings, Want } from "../contract/Commands.ts"
import { checkingCommands } from "../contract/CommitCheck.ts"
import { type GroupShare, inTurns, limitsOf, mostVisited, sharesOf, type VisitedGroup } from "../contract/GroupTurns.ts"
import { begun, roomIn, type Start, unlimited } from "../contract/QueueLimits.ts"
import { claimedCommandOf, finishedRow, ownLimitsOf, queueOf } from "../sql/CommandRows.ts"
import type { Dialect } from "../sql/Dialect.ts"
import { enqueueing } from "../sql/enqueueing.ts"
import type { Row } from "../sql/Row.ts"
import { flagOf, textOf, wholeOf } from "../sql/Row.ts"
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
        find: (keys) => sql.unsafe<Row>(statements.findCommands, [keys, keys]),
        replace: (rows) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            transact((run) => run(statements.replaceCommands, [Math.floor(now), Math.floor(now), rows])),
          ),
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
      claimed: inTurns(claimed),
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
    const limitsGroups = row !== undefined && flagOf(row, "limits_groups")
    const isCounted = settings.concurrency === undefined && !limitsGroups ? 0 : 1
    const claim = (group: string, most: number) =>
      Effect.map(run(statements.claimCommands, [worker, now + claimMillis, isCounted, queue, group, now, most]), (rows) =>
        rows.map(claimedCommandOf),
      )
    const [grouped] = yield* run(statements.hasGroups, [queue])
    const hasGroups = grouped !== undefined && flagOf(grouped, "found")
    const turn = { queue, settings, limitsGroups, turn: row === undefined ? "" : textOf(row, "turn"), limit: room.limit, now }
    const taken = hasGroups
      ? yield* claimInTurns(run, turn, claim)
      : { commands: room.limit === 0 ? [] : yield* claim("", room.limit), isBusy: false, nextMillis: undefined }
    const { commands } = taken
    if (settings.rate !== undefined)
      yield* run(statements.noteStarts, [JSON.stringify(begun(starts, settings.rate, now, commands.length)), queue])
    const dues = [
      ...(yield* run(statements.nextDue, [queue])),
      ...(commands.length < room.limit && taken.nextMillis === undefined ? yield* run(statements.nextFree, [queue]) : []),
    ].flatMap((found) => (found["due"] === null ? [] : [Math.max(0, wholeOf(found, "due") - now)]))
    const pauses = [...dues, ...(taken.nextMillis === undefined ? [] : [taken.nextMillis])]
    const untilDue = pauses.length === 0 ? undefined : Math.min(...pauses)
    return { commands, nextMillis: room.nextMillis ?? untilDue, isBusy: room.isBusy || (taken.isBusy && commands.length < room.limit) }
  })

interface Turn {
  readonly queue: string
  readonly settings: QueueSettings
  readonly limitsGroups: boolean
  /** The last group that had one. */
  readonly turn: string
  readonly limit: number
  readonly now: number
}

/** Claims commands of the next groups. */
const claimInTurns = (
  run: Run,
  { queue, settings, limitsGroups, turn, limit, now }: Turn,
  claim: (group: string, most: number) => Effect.Effect<ReadonlyArray<ClaimedCommand>, SqlError>,
) =>
  Effect.gen(function* () {
    const commands: Array<ClaimedCommand> = []
    if (limit === 0) return { commands, isBusy: false, nextMillis: undefined }
    const found = yield* run(statements.nextGroups, [queue, now, turn, mostVisited(limit, limitsGroups)])
    const counts = new Map(
      (limitsGroups ? yield* run(statements.runningGroups, [queue, now]) : []).map((row) => [
        textOf(row, "group_name"),
        wholeOf(row, "count"),
      ]),
    )
    const visited = new Map(
      found.map((row) => {
        const name = textOf(row, "name")
        const starts = row["starts"] === null ? [] : startsOf(row)
        return [name, { name, running: counts.get(name) ?? 0, own: ownLimitsOf(row), starts } satisfies VisitedGroup]
      }),
    )
    const { shares, isBusy, nextMillis } = sharesOf(settings, [...visited.values()], limit, limitsGroups, now)
    const notes: Array<readonly [name: string, starts: string, idleAt: number]> = []
    let last: GroupShare | undefined
    let isCut = false
    for (const share of shares) {
      if (commands.length === limit) break
      const taken = yield* claim(share.name, Math.min(share.limit, limit - commands.length))
      if (taken.length === 0) continue
      commands.push(...taken)
      last = share
      isCut ||= taken.length === share.limit
      const group = visited.get(share.name)
      const { rate } = share.name === "" ? limitsOf(undefined, undefined) : limitsOf(settings.perGroup, group?.own)
      if (rate === undefined) continue
      notes.push([share.name, JSON.stringify(begun(group?.starts ?? [], rate, now, taken.length)), now + rate.intervalMillis])
    }
    if (last !== undefined) yield* run(statements.noteTurn, [queue, last.name])
    if (notes.length > 0) {
      yield* run(statements.noteGroupStarts, [queue, JSON.stringify(notes)])
      yield* run(statements.forgetGroups, [queue, now])
    }
    return { commands, isBusy, nextMillis: isCut && commands.length < limit ? 1 : nextMillis }
  })

const startsOf = (row: Row): ReadonlyArray<Start> => {
  const starts: unknown = JSON.parse(textOf(row, "starts"))
  if (!Array.isArray(starts)) throw new RowProblem("column starts should hold a list")
  return starts.map((start: ReadonlyArray<unknown>): Start => [Number(start[0]), Number(start[1])])
}
