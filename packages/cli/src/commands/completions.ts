/** `detent completions`. A shell runs it at every start, so `bin/command.mjs` writes the script itself, without loading Effect. */
import * as Effect from "effect/Effect"
import { command } from "../line/Command.ts"
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
  ({ shell }) =>
    Effect.gen(function* () {
      // The scripts are made from the table of all commands, this one among them: they are loaded when they are asked for.
      const { completions } = yield* Effect.promise(() => import("../line/completions.mjs"))
      yield* (yield* Output).write(completions(shell))
    }),
)
