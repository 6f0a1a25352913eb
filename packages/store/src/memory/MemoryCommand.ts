/** Adds commands to the memory store. */

import type { NewCommand } from "../contract/Commands.ts"
import type { CommandRecord, Commit } from "../contract/Commit.ts"
import { commandName, type MemoryCommand, type MemoryState } from "./MemoryState.ts"

export const addRequested = (state: MemoryState, { machine, id, at }: Commit, command: CommandRecord) => {
  const { queue = machine, priority = 0, ordered = false } = command
  add(
    state,
    { machine, id, ...command, queue, priority, ordered, group: undefined, pendingKey: undefined, runAt: at, enqueuedAt: at },
    false,
  )
}

export const addByHand = (state: MemoryState, command: NewCommand, now: number): MemoryCommand => {
  const { instance, delayMillis, key, queue, slot, parameters, priority, ordered, group, pendingKey } = command
  const runAt = Math.ceil(command.runAt ?? now + delayMillis)
  const fields = { key, queue, slot, parameters, priority, ordered, group, pendingKey, sequence: -1, runAt, enqueuedAt: now }
  return add(state, { machine: instance?.machine, id: instance?.id, ...fields }, runAt > now)
}

type Given = Pick<
  MemoryCommand,
  | "machine"
  | "id"
  | "key"
  | "queue"
  | "slot"
  | "parameters"
  | "priority"
  | "ordered"
  | "group"
  | "pendingKey"
  | "sequence"
  | "runAt"
  | "enqueuedAt"
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
    errors: [],
    finishedAt: undefined,
  }
  state.commands.set(commandName(command), command)
  state.openCommands.set(command.number, command)
  return command
}
