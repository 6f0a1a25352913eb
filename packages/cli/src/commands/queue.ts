/** `detent queue`: queues of commands. */
import * as operations from "@detent/workspace/operations/commands"
import { optional } from "@detent/workspace/optional"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { WrongUsage } from "../Failure.ts"
import { command } from "../line/Command.ts"
import { countText } from "../machine/MachineView.ts"
import { durationIn, durationText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { changedHere } from "../workspace/Changing.ts"
import { observing, type Place } from "../workspace/Opening.ts"
import { keyOption } from "./shared.ts"

const queue = { name: "queue", summary: "the queue's name, as `detent queue list` shows it" } as const

const list = command(
  {
    name: "queue list",
    summary: "queues of commands, with the number of commands of each status",
    arguments: [],
    options: [],
    examples: [{ line: "detent queue list", says: "paused queues, and the number of pending commands" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.rows(
        yield* operations.queues,
        [
          { title: "QUEUE", of: ({ queue }) => queue },
          { title: "", of: ({ paused }) => (paused ? "paused" : ""), looks: (text, _, style) => style.yellow(text) },
          { title: "CONCURRENCY", of: ({ concurrency }) => String(concurrency ?? "") },
          { title: "RATE", of: ({ rate }) => (rate === undefined ? "" : rateText(rate)) },
          { title: "WORKERS", of: ({ workers }) => workers.length },
          { title: "COMMANDS", of: ({ counts }) => countText(counts) || "none" },
        ],
        "no queues",
      )
    }).pipe(Effect.provide(observing(input))),
)

const pause = command(
  {
    name: "queue pause",
    summary: "stop workers from taking commands of a queue",
    arguments: [queue],
    options: [keyOption],
    examples: [{ line: "detent queue pause mails", says: "running commands are finished" }],
  },
  (input) => changed(input, "pause", operations.pauseQueue(input.queue)),
)

const none = "none"

const limit = command(
  {
    name: "queue limit",
    summary: "limit the commands of a queue that all workers together execute",
    arguments: [queue],
    options: [
      { name: "concurrency", kind: "text", value: "N", summary: "commands executed at the same time; none: no limit" },
      { name: "rate", kind: "text", value: "N/TIME", summary: "commands started within a time, such as 10/1minute; none: no limit" },
      keyOption,
    ],
    examples: [
      { line: "detent queue limit mails --concurrency 2 --rate 100/1minute", says: "sets both limits; an omitted limit is unchanged" },
      { line: "detent queue limit mails --rate none", says: "removes the limit" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const change = optional({ concurrency: yield* concurrencyOf(input.concurrency), rate: yield* rateOf(input.rate) })
      if (Object.keys(change).length === 0)
        return yield* new WrongUsage({ problem: "no limit was given", nextStep: "give --concurrency or --rate" })
      const { queue } = input
      yield* checkName(queue)
      const limited = yield* changedHere(
        { operation: "commands.limit", params: { queue }, json: change, key: input.key },
        operations.limitQueue(queue, change),
      )
      yield* output.value(limited, () => `${queue}: ${limitsText(limited)}\n`)
    }).pipe(Effect.provide(observing(input))),
)

/** Refuses an empty name: its settings would stay in the list of queues. */
const checkName = (name: string): Effect.Effect<void, WrongUsage> =>
  name === "" ? Effect.fail(new WrongUsage({ problem: "the queue's name is empty", nextStep: "see `detent queue list`" })) : Effect.void

const concurrencyOf = (text: string | undefined): Effect.Effect<number | null | undefined, WrongUsage> => {
  if (text === undefined || text === none) return Effect.succeed(text === none ? null : undefined)
  return /^[1-9]\d{0,8}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new WrongUsage({ problem: `--concurrency ${text} is not a limit`, nextStep: "write a whole number of at least 1, or none" }),
      )
}

type Rate = NonNullable<operations.QueueLimitChange["rate"]>

const rateOf = (text: string | undefined): Effect.Effect<Rate | null | undefined, WrongUsage> => {
  if (text === undefined || text === none) return Effect.succeed(text === none ? null : undefined)
  const [, limit, time] = /^([1-9]\d{0,8})\/(.+)$/.exec(text) ?? []
  const interval = Option.map(durationIn(time), Duration.toMillis)
  return limit !== undefined && Option.isSome(interval) && interval.value >= 1
    ? Effect.succeed({ limit: Number(limit), intervalMillis: interval.value })
    : Effect.fail(
        new WrongUsage({ problem: `--rate ${text} is not a limit`, nextStep: "write a number and a time, such as 10/1minute, or none" }),
      )
}

interface Limits {
  readonly concurrency?: number
  readonly rate?: Rate
}

const rateText = ({ limit: most, intervalMillis }: Rate): string => `${most} in ${durationText(intervalMillis)}`

const limitsText = ({ concurrency, rate }: Limits): string =>
  [
    concurrency === undefined ? "no concurrency limit" : `concurrency ${concurrency}`,
    rate === undefined ? "no rate limit" : rateText(rate),
  ].join(", ")

const resume = command(
  {
    name: "queue resume",
    summary: "let workers take commands of a paused queue again",
    arguments: [queue],
    options: [keyOption],
    examples: [{ line: "detent queue resume mails", says: "workers execute its pending commands" }],
  },
  (input) => changed(input, "resume", operations.resumeQueue(input.queue)),
)

/** Changes the database directly, without a server: workers read the settings of queues from the database. */
const changed = (
  input: Place & { readonly queue: string; readonly key: string | undefined },
  operation: "pause" | "resume",
  change: ReturnType<typeof operations.pauseQueue>,
) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* checkName(input.queue)
    yield* changedHere({ operation: `commands.${operation}`, params: { queue: input.queue }, key: input.key }, change)
    const queues = yield* operations.queues
    const queue = queues.find((one) => one.queue === input.queue)
    yield* output.value(queue ?? { queue: input.queue }, () => `${input.queue} ${queue?.paused === true ? "is paused" : "is not paused"}\n`)
    // A misspelt name looks like a queue without commands, so the note lists the queues with commands.
    const used = queues.filter(({ counts }) => Object.keys(counts).length > 0).map((one) => one.queue)
    if (used.includes(input.queue)) return
    yield* output.note(`no command is in the queue ${input.queue}; queues with commands: ${used.join(", ") || "none"}`)
  }).pipe(Effect.provide(observing(input)))

export const noun = { name: "queue", summary: "queues of commands: list, limit, pause, resume" }

export const commands = [list, limit, pause, resume]
