import * as operations from "@detent/workspace/operations/commands"
import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { observing } from "../../workspace/Opening.ts"
import { instanceArgument, keyOption } from "../shared.ts"

export default command(
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
