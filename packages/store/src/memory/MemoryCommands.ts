/** Commands in memory, under the same rules as in a database. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CommandSignal } from "../contract/CommandSignal.ts"
import {
  type CommandCount,
  type CommandFilter,
  type CommandStatus,
  type CommandsService,
  type EnqueueOutcome,
  type GroupRecord,
  mostCounted,
  mostOfInstance,
  type NewCommand,
  type StoredCommand,
  withoutExecution,
} from "../contract/Commands.ts"
import { checkingCommands } from "../contract/CommitCheck.ts"
import { announceStored } from "../contract/Enqueuer.ts"
import { addByHand } from "./MemoryCommand.ts"
import { maxBodyBytes } from "./MemoryJournal.ts"
import { commandName, findInstance, type MemoryCommand, type MemoryGroup, type MemoryState, queueIn } from "./MemoryState.ts"
import { claimFrom, expire, finish, held, queuesOfNext } from "./memoryExchange.ts"

export const memoryCommands = (state: MemoryState): CommandsService => {
  const signal = new CommandSignal()
  const all = () => [...state.commands.values()]
  return {
    databaseId: state.databaseId,
    isShared: false,
    signal,
    enqueue: checkingCommands(
      (commands) =>
        Effect.tap(
          atNow((now) => commands.map((command) => enqueue(state, command, now))),
          (outcomes) => announceStored(signal, commands, outcomes),
        ),
      maxBodyBytes,
    ),
    exchange: ({ worker, finished, wants, claimMillis }) =>
      atNow((now) => {
        const refused = finished.filter((one) => !finish(state, worker, one, now)).map(({ number }) => number)
        const next = new Map<string, number>()
        const busy = new Set<string>()
        const claimed = wants.flatMap((want) => {
          const { commands, nextMillis, isBusy } = claimFrom(state, want, worker, claimMillis, now)
          if (nextMillis !== undefined) next.set(want.queue, nextMillis)
          if (isBusy) busy.add(want.queue)
          return commands
        })
        return { claimed, refused, next, busy }
      }),
    queuesOfNext: (instances) => atNow((now) => queuesOfNext(state, instances, now)),
    renew: (worker, claims, millis) =>
      atNow((now) =>
        claims.flatMap((claim) => {
          const command = held(state, worker, claim)
          if (command === undefined) return [claim.number]
          command.claimedUntil = Math.ceil(now + millis)
          return []
        }),
      ),
    oldestPending: (queue) =>
      atNow((now) => {
        const waiting = [...state.openCommands.values()].filter(
          (command) => command.queue === queue && command.status === "pending" && command.runAt <= now,
        )
        return waiting.length === 0 ? undefined : Math.min(...waiting.map(({ enqueuedAt }) => enqueuedAt))
      }),
    claims: (queue) =>
      Effect.sync(() =>
        Map.groupBy(
          [...state.openCommands.values()].flatMap((command) =>
            command.queue === queue && command.status === "processing" && command.worker !== undefined
              ? [{ worker: command.worker, number: command.number, claim: command.claims }]
              : [],
          ),
          ({ worker }) => worker,
        ),
      ),
    disown: (worker, held) =>
      Effect.sync(() => {
        const unknown = [...state.openCommands.values()].filter(
          (command) => command.worker === worker && command.status === "processing" && !held.includes(command.number),
        )
        for (const command of unknown) {
          expire(command)
          command.attempts--
        }
        return unknown.length
      }),
    releaseExpired: atNow((now) => {
      const expired = [...state.openCommands.values()].filter(
        ({ status, claimedUntil = Number.POSITIVE_INFINITY }) => status === "processing" && claimedUntil <= now,
      )
      for (const command of expired) expire(command)
      return expired.length
    }),
    get: (key, queue) => Effect.sync(() => Option.map(Option.fromNullishOr(withKey(state, key, queue)[0]), stored)),
    ofInstance: (key, { limit = mostOfInstance, before = Number.POSITIVE_INFINITY, keyPrefix = "", sequences } = {}) =>
      Effect.sync(() =>
        all()
          .filter(
            (command) =>
              command.machine === key.machine &&
              command.id === key.id &&
              command.number < before &&
              command.key.startsWith(keyPrefix) &&
              (sequences === undefined || (command.sequence >= sequences.from && command.sequence <= sequences.through)),
          )
          .slice(-Math.max(1, limit))
          .map(stored),
      ),
    list: (filter, limit, after = 0) =>
      Effect.sync(() => {
        const found = all().filter((command) => command.number > after && matches(command, filter))
        return { commands: found.slice(0, limit).map(stored), next: found.length > limit ? found[limit - 1]?.number : undefined }
      }),
    counts: Effect.sync(() => counts(all())),
    backlog: Effect.sync(() =>
      counts(all().filter(({ status }) => status === "pending" || status === "processing" || status === "failed")),
    ),
    unserved: (overdueMillis) =>
      atNow((now) =>
        withoutExecution(
          [...state.openCommands.values()].flatMap(({ machine, status, runAt }) =>
            machine === undefined || (status !== "processing" && runAt > now - overdueMillis) ? [] : [{ machine, status }],
          ),
        ),
      ),
    retry: (filter) => atNow((now) => failedOnes(all(), filter).map((command) => revive(state, command, now)).length),
    countRetries: (filter) => Effect.sync(() => failedOnes(all(), filter).length),
    skip: (key, reason, queue) =>
      atNow((now) => {
        const open = withKey(state, key, queue).filter(({ status }) => status === "failed" || status === "pending")
        for (const command of open) {
          Object.assign(command, { status: "skipped", problem: reason, waits: false, pendingKey: undefined, finishedAt: now })
          state.openCommands.delete(command.number)
        }
        return open.length > 0
      }),
    purge: (statuses, finishedBefore, limit) =>
      Effect.sync(() => {
        const old = all().filter(({ status, finishedAt }) => statuses.includes(status) && (finishedAt ?? Infinity) < finishedBefore)
        for (const command of old.slice(0, limit)) state.commands.delete(commandName(command))
        return Math.min(limit, old.length)
      }),
    configure: (queue, settings) =>
      Effect.sync(() => {
        const known = queueIn(state, queue)
        known.settings = { ...known.settings, ...settings }
      }),
    queues: Effect.sync(() => [...state.queues].map(([queue, { settings }]) => ({ queue, ...settings }))),
    configureGroup: (queue, group, own) =>
      Effect.sync(() => {
        const { groups } = queueIn(state, queue)
        const known = groups.get(group)
        if (known === undefined) groups.set(group, { own, starts: [] })
        else known.own = own
      }),
    groups: (queue, limit, after = "") =>
      atNow((now) =>
        groupsOf(state, queue, now)
          .filter(({ group }) => group > after)
          .slice(0, limit),
      ),
  }
}

const atNow = <A>(act: (now: number) => A): Effect.Effect<A> => Effect.map(Clock.currentTimeMillis, (now) => act(Math.floor(now)))

const enqueue = (state: MemoryState, command: NewCommand, now: number): EnqueueOutcome => {
  const known = state.commands.get(commandName(command))
  if (known !== undefined) return { _tag: "Existing", number: known.number }
  const pending = withPendingKey(state, command)
  if (pending !== undefined) {
    if (command.replaces === true) replace(pending, command, now)
    return { _tag: "Existing", number: pending.number, key: pending.key }
  }
  if (command.instance !== undefined && findInstance(state, command.instance) === undefined) return { _tag: "NoInstance" }
  return { _tag: "Enqueued", number: addByHand(state, command, now).number }
}

const withPendingKey = (state: MemoryState, { queue, pendingKey }: NewCommand): MemoryCommand | undefined =>
  pendingKey === undefined
    ? undefined
    : [...state.openCommands.values()].find((command) => command.queue === queue && command.pendingKey === pendingKey)

const replace = (pending: MemoryCommand, { parameters, runAt, delayMillis }: NewCommand, now: number) => {
  pending.parameters = parameters
  pending.runAt = Math.ceil(runAt ?? now + delayMillis)
  pending.waits = pending.runAt > now
}

const groupsOf = (state: MemoryState, queue: string, now: number): ReadonlyArray<GroupRecord> => {
  const open = [...state.openCommands.values()].filter((command) => command.queue === queue && (!command.waits || command.runAt <= now))
  const limits = state.queues.get(queue)?.groups ?? new Map<string, MemoryGroup>()
  const own = [...limits].flatMap(([name, group]) => (group.own === undefined ? [] : [name]))
  const names = new Set([...open.flatMap(({ group = "" }) => (group === "" ? [] : [group])), ...own])
  return [...names].sort().map((group) => {
    const first = open.filter((command) => command.group === group).slice(0, mostCounted)
    const count = (status: CommandStatus) => first.filter((command) => command.status === status).length
    return { group, pending: count("pending"), running: count("processing"), own: limits.get(group)?.own }
  })
}

const withKey = (state: MemoryState, key: string, queue: string | undefined): ReadonlyArray<MemoryCommand> => {
  if (queue === undefined) return [...state.commands.values()].filter((command) => command.key === key)
  const command = state.commands.get(commandName({ queue, key }))
  return command === undefined ? [] : [command]
}

const stored = ({ machine, id, waits, claims, pendingKey, ...command }: MemoryCommand): StoredCommand => ({
  ...command,
  instance: machine === undefined || id === undefined ? undefined : { machine, id },
})

const revive = (state: MemoryState, command: MemoryCommand, now: number) => {
  Object.assign(command, { status: "pending", attempts: 0, round: command.round + 1, worker: undefined, runAt: now, finishedAt: undefined })
  state.openCommands.set(command.number, command)
}

const failedOnes = (commands: ReadonlyArray<MemoryCommand>, { key, ...filter }: CommandFilter & { readonly key?: string }) =>
  commands.filter((command) => command.status === "failed" && (key === undefined || command.key === key) && matches(command, filter))

const matches = (command: MemoryCommand, filter: CommandFilter): boolean =>
  (filter.queue === undefined || command.queue === filter.queue) &&
  (filter.status === undefined || command.status === filter.status) &&
  (filter.slot === undefined || command.slot === filter.slot) &&
  (filter.machine === undefined || command.machine === filter.machine) &&
  (filter.id === undefined || command.id === filter.id) &&
  (filter.enqueuedAfter === undefined || command.enqueuedAt > filter.enqueuedAfter) &&
  (filter.enqueuedBefore === undefined || command.enqueuedAt < filter.enqueuedBefore)

const counts = (commands: ReadonlyArray<MemoryCommand>): ReadonlyArray<CommandCount> => {
  const found = new Map<string, CommandCount>()
  for (const { queue, status } of commands) {
    const name = `${queue}\u0000${status}`
    found.set(name, { queue, status, count: (found.get(name)?.count ?? 0) + 1 })
  }
  return [...found.values()]
}
