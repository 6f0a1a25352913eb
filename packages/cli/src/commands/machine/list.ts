import * as machines from "@detent/workspace/operations/machines"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { countText } from "../../machine/MachineView.ts"
import { Output } from "../../output/Output.ts"
import { observed } from "../../workspace/Opening.ts"

export default command(
  {
    name: "machine list",
    summary: "registered machines, with the number of instances in each state",
    detail: "These are the built-in machines and the machines of detent.config.ts in the working folder.",
    arguments: [],
    options: [],
    examples: [{ line: "detent machine list", says: "name, version, states, instances, and how many are held" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.rows(
        yield* machines.list,
        [
          { title: "MACHINE", of: ({ name }) => name, looks: (text, _, style) => style.bold(text) },
          { title: "VERSION", of: (row) => ("version" in row ? String(row.version) : "") },
          { title: "STATES", of: ({ states, kind }) => (kind === "machine" ? states.join(" ") : "(Effect workflow)") },
          { title: "INSTANCES", of: ({ counts }) => countText(counts) || "none" },
          {
            title: "HELD",
            of: (row) => ("held" in row && row.held > 0 ? String(row.held) : ""),
            looks: (text, _, style) => style.red(text),
          },
        ],
        "no machines",
      )
    }).pipe(Effect.provide(observed(input))),
)
