/** Claiming and finishing commands in memory. */

import type { Claim, ClaimedCommand, Finished, Verdict, Want } from "../contract/Commands.ts"
import type { InstanceKey } from "../contract/Commit.ts"
import { begun, roomIn, unlimited } from "../contract/QueueLimits.ts"
import { keptErrors } from "../contract/StoredCommand.ts"
import type { MemoryCommand, MemoryState } from "./MemoryState.ts"

/** The command of a claim; undefined where this worker no longer holds it. */
export const held = (state: MemoryState, worker: string, { number, claim }: Claim): MemoryCommand | undefined => {
  const command = state.openCommands.get(number)
  return command?.claims === claim && command.worker === worker && command.status === "processing" ? command : undefined
}

/** Stores the result of a command. False where this worker no longer holds it. */
export const finish = (state: MemoryState, worker: string, finished: Finished, now: number): boolean => {
  const command = held(state, worker, finished)
  if (command === undefined) return wasFinished(state, worker, finished)
  const { verdict } = finished
  command.claimedUntil = undefined
  switch (verdict._tag) {
    case "Completed":
      end(state, command, "completed", verdict.problem, now)
      break
    case "Skipped":
      end(state, command, "skipped", verdict.reason, now)
      break
    case "Failed":
      keepError(command, verdict.problem, now)
      end(state, command, "failed", verdict.problem, now)
      break
    case "Handled":
      keepError(command, verdict.problem, now)
      end(state, command, "handled", verdict.problem, now)
      break
    case "Retry":
      keepError(command, verdict.problem, now)
      command.problem = verdict.problem
      putBack(command, verdict.delayMillis, now)
      break
    case "Released":
      command.attempts--
      putBack(command, verdict.delayMillis, now)
  }
  return true
}

/** Whether the result is stored already: if its answer was lost, the worker sends it again, and it is not refused. */
const wasFinished = (state: MemoryState, worker: string, { number, claim, verdict }: Finished): boolean => {
  const status = ends[verdict._tag]
  const isThat = (command: MemoryCommand) =>
    command.number === number && command.claims === claim && command.worker === worker && command.status === status
  return status !== undefined && [...state.commands.values()].some(isThat)
}

const ends: { readonly [tag in Verdict["_tag"]]?: MemoryCommand["status"] } = {
  Completed: "completed",
  Skipped: "skipped",
  Failed: "failed",
  Handled: "handled",
}

const end = (state: MemoryState, command: MemoryCommand, status: MemoryCommand["status"], problem: string | undefined, now: number) => {
  command.status = status
  command.problem = problem
  command.finishedAt = now
  state.openCommands.delete(command.number)
}

const keepError = (command: MemoryCommand, problem: string, now: number) => {
  const kept = command.errors.length < keptErrors ? command.errors : command.errors.toSpliced(1, 1)
  command.errors = [...kept, { attempt: command.attempts, at: now, problem }]
}

const putBack = (command: MemoryCommand, delayMillis: number, now: number) => {
  command.status = "pending"
  command.worker = undefined
  command.runAt = Math.ceil(now + delayMillis)
  command.waits = delayMillis > 0
}

/** The claim on the command has ended: it is pending again. */
export const expire = (command: MemoryCommand) => {
  command.status = "pending"
  command.worker = undefined
  command.claimedUntil = undefined
}

export const claimFrom = (
  state: MemoryState,
  { queue, limit }: Want,
  worker: string,
  claimMillis: number,
  now: number,
): { readonly commands: ReadonlyArray<ClaimedCommand>; readonly nextMillis: number | undefined; readonly isBusy: boolean } => {
  const known = state.queues.get(queue)
  const open = [...state.openCommands.values()].filter((command) => command.queue === queue)
  if (known?.settings.paused === true) return { commands: [], nextMillis: undefined, isBusy: false }
  for (const command of open) {
    if (command.waits && command.runAt <= now) command.waits = false
    if (command.status === "processing" && (command.claimedUntil ?? 0) <= now) expire(command)
  }
  const processing = () => open.filter(({ status }) => status === "processing").length
  const room = roomIn(known?.settings ?? unlimited, limit, processing, known?.starts ?? [], now)
  const chosen = open
    .filter((command) => command.status === "pending" && !command.waits && !isBehind(state, command))
    .sort((left, right) => right.priority - left.priority || left.number - right.number)
    .slice(0, room.limit)
  for (const command of chosen) {
    Object.assign(command, { status: "processing", worker, claimedUntil: Math.ceil(now + claimMillis) })
    command.attempts++
    command.claims++
  }
  if (known?.settings.rate !== undefined) known.starts = begun(known.starts, known.settings.rate, now, chosen.length)
  return { commands: chosen.map(claimed), nextMillis: room.nextMillis ?? untilDue(open, now), isBusy: room.isBusy }
}

/** The queues in which the next ordered command of one of these instances can be claimed. */
export const queuesOfNext = (state: MemoryState, instances: ReadonlyArray<InstanceKey>, now: number): ReadonlySet<string> => {
  const open = [...state.openCommands.values()].filter(({ ordered }) => ordered)
  const next = instances.flatMap(({ machine, id }) => open.find((command) => command.machine === machine && command.id === id) ?? [])
  const isFree = ({ status, waits, runAt }: MemoryCommand) => status === "pending" && (!waits || runAt <= now)
  return new Set(next.filter((command) => isFree(command) && !isBehind(state, command)).map(({ queue }) => queue))
}

const isBehind = (state: MemoryState, { ordered, machine, id, number }: MemoryCommand): boolean => {
  if (!ordered || machine === undefined) return false
  const isAhead = (other: MemoryCommand) =>
    other.ordered &&
    other.machine === machine &&
    other.id === id &&
    other.number !== number &&
    (other.number < number || other.status === "processing")
  return [...state.openCommands.values()].some(isAhead)
}

const untilDue = (open: ReadonlyArray<MemoryCommand>, now: number): number | undefined => {
  let first: number | undefined
  for (const { waits, runAt, claimedUntil } of open) {
    const free = waits ? runAt : claimedUntil
    if (free !== undefined && (first === undefined || free < first)) first = free
  }
  return first === undefined ? undefined : Math.max(0, first - now)
}

const claimed = ({ machine, id, ...command }: MemoryCommand): ClaimedCommand => ({
  number: command.number,
  claim: command.claims,
  key: command.key,
  queue: command.queue,
  slot: command.slot,
  parameters: command.parameters,
  instance: machine === undefined || id === undefined ? undefined : { machine, id },
  sequence: command.sequence,
  priority: command.priority,
  ordered: command.ordered,
  attempts: command.attempts,
  round: command.round,
  enqueuedAt: command.enqueuedAt,
})
