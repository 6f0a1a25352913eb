/** `detent completions`. A shell runs it at every start, so `bin/command.mjs` writes the script itself, without loading Effect. */
import * as Effect from "effect/Effect"
import { command } from "../line/Command.ts"
import { completions as scriptFor } from "../line/completions.mjs"
import { Output } from "../output/Output.ts"

export default command(
  {
    name: "completions",
    summary: "the completion script of a shell",
    arguments: [{ name: "shell", summary: "the shell", choices: ["bash", "zsh", "fish"] }],
    options: [],
    examples: [
      { line: 'eval "$(detent completions bash)"', says: "in ~/.bashrc" },
      { line: "detent completions fish > ~/.config/fish/completions/detent.fish", says: "once" },
    ],
  },
  ({ shell }) => Effect.flatMap(Output, ({ write }) => write(scriptFor(shell))),
)
