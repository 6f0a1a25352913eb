/** A command in memory, and how one gets there. */

import type { Start } from "../command/QueueLimits.ts"
import type { NewCommand, QueueSettings, StoredCommand } from "../store/Commands.ts"
import type { CommandRecord, Commit } from "../store/Commit.ts"
import { commandName, type MemoryState } from "./MemoryState.ts"

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** `machine` and `id` are those of the instance it belongs to. */
export interface MemoryCommand extends Mutable<Omit<StoredCommand, "instance">> {
  readonly machine: string | undefined
  readonly id: string | undefined
  /** Its time has not come: it was delayed, or is to be tried again. */
  waits: boolean
  /** How often it was claimed. */
  claims: number
}

export interface MemoryQueue {
  settings: QueueSettings
  starts: ReadonlyArray<Start>
}

export const addRequested = (state: MemoryState, { machine, id, at }: Commit, command: CommandRecord) => {
  const { queue = machine, priority = 0, ordered = false } = command
  add(state, { machine, id, ...command, queue, priority, ordered, runAt: at, enqueuedAt: at }, false)
}

export const addByHand = (state: MemoryState, command: NewCommand, now: number): MemoryCommand => {
  const { instance, delayMillis, key, queue, slot, parameters, priority, ordered } = command
  const runAt = Math.ceil(command.runAt ?? now + delayMillis)
  const fields = { key, queue, slot, parameters, priority, ordered, sequence: -1, runAt, enqueuedAt: now }
  return add(state, { machine: instance?.machine, id: instance?.id, ...fields }, runAt > now)
}

type Given = Pick<
  MemoryCommand,
  "machine" | "id" | "key" | "queue" | "slot" | "parameters" | "priority" | "ordered" | "sequence" | "runAt" | "enqueuedAt"
>

const add = (state: MemoryState, given: Given, waits: boolean): MemoryCommand => {
  const known = state.commands.get(commandName(given))
  if (known !== undefined) return known
  const command: MemoryCommand = {
    ...given,
    number: ++state.numbers.lastCommand,
    status: "pending",
    waits,
    attempts: 0,
    round: 0,
    claims: 0,
    worker: undefined,
    claimedUntil: undefined,
    problem: undefined,
    finishedAt: undefined,
  }
  state.commands.set(commandName(command), command)
  state.openCommands.set(command.number, command)
  return command
}
