import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { keyOption } from "../shared.ts"
import { changeState, execution } from "./shared.ts"

export default command(
  {
    name: "execution resume",
    summary: "resume an execution that is suspended or held",
    arguments: [execution],
    options: [keyOption],
    examples: [{ line: "detent execution resume checkout/4f1c2a", says: "after you have corrected the cause" }],
  },
  (input) => changeState(input, "resume", Effect.void),
)
