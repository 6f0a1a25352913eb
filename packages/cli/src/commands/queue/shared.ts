import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { durationText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { observing, type Place } from "../../workspace/Opening.ts"

export const queue = { name: "queue", summary: "the queue's name, as `detent queue list` shows it" } as const

/** Refuses an empty name: its settings would stay in the list of queues. */
export const checkName = (name: string): Effect.Effect<void, WrongUsage> =>
  name === "" ? Effect.fail(new WrongUsage({ problem: "the queue's name is empty", nextStep: "see `detent queue list`" })) : Effect.void

export type Rate = NonNullable<operations.QueueLimitChange["rate"]>

export const rateText = ({ limit: most, intervalMillis }: Rate): string => `${most} in ${durationText(intervalMillis)}`

export interface Limits {
  readonly concurrency?: number
  readonly rate?: Rate
}

export const limitsText = ({ concurrency, rate }: Limits): string =>
  [
    concurrency === undefined ? "no concurrency limit" : `concurrency ${concurrency}`,
    rate === undefined ? "no rate limit" : rateText(rate),
  ].join(", ")

/** Changes the database directly, without a server: workers read the settings of queues from the database. */
export const changed = (
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
