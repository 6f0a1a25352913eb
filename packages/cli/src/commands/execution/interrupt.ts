import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { keyOption } from "../shared.ts"
import { changeState, execution } from "./shared.ts"

export default command(
  {
    name: "execution interrupt",
    summary: "interrupt an execution; its compensations run",
    arguments: [execution],
    options: [keyOption],
    examples: [{ line: "detent execution interrupt checkout/4f1c2a --yes", says: "without a question" }],
  },
  (input) =>
    changeState(input, "interrupt", agreed(`Interrupt ${input.execution}? No further activity starts, and its compensations run.`)),
)
