import { command } from "../../line/Command.ts"
import { restart, restartOptions } from "./restart.ts"
import { batch } from "./shared.ts"

export default command(
  {
    name: "batch resume",
    summary: "continue a batch that was stopped, killed or cancelled, or that failed",
    arguments: [batch],
    options: restartOptions,
    examples: [
      { line: "detent batch resume batch-3f9c2a71b0d4", says: "after Ctrl-C, kill -9 or a power cut" },
      { line: "detent batch resume batch-3f9c2a71b0d4 --budget 10usd", says: "after it stopped at a smaller budget" },
    ],
  },
  (input) => restart(input, "resume"),
)
