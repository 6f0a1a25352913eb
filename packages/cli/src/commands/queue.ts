/** `detent queue`: queues of commands. */
import * as commands from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import type { Handler } from "../Handler.ts"
import { countText } from "../machine/MachineView.ts"
import { Output } from "../output/Output.ts"
import { observing, type Place } from "../workspace/Opening.ts"

export const list: Handler<"queue list"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* output.rows(
      yield* commands.queues,
      [
        { title: "QUEUE", of: ({ queue }) => queue },
        { title: "", of: ({ paused }) => (paused ? "paused" : ""), looks: (text, _, style) => style.yellow(text) },
        { title: "AT ONCE", of: ({ concurrency }) => String(concurrency ?? "") },
        { title: "COMMANDS", of: ({ counts }) => countText(counts) || "none" },
      ],
      "no queues",
    )
  }).pipe(Effect.provide(observing(input)))

export const pause: Handler<"queue pause"> = (input) => changed(input, commands.pauseQueue(input.queue))

export const resume: Handler<"queue resume"> = (input) => changed(input, commands.resumeQueue(input.queue))

/** Workers read the settings of queues from the database, so no server has to be asked. */
const changed = (input: Place & { readonly queue: string }, change: ReturnType<typeof commands.pauseQueue>) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* change
    const queue = (yield* commands.queues).find((one) => one.queue === input.queue)
    yield* output.value(queue ?? { queue: input.queue }, () => `${input.queue} ${queue?.paused === true ? "is paused" : "is not paused"}\n`)
  }).pipe(Effect.provide(observing(input)))
