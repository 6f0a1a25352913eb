/** `detent queue`: queues of commands. */
import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { command } from "../line/Command.ts"
import { countText } from "../machine/MachineView.ts"
import { Output } from "../output/Output.ts"
import { changedHere } from "../workspace/Changing.ts"
import { observing, type Place } from "../workspace/Opening.ts"
import { keyOption } from "./shared.ts"

const queue = { name: "queue", summary: "the queue's name, as `detent queue list` shows it" } as const

const list = command(
  {
    name: "queue list",
    summary: "queues of commands, with how many commands they have of each status",
    arguments: [],
    options: [],
    examples: [{ line: "detent queue list", says: "which are paused, and what waits" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.rows(
        yield* operations.queues,
        [
          { title: "QUEUE", of: ({ queue }) => queue },
          { title: "", of: ({ paused }) => (paused ? "paused" : ""), looks: (text, _, style) => style.yellow(text) },
          { title: "AT ONCE", of: ({ concurrency }) => String(concurrency ?? "") },
          { title: "COMMANDS", of: ({ counts }) => countText(counts) || "none" },
        ],
        "no queues",
      )
    }).pipe(Effect.provide(observing(input))),
)

const pause = command(
  {
    name: "queue pause",
    summary: "let no worker take commands of a queue",
    arguments: [queue],
    options: [keyOption],
    examples: [{ line: "detent queue pause mails", says: "commands under way are finished" }],
  },
  (input) => changed(input, "pause", operations.pauseQueue(input.queue)),
)

const resume = command(
  {
    name: "queue resume",
    summary: "let workers take commands of a paused queue again",
    arguments: [queue],
    options: [keyOption],
    examples: [{ line: "detent queue resume mails", says: "what waited is executed" }],
  },
  (input) => changed(input, "resume", operations.resumeQueue(input.queue)),
)

/** Workers read the settings of queues from the database, so no server has to be asked. */
const changed = (
  input: Place & { readonly queue: string; readonly key: string | undefined },
  operation: "pause" | "resume",
  change: ReturnType<typeof operations.pauseQueue>,
) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* changedHere({ operation: `commands.${operation}`, params: { queue: input.queue }, key: input.key }, change)
    const queues = yield* operations.queues
    const queue = queues.find((one) => one.queue === input.queue)
    yield* output.value(queue ?? { queue: input.queue }, () => `${input.queue} ${queue?.paused === true ? "is paused" : "is not paused"}\n`)
    // A misspelt name looks like a queue that has no commands yet.
    const used = queues.filter(({ counts }) => Object.keys(counts).length > 0).map((one) => one.queue)
    if (used.includes(input.queue)) return
    yield* output.note(`no command is in the queue ${input.queue}; queues with commands: ${used.join(", ") || "none"}`)
  }).pipe(Effect.provide(observing(input)))

export const noun = { name: "queue", summary: "queues of commands: look, pause, resume" }

export const commands = [list, pause, resume]
