/** `detent timer`: timers that repeatedly failed to fire. */
import { RetryPolicy } from "@detent/machine"
import * as operations from "@detent/workspace/operations/commands"
import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { command } from "../line/Command.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { changedHere } from "../workspace/Changing.ts"
import { observing } from "../workspace/Opening.ts"
import { instanceArgument, keyOption } from "./shared.ts"

const list = command(
  {
    name: "timer list",
    summary: "dead timers: those that repeatedly failed to fire",
    detail: `A timer that fails to fire is tried again. Default: ${RetryPolicy.summary(RetryPolicy.standard)}.`,
    arguments: [],
    options: [{ name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many timers" }],
    examples: [{ line: "detent timer list", says: "each with its error" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.rows(
        yield* operations.deadTimers(input.limit),
        [
          { title: "MACHINE", of: ({ machine }) => machine },
          { title: "ID", of: ({ id }) => id },
          { title: "TIMER", of: ({ name }) => name },
          { title: "DUE", of: ({ due }) => momentText(due) },
          { title: "TRIES", of: ({ attempts }) => attempts },
          { title: "PROBLEM", of: ({ problem }) => problem },
        ],
        "no timer was given up",
      )
    }).pipe(Effect.provide(observing(input))),
)

const revive = command(
  {
    name: "timer revive",
    summary: "revive a dead timer, so that it fires",
    arguments: [instanceArgument, { name: "timer", summary: "the timer's name, as `detent timer list` shows it" }],
    options: [keyOption],
    examples: [{ line: `detent timer revive order-7 "payment overdue"`, says: "the next worker or server fires it" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, id } = yield* instances.resolve(input.instance)
      const revived = operations.reviveTimer({ machine, id, name: input.timer })
      yield* changedHere({ operation: "commands.reviveTimer", params: { machine, id, name: input.timer }, key: input.key }, revived)
      yield* output.value({ machine, id, timer: input.timer }, () => `the next worker or server fires ${input.timer} of ${machine}/${id}\n`)
    }).pipe(Effect.provide(observing(input))),
)

export const noun = { name: "timer", summary: "dead timers: list, revive" }

export const commands = [list, revive]
