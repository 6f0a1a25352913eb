/** `detent timer`: timers that were given up because they could not be fired. */
import { TimerNotFound } from "@detent/workspace/errors"
import * as commands from "@detent/workspace/operations/commands"
import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import type { Handler } from "../Handler.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { observing } from "../workspace/Opening.ts"

export const list: Handler<"timer list"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* output.rows(
      yield* commands.deadTimers(input.limit),
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
  }).pipe(Effect.provide(observing(input)))

/** More than this of one workspace are no case for one timer at a time. */
const mostTimers = 1000

export const revive: Handler<"timer revive"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { machine, id } = yield* instances.resolve(input.instance)
    const dead = yield* commands.deadTimers(mostTimers)
    const timer = dead.find((one) => one.machine === machine && one.id === id && one.name === input.timer)
    if (timer === undefined) return yield* new TimerNotFound({ name: input.timer, id })
    yield* commands.reviveTimer(timer)
    yield* output.value(
      { machine, id, timer: input.timer },
      () => `${input.timer} of ${machine}/${id} is fired by the next process that works\n`,
    )
  }).pipe(Effect.provide(observing(input)))
