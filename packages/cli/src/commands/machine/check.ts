import * as machines from "@detent/workspace/operations/machines"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { ExitCode } from "../../line/ExitCode.mjs"
import { Output } from "../../output/Output.ts"
import { observed } from "../../workspace/Opening.ts"
import { machineArgument } from "../shared.ts"

export default command(
  {
    name: "machine check",
    summary: "find stored instances that do not replay with the current definition",
    detail:
      "Run it before a deploy: it changes nothing. Instances that have ended are counted and skipped.\n" +
      "Exits with 1 if an instance does not replay, or belongs to a machine that is not in detent.config.ts.",
    arguments: [{ ...machineArgument, optional: true }],
    options: [
      { name: "allow-unregistered", kind: "flag", summary: "accept stored instances of machines that are not in detent.config.ts" },
    ],
    examples: [{ line: "detent machine check order", says: "replays every stored order that has not ended" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const reports: ReadonlyArray<machines.MachineReport> = yield* machines.check(input.machine)
      yield* output.rows(
        reports,
        [
          { title: "MACHINE", of: ({ machine }) => machine },
          { title: "CHECKED", of: ({ checked }) => checked },
          { title: "ENDED (SKIPPED)", of: ({ ended }) => ended },
          { title: "FAILING", of: ({ failing }) => failing.length },
          {
            title: "FIRST PROBLEM",
            of: ({ registered, unchecked, failing: [first] }) => {
              if (!registered) return `not in detent.config.ts: ${unchecked} not checked`
              if (first === undefined) return ""
              return `${first.id}, ${first.sequence === 0 ? "its first state" : `event ${first.sequence}`}: ${first.problem}`
            },
          },
        ],
        "no machines",
      )
      const failing = reports.reduce((sum, report) => sum + report.failing.length, 0)
      if (failing > 0)
        yield* output.note(
          `${failing} would not open: correct the definition or add upcasters, or \`detent instance repair\` them one by one`,
        )
      const unchecked = input["allow-unregistered"] ? [] : reports.filter((report) => report.unchecked > 0)
      for (const { machine, unchecked: count } of unchecked)
        yield* output.note(
          `${count} of ${machine} ${count === 1 ? "was" : "were"} not checked: add it to machines in detent.config.ts, or accept that with --allow-unregistered`,
        )
      return failing > 0 || unchecked.length > 0 ? ExitCode.failed : ExitCode.ok
    }).pipe(Effect.provide(observed(input))),
)
