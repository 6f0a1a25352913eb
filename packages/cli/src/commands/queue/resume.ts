import * as operations from "@detent/workspace/operations/commands"
import { command } from "../../line/Command.ts"
import { keyOption } from "../shared.ts"
import { changed, queue } from "./shared.ts"

export default command(
  {
    name: "queue resume",
    summary: "let workers take commands of a paused queue again",
    arguments: [queue],
    options: [keyOption],
    examples: [{ line: "detent queue resume mails", says: "workers execute its pending commands" }],
  },
  (input) => changed(input, "resume", operations.resumeQueue(input.queue)),
)
