/** Claiming and finishing commands in memory. */

import type { Claim, ClaimedCommand, Finished, Verdict, Want } from "../contract/Commands.ts"
import type { InstanceKey } from "../contract/Commit.ts"
import { inTurns, limitsOf, mostVisited, sharesOf, type VisitedGroup } from "../contract/GroupTurns.ts"
import { begun, roomIn, unlimited } from "../contract/QueueLimits.ts"
import { keptErrors } from "../contract/StoredCommand.ts"
import { type MemoryCommand, type MemoryQueue, type MemoryState, queueIn } from "./MemoryState.ts"

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
  const claimable = open
    .filter((command) => command.status === "pending" && !command.waits && !isBehind(state, command))
    .sort((left, right) => right.priority - left.priority || left.number - right.number)
  const turns = claimable.some(({ group }) => group !== undefined) || (known !== undefined && limitsGroups(known))
  const taken = turns
    ? chooseInTurns(queueIn(state, queue), open, claimable, room.limit, now)
    : { chosen: claimable.slice(0, room.limit), isBusy: false, nextMillis: undefined }
  const { chosen } = taken
  for (const command of chosen) {
    Object.assign(command, { status: "processing", worker, claimedUntil: Math.ceil(now + claimMillis), pendingKey: undefined })
    command.attempts++
    command.claims++
  }
  if (known?.settings.rate !== undefined) known.starts = begun(known.starts, known.settings.rate, now, chosen.length)
  const pauses = [untilDue(open, now), taken.nextMillis].filter((pause) => pause !== undefined)
  return {
    commands: inTurns(chosen.map(claimed)),
    nextMillis: room.nextMillis ?? (pauses.length === 0 ? undefined : Math.min(...pauses)),
    isBusy: room.isBusy || (taken.isBusy && chosen.length < room.limit),
  }
}

/** Whether a group of the queue has limits. */
const limitsGroups = ({ settings, groups }: MemoryQueue): boolean =>
  settings.perGroup !== undefined || [...groups.values()].some(({ own }) => own !== undefined)

/** Chooses commands of the next groups. */
const chooseInTurns = (
  queue: MemoryQueue,
  open: ReadonlyArray<MemoryCommand>,
  claimable: ReadonlyArray<MemoryCommand>,
  limit: number,
  now: number,
) => {
  const { settings, groups, turn } = queue
  const names = [...new Set(claimable.map(({ group = "" }) => group))].sort()
  const inOrder = [...names.filter((name) => name > turn), ...names.filter((name) => name <= turn)]
  const isLimited = limitsGroups(queue)
  const visited = inOrder.slice(0, mostVisited(limit, isLimited)).map((name): VisitedGroup => {
    const running = open.filter(({ group = "", status }) => group === name && status === "processing").length
    return { name, running, own: groups.get(name)?.own, starts: groups.get(name)?.starts ?? [] }
  })
  const { shares, isBusy, nextMillis } = sharesOf(settings, visited, limit, isLimited, now)
  const chosen: Array<MemoryCommand> = []
  let isCut = false
  for (const share of shares) {
    const taken = claimable.filter(({ group = "" }) => group === share.name).slice(0, Math.min(share.limit, limit - chosen.length))
    if (taken.length === 0) continue
    chosen.push(...taken)
    queue.turn = share.name
    isCut ||= taken.length === share.limit
    const known = groups.get(share.name)
    const { rate } = share.name === "" ? limitsOf(undefined, undefined) : limitsOf(settings.perGroup, known?.own)
    if (rate !== undefined) groups.set(share.name, { own: known?.own, starts: begun(known?.starts ?? [], rate, now, taken.length) })
  }
  for (const [name, { own, starts }] of groups) {
    const { rate } = limitsOf(settings.perGroup, own)
    if (own === undefined && (rate === undefined || begun(starts, rate, now, 0).length === 0)) groups.delete(name)
  }
  return { chosen, isBusy, nextMillis: isCut && chosen.length < limit ? 1 : nextMillis }
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
  group: command.group,
  attempts: command.attempts,
  round: command.round,
  enqueuedAt: command.enqueuedAt,
})
