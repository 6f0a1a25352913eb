import * as operations from "@detent/workspace/operations/commands"
import { command } from "../../line/Command.ts"
import { keyOption } from "../shared.ts"
import { changed, queue } from "./shared.ts"

export default command(
  {
    name: "queue pause",
    summary: "stop workers from taking commands of a queue",
    arguments: [queue],
    options: [keyOption],
    examples: [{ line: "detent queue pause mails", says: "running commands are finished" }],
  },
  (input) => changed(input, "pause", operations.pauseQueue(input.queue)),
)
