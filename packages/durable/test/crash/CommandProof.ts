/** The properties of commands after the kills, checked on the tables and on the log of the handlers. */
import { existsSync, readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { RetryPolicy } from "@detent/machine"
import { storedKey } from "@detent/store/internal"
import { Patience } from "../../../store/test/support/patience.ts"
import { type Execution, retry } from "./CommandMachine.ts"
import type { StoreAddress } from "./Protocol.ts"
import { query, type Row } from "./query.ts"

/** A command whose executions never ended is tried once more, alone. */
const mostRuns = RetryPolicy.maxAttempts(retry) + 1

export interface CommandProof {
  readonly problems: ReadonlyArray<string>
  readonly statuses: Readonly<Record<string, number>>
  readonly executions: number
  /** How many commands were executed more than once. */
  readonly repeated: number
  /** How many were retried by hand after they had failed for good. */
  readonly retried: number
}

/** In milliseconds of an idle machine. */
const longestStandstill = 60_000

/** Waits until every command has come to an end. Fails when none has for a while. */
export const allOver = async (store: StoreAddress): Promise<void> => {
  let fewest = Number.POSITIVE_INFINITY
  const patience = new Patience(longestStandstill)
  while (!patience.isOver) {
    const [row] = await query(store, "select count(*) as open from detent.commands where finished_at is null")
    const open = Number(row?.["open"])
    if (open === 0) return
    if (open < fewest) patience.renew()
    fewest = Math.min(fewest, open)
    await sleep(100)
  }
  throw new Error(`${fewest} commands have not ended, and none did for ${longestStandstill / 1000} s of an idle machine`)
}

export const proveCommands = async (
  store: StoreAddress,
  log: string,
  accepted: ReadonlyArray<string>,
  enqueued: ReadonlyArray<string>,
): Promise<CommandProof> => {
  const commands = await query(store, "select * from detent.commands")
  const events = await query(
    store,
    "select e.*, i.machine, i.id as instance_id from detent.events e join detent.instances i on i.instance = e.instance",
  )
  const [database] = await query(store, "select id from detent.database")
  // Handlers log the idempotency keys that they are given.
  const executions = readLog(log).map((one) => ({ ...one, key: storedKey(String(database?.["id"]), one.key) }))
  const byKey = new Map(commands.map((row) => [String(row["key"]), row]))
  const begun = new Map<string, Array<Execution>>()
  for (const one of executions) if (one.phase === "begins") begun.set(one.key, [...(begun.get(one.key) ?? []), one])
  const problems = [
    ...requestedOnce(events, byKey, accepted),
    ...enqueued.filter((key) => !byKey.has(key)).map((key) => `${key} was enqueued and is not there`),
    ...[...byKey.values()].flatMap(ended),
    ...[...byKey.values()].flatMap((row) => executedRightly(row, begun.get(String(row["key"])) ?? [])),
    ...heardOnce(events, byKey),
  ]
  const statuses: Record<string, number> = {}
  for (const row of commands) statuses[String(row["status"])] = (statuses[String(row["status"])] ?? 0) + 1
  return {
    problems,
    statuses,
    executions: executions.length,
    repeated: [...begun.values()].filter(({ length }) => length > 1).length,
    retried: commands.filter((row) => Number(row["round"]) > 0).length,
  }
}

const readLog = (log: string): ReadonlyArray<Execution> => {
  if (!existsSync(log)) return []
  // A process killed while it wrote leaves half a line.
  return readFileSync(log, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Execution]
      } catch {
        return []
      }
    })
}

/** Every accepted event has its two commands, and there are no others. */
const requestedOnce = (
  events: ReadonlyArray<Row>,
  byKey: ReadonlyMap<string, Row>,
  accepted: ReadonlyArray<string>,
): ReadonlyArray<string> => {
  const asked = events.filter((row) => row["tag"] === "Ask")
  const tokens = new Set(asked.map((row) => String(row["dedupe_id"])))
  const expected = asked.flatMap((row) =>
    [0, 1].map((index) => `errands/${String(row["instance_id"])}/${Number(row["sequence"])}/${index}`),
  )
  const isExpected = new Set(expected)
  const found = [...byKey.values()].filter((row) => row["instance"] !== null).map((row) => String(row["key"]))
  return [
    ...accepted.filter((token) => !tokens.has(token)).map((token) => `${token} was accepted and is not journaled`),
    ...expected.filter((key) => !byKey.has(key)).map((key) => `${key} was requested and is not there`),
    ...found.filter((key) => !isExpected.has(key)).map((key) => `${key} is stored, and was not requested`),
  ]
}

const ended = (row: Row): ReadonlyArray<string> =>
  ["completed", "handled", "skipped", "failed"].includes(String(row["status"]))
    ? []
    : [`${String(row["key"])} is left ${String(row["status"])}`]

const executedRightly = (row: Row, begun: ReadonlyArray<Execution>): ReadonlyArray<string> => {
  const key = String(row["key"])
  const finishedAt = Number(row["finished_at"])
  const round = Number(row["round"])
  // Attempts count from 1 in every round.
  const attempts = Number(row["attempts"]) + round * mostRuns
  const late = begun.filter(({ at }) => at > finishedAt)
  return [
    ...late.map(({ at }) => `${key} began ${at - finishedAt} ms after its end was stored`),
    ...(row["status"] !== "failed" && begun.length === 0 ? [`${key} is ${String(row["status"])} and was never executed`] : []),
    ...(begun.length > attempts ? [`${key} was executed ${begun.length} times and counts ${attempts}`] : []),
    ...(begun.length > mostRuns * (round + 1) ? [`${key} was executed ${begun.length} times of ${mostRuns}`] : []),
  ]
}

/** The instance took one event for each piece of work that succeeded or failed for good, and one for each round of a retry. */
const heardOnce = (events: ReadonlyArray<Row>, byKey: ReadonlyMap<string, Row>): ReadonlyArray<string> => {
  const heard = new Map<string, number>()
  for (const { dedupe_id: id } of events) if (typeof id === "string" && id.startsWith("@")) heard.set(id, (heard.get(id) ?? 0) + 1)
  const told = events.filter((row) => row["tag"] === "Done" || row["tag"] === "Failed").length
  const expected = [...byKey.values()].filter((row) => row["slot"] === "work").flatMap(eventIds)
  return [
    ...expected.filter((id) => heard.get(id) !== 1).map((id) => `${id} arrived ${heard.get(id) ?? 0} times`),
    ...(told === expected.length ? [] : [`${told} results arrived of ${expected.length}`]),
  ]
}

const eventIds = ({ key, round }: Row): ReadonlyArray<string> =>
  Array.from({ length: Number(round) + 1 }, (_, index) => (index === 0 ? `@command/${String(key)}` : `@retry/${index}/${String(key)}`))
