/** Dead letters by cause. Problems that differ only in numbers, ids and quoted words have one fingerprint. */
import { createHash } from "node:crypto"
import { type CommandFilter, Commands, type StoredCommand } from "@detent/durable"
import * as Effect from "effect/Effect"
import { optional } from "../optional.ts"

/** The most dead letters that are examined for groups. */
const mostLooked = 20_000

const pageSize = 1000

const longestProblem = 500

/** The kind of a problem: without the parts that differ between occurrences. */
export const kindOfProblem = (problem: string): string =>
  problem
    .slice(0, longestProblem)
    .replace(/"[^"]*"|'[^']*'/g, "…")
    .replace(/\b[0-9a-f]{8,}(?:-[0-9a-f]{2,})*\b|\d+/gi, "#")

/** The hash of a command's queue, slot and kind of problem. Undefined where it has no problem. */
export const fingerprintOf = ({ queue, slot, problem }: Pick<StoredCommand, "queue" | "slot" | "problem">): string | undefined =>
  problem === undefined
    ? undefined
    : createHash("sha256")
        .update(JSON.stringify([queue, slot, kindOfProblem(problem)]))
        .digest("hex")
        .slice(0, 12)

export interface CommandGroup {
  readonly fingerprint: string
  /** The problem of the latest command. */
  readonly problem: string
  readonly slot: string
  readonly queue: string
  readonly count: number
  /** When a command first and last failed so, also before it was retried. */
  readonly firstAt: number
  readonly lastAt: number
}

const timeOf = ({ finishedAt, enqueuedAt }: StoredCommand): number => finishedAt ?? enqueuedAt

/** When the command first failed with its cause. A retry by hand keeps the first error. */
const firstTimeOf = (command: StoredCommand, fingerprint: string): number =>
  command.errors.find(({ problem }) => fingerprintOf({ ...command, problem }) === fingerprint)?.at ?? timeOf(command)

/**
 * The conditions on commands, the same for lists, groups, retries and skips. The store does not have `fingerprint`, the cause: each
 * command is compared. `number` names commands one by one.
 */
export type CommandQuery = CommandFilter & {
  readonly fingerprint?: string | undefined
  readonly number?: number | ReadonlyArray<number> | undefined
}

/** Whether the store does not check all conditions by itself. */
export const isCompared = ({ fingerprint, number }: CommandQuery): boolean => fingerprint !== undefined || number !== undefined

/** Calls `isEnough` with each matching command, in the order they were enqueued, until it returns true or the limit is reached. */
export const eachMatching = (
  { fingerprint, number, ...filter }: CommandQuery,
  after: number | undefined,
  isEnough: (command: StoredCommand) => boolean,
) =>
  Effect.gen(function* () {
    const commands = yield* Commands
    const isMeant = (command: StoredCommand) => fingerprint === undefined || fingerprintOf(command) === fingerprint
    if (number !== undefined) {
      const numbers = [...new Set(typeof number === "number" ? [number] : number)].sort((one, other) => one - other)
      for (const one of numbers.filter((found) => found > (after ?? 0))) {
        const [command] = (yield* commands.list(filter, 1, one - 1)).commands
        if (command?.number === one && isMeant(command) && isEnough(command)) return { next: one }
      }
      return {}
    }
    let looked = 0
    for (let from = after; ; ) {
      const page = yield* commands.list(filter, pageSize, from)
      for (const command of page.commands) {
        looked++
        if (isMeant(command) && isEnough(command)) return { next: command.number }
        if (looked >= mostLooked) return { next: command.number, scanned: looked }
      }
      if (page.next === undefined) return {}
      from = page.next
    }
  }).pipe(Effect.map((end): { readonly next?: number; readonly scanned?: number } => end))

/** Groups of the commands that match, largest first. `scanned` is set where the limit was reached before the last command. */
export const groups = Effect.fn("commandGroups.groups")(function* (filter: CommandQuery) {
  const found = new Map<string, CommandGroup>()
  const { scanned } = yield* eachMatching(filter, undefined, (command) => {
    const fingerprint = fingerprintOf(command)
    if (fingerprint === undefined) return false
    const { problem = "", slot, queue } = command
    const at = timeOf(command)
    const known = found.get(fingerprint)
    const first = firstTimeOf(command, fingerprint)
    const { count = 0, firstAt = first, lastAt = at } = known ?? {}
    found.set(fingerprint, {
      fingerprint,
      problem: known === undefined || at >= lastAt ? problem : known.problem,
      slot,
      queue,
      count: count + 1,
      firstAt: Math.min(firstAt, first),
      lastAt: Math.max(lastAt, at),
    })
    return false
  })
  const all = [...found.values()].sort((one, other) => other.count - one.count || other.lastAt - one.lastAt)
  return { groups: all, ...optional({ scanned }) }
})
