/** Refuses content that cannot be stored, before anything is written, so that one malformed commit cannot fail a whole batch. */

import { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { CommandsService } from "./Commands.ts"
import type { CommandRecord, Commit, EventRecord, InstanceKey, TimerRecord } from "./Commit.ts"

/**
 * The commits that cannot be stored, by their position in the batch. `maxBodyBytes` is the size of the largest text that the store can
 * read back.
 */
export const checkCommits = (commits: ReadonlyArray<Commit>, maxBodyBytes: number): ReadonlyMap<number, PersistenceFailed> => {
  const refused = new Map<number, PersistenceFailed>()
  // Nearly always all ids differ, and no instance names need to be built.
  const areDistinct = new Set(commits.map(({ id }) => id)).size === commits.length
  const seen = new Set<string>()
  commits.forEach((commit, index) => {
    const name = areDistinct ? "" : instanceName(commit)
    const problem = seen.has(name) ? "the instance appears twice in one batch" : problemOf(commit, maxBodyBytes)
    if (!areDistinct) seen.add(name)
    if (problem === undefined) return
    refused.set(index, new PersistenceFailed({ machine: commit.machine, id: commit.id, operation: "commit", cause: new Error(problem) }))
  })
  return refused
}

/** One text for `(machine, id)`. No machine or id contains the separator: such commits are refused. */
export const instanceName = (key: InstanceKey): string => `${key.machine}\u0000${key.id}`

const problemOf = (commit: Commit, maxBodyBytes: number): string | undefined => {
  if (commit.sequence < commit.expected || commit.sequence < 0) return `it would go from sequence ${commit.expected} to ${commit.sequence}`
  let previous = commit.expected
  for (const { sequence } of commit.events) {
    if (sequence <= previous || sequence > commit.sequence)
      return `event ${sequence} does not fit between ${previous} and ${commit.sequence}`
    previous = sequence
  }
  if (commit.snapshot !== undefined && commit.snapshot.sequence > commit.sequence) {
    return `snapshot ${commit.snapshot.sequence} is ahead of sequence ${commit.sequence}`
  }
  return (
    repeated(commit.events, (event) => event.dedupeId, "dedupe id") ??
    repeated(commit.setTimers, (timer) => timer.name, "timer") ??
    namesProblem(commit) ??
    sizeProblem(commit, maxBodyBytes)
  )
}

const namesProblem = ({ machine, id, events, setTimers, commands }: Commit): string | undefined =>
  nameProblem("machine", machine) ??
  nameProblem("id", id) ??
  firstProblem(events, dedupeIdProblem) ??
  firstProblem(setTimers, timerNameProblem) ??
  firstProblem(commands, commandNameProblem)

/** A loop by index: it allocates nothing, also before the compiler has optimised it, and runs several times for each commit. */
const firstProblem = <A>(parts: ReadonlyArray<A>, problemOf: (part: A, limit: number) => string | undefined, limit = 0) => {
  for (let index = 0; index < parts.length; index++) {
    const problem = problemOf(parts[index] as A, limit)
    if (problem !== undefined) return problem
  }
  return undefined
}

const dedupeIdProblem = ({ dedupeId }: EventRecord): string | undefined =>
  dedupeId === undefined ? undefined : boundedNameProblem("dedupe id", dedupeId)

const timerNameProblem = ({ name }: TimerRecord): string | undefined => boundedNameProblem("timer", name)

interface CommandNames {
  readonly key: string
  readonly queue?: string
  readonly group?: string | undefined
  readonly pendingKey?: string | undefined
}

const commandNameProblem = ({ key, queue, group, pendingKey }: CommandNames): string | undefined =>
  boundedNameProblem("command key", key) ??
  (queue === undefined ? undefined : boundedNameProblem("queue", queue)) ??
  (group === undefined ? undefined : groupProblem(group)) ??
  (pendingKey === undefined ? undefined : boundedNameProblem("key", pendingKey))

/** The longest name of a group, in bytes: together with its queue it fits into an entry of PostgreSQL's indexes. */
const groupBytes = 500

/** Why a queue cannot have a group of this name. */
export const groupProblem = (group: string): string | undefined =>
  group === "" ? "its group is empty: leave the group out" : (lengthProblem("group", group, groupBytes) ?? nameProblem("group", group))

/**
 * Half of a surrogate pair is not a character: databases replace it when they store it, so that two names become the same. PostgreSQL
 * has no null character in texts.
 */
export const nameProblem = (what: string, name: string): string | undefined => {
  if (!name.isWellFormed()) return `its ${what} ${JSON.stringify(name)} holds half of a surrogate pair: use well-formed Unicode`
  return name.includes("\u0000") ? `its ${what} ${JSON.stringify(name)} holds a null character` : undefined
}

/**
 * Whether a store can have an instance of this key. Where it cannot, a read finds nothing without asking the database: PostgreSQL would
 * fail, and SQLite would find the instance whose id has replacement characters instead.
 */
export const canBeStored = ({ machine, id }: InstanceKey): boolean =>
  nameProblem("machine", machine) === undefined && nameProblem("id", id) === undefined

/** The longest id of a new instance, in bytes. */
export const idBytes = 1000

/** The longest dedupe id, timer name or command key, in bytes: together with an id it fits into an entry of PostgreSQL's indexes. */
const nameBytes = 1400

export const lengthProblem = (what: string, name: string, limit: number): string | undefined =>
  isLarger(name, limit)
    ? `its ${what} ${JSON.stringify(name.slice(0, 40).toWellFormed())}… takes ${Buffer.byteLength(name)} bytes, the limit is ${limit}: use a shorter one, such as a digest`
    : undefined

export const boundedNameProblem = (what: string, name: string): string | undefined =>
  nameProblem(what, name) ?? lengthProblem(what, name, nameBytes)

const sizeProblem = ({ origin, events, snapshot, commands }: Commit, maxBodyBytes: number): string | undefined => {
  if (origin !== undefined && isLarger(origin, maxBodyBytes)) return tooLarge("first state", maxBodyBytes)
  if (snapshot !== undefined && isLarger(snapshot.body, maxBodyBytes)) return tooLarge("snapshot", maxBodyBytes)
  return firstProblem(events, eventSizeProblem, maxBodyBytes) ?? firstProblem(commands, commandSizeProblem, maxBodyBytes)
}

const eventSizeProblem = ({ tag, body }: EventRecord, maxBodyBytes: number): string | undefined =>
  isLarger(body, maxBodyBytes) ? tooLarge(`event ${tag}`, maxBodyBytes) : undefined

const commandSizeProblem = ({ slot, parameters }: CommandRecord, maxBodyBytes: number): string | undefined =>
  isLarger(parameters, maxBodyBytes) ? tooLarge(`command ${slot}`, maxBodyBytes) : undefined

const tooLarge = (what: string, maxBodyBytes: number): string =>
  `its ${what} is larger than the ${maxBodyBytes} bytes that this store can read back: keep large content elsewhere, and a reference to it here`

/** A UTF-16 unit takes at most three bytes in UTF-8: nearly always the length of the text decides, without counting bytes. */
const isLarger = (text: string, maxBytes: number): boolean => text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes

/** Enqueues the commands that can be stored, and refuses each of the others by itself. */
export const checkingCommands =
  (enqueue: CommandsService["enqueue"], maxBodyBytes: number): CommandsService["enqueue"] =>
  (commands) => {
    const refused = commands.map((command): PersistenceFailed | undefined => {
      const problem =
        commandNameProblem(command) ?? (isLarger(command.parameters, maxBodyBytes) ? tooLarge("payload", maxBodyBytes) : undefined)
      return problem === undefined
        ? undefined
        : new PersistenceFailed({ machine: command.queue, id: command.key, operation: "enqueue", cause: new Error(problem) })
    })
    if (refused.every((problem) => problem === undefined)) return enqueue(commands)
    const accepted = commands.filter((_, index) => refused[index] === undefined)
    return Effect.map(accepted.length === 0 ? Effect.succeed([]) : enqueue(accepted), (outcomes) => {
      const remaining = outcomes.values()
      return refused.flatMap((problem) => problem ?? remaining.next().value ?? [])
    })
  }

const repeated = <A>(values: ReadonlyArray<A>, nameOf: (value: A) => string | undefined, what: string): string | undefined => {
  if (values.length < 2) return undefined
  const names = values.map(nameOf).filter((name) => name !== undefined)
  return new Set(names).size === names.length ? undefined : `it names the same ${what} twice`
}

/** The prefix of all ids that the engine makes. Ids that senders choose never start with it. */
export const reservedPrefix = "@"

/** The prefix of the ids of self-sent events. */
export const raisedPrefix = `${reservedPrefix}raised/`

/** The prefix of the ids of events that one node sent to another, where their sender gave no id. */
export const deliveryPrefix = `${reservedPrefix}delivery/`

/** Whether a node made the id, to send the event again under it until another node answers. */
export const isDeliveryId = (dedupeId: string | undefined): dedupeId is string => dedupeId?.startsWith(deliveryPrefix) === true

/** Whether an id is that of a self-sent event. Once the event is handled, the id can be dropped. */
export const isRaisedId = (dedupeId: string | undefined): dedupeId is string => dedupeId?.startsWith(raisedPrefix) === true
