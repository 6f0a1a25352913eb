import { Flows } from "@detent/machine/diagram"
import * as oracle from "@detent/workspace/operations/oracle"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { ExitCode } from "../../ExitCode.mjs"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { durationText, rangeOf } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { followed } from "../../output/Progress.ts"
import { writeText } from "../../output/Writing.ts"
import { observed } from "../../workspace/Opening.ts"
import { machineArgument } from "../shared.ts"

export default command(
  {
    name: "machine check",
    summary: "judge stored instances by this code, or by the code of another folder",
    detail:
      "Run it before a deploy: it writes nothing. Every instance that has not ended is replayed. It is the same, it differs, or it is\n" +
      "held, because it would not open. Without --against, the code of this folder is compared with the states that are stored. With it,\n" +
      "the code of this folder is the one that runs now, and every decision of the past is taken again by the other one: states,\n" +
      "requested effects, timers, raised events and answers are compared. Executions of workflows (workflow/NAME) run over their stored\n" +
      "steps by both codes, up to the first step that is not stored; no step runs.\n" +
      "Exits with 0 if all are the same, with 6 if some decisions differ, and with 1 if some would be held, or if instances belong to a machine\n" +
      "that the code does not have.",
    arguments: [{ ...machineArgument, optional: true }],
    options: [
      {
        name: "against",
        kind: "text",
        value: "PATH",
        summary: "the folder of the new code, or its configuration file",
        complete: "folder",
      },
      { name: "ended", kind: "flag", summary: "judge the instances that have ended too" },
      { name: "since", kind: "text", value: "TIME", summary: "of those, only the ones that ended since then: 30days, 2026-01-01" },
      { name: "until", kind: "text", value: "TIME", summary: "of those, only the ones that ended before" },
      { name: "what-if", kind: "flag", summary: "ask how the ended instances would have ended under the code" },
      { name: "svg", kind: "text", value: "FILE", summary: "draw the flows from old ends to new ones to this file", complete: "file" },
      { name: "findings", kind: "integer", value: "N", default: 20, minimum: 0, summary: "how many instances to list, of each machine" },
      { name: "workers", kind: "integer", value: "N", minimum: 1, summary: "how many worker processes. Default: one for each processor" },
      { name: "allow-unregistered", kind: "flag", summary: "accept stored instances of machines that the code does not have" },
    ],
    examples: [
      { line: "detent machine check order", says: "replays every stored order that has not ended" },
      {
        line: "detent machine check --against ../new --ended --since 30days",
        says: "compares the decisions of a month with those of new code",
      },
      {
        line: "detent machine check workflow/trip --against ../new",
        says: "shows which executions would take other steps under new code",
      },
      { line: "detent machine check order --against ../new --what-if --svg flows.svg", says: "how would all orders have ended under it?" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { svg, against, machine, findings, workers } = input
      const range = yield* rangeOf(input)
      const isWhatIf = input["what-if"] === true
      if (svg !== undefined && !isWhatIf)
        return yield* new WrongUsage({ problem: "--svg draws flows, which only --what-if finds", nextStep: "add --what-if" })
      const bounds = {
        ...(range.since === undefined ? {} : { since: range.since }),
        ...(range.until === undefined ? {} : { until: range.until }),
      }
      const hasEnded = input.ended || isWhatIf || Object.keys(bounds).length > 0
      const request = { machine, against, whatIf: isWhatIf, findings, workers, ...(hasEnded ? { ended: bounds } : {}) }
      const reports = yield* withProgress((onProgress) => oracle.check({ ...request, onProgress }))
      yield* output.rows(
        reports,
        [
          { title: "MACHINE", of: (report) => report.machine },
          { title: "CHECKED", of: ({ checked }) => checked },
          { title: "SAME", of: ({ same }) => same },
          { title: "DIFFERS", of: ({ differs }) => differs },
          { title: "HELD", of: ({ held }) => held },
          {
            title: "FIRST REASON",
            of: ({ registered, unchecked, reasons: [first] }) => {
              if (!registered) return `not in detent.config.ts: ${unchecked} not checked`
              if (first === undefined) return ""
              return `${first.example}: ${first.event === undefined ? "" : `${first.event} in ${first.from}: `}${first.summary}`
            },
          },
        ],
        "no machines",
      )
      if (!output.isJson) yield* noteDetails(reports)
      if (svg !== undefined) {
        const flows = reports.flatMap((report) =>
          report.flows.map((flow) => (reports.length === 1 ? flow : prefixed(report.machine, flow))),
        )
        yield* writeText(svg, Flows.svg(flows, machine === undefined ? {} : { title: machine }))
        yield* output.note(`${svg} written`)
      }
      const held = reports.reduce((sum, report) => sum + report.held, 0)
      const differs = reports.reduce((sum, report) => sum + report.differs, 0)
      if (held > 0)
        yield* output.note(`${held} would not open: correct the definition or add upcasters, or \`detent instance repair\` them one by one`)
      if (differs > 0) yield* output.note(`${differs} would differ: read the reasons with --json, and decide whether that is what you want`)
      const unseen = reports.reduce((sum, report) => sum + report.unseen, 0)
      if (unseen > 0 && differs === 0)
        yield* output.note("no instance differs, but some were in states in which events that did not come would be decided differently")
      const unchecked = input["allow-unregistered"] ? [] : reports.filter((report) => report.unchecked > 0)
      for (const { machine, unchecked: count } of unchecked)
        yield* output.note(
          `${count} of ${machine} ${count === 1 ? "was" : "were"} not checked: add it to machines in detent.config.ts, or accept that with --allow-unregistered`,
        )
      if (held > 0 || unchecked.length > 0) return ExitCode.failed
      return differs > 0 || unseen > 0 ? ExitCode.differs : ExitCode.ok
    }).pipe(Effect.provide(observed(input))),
)

const prefixed = (machine: string, flow: Flows.Flow): Flows.Flow => ({
  ...flow,
  from: `${machine} ${flow.from}`,
  to: `${machine} ${flow.to}`,
})

const said = { differs: "differ", held: "would be held", unseen: "were in a state that decides otherwise" } as const

/** The reasons and flows of each machine, below the table. */
const noteDetails = (reports: ReadonlyArray<oracle.MachineReport>) =>
  Effect.gen(function* () {
    const output = yield* Output
    for (const { machine, reasons, flows } of reports) {
      for (const { verdict, count, event, from, summary, example } of reasons.slice(0, 20)) {
        const where = event === undefined ? "" : ` ${event} in ${from}:`
        yield* output.note(`${machine}: ${count} ${said[verdict]}:${where} ${summary}, such as ${example}`)
      }
      for (const { from, to, count, example } of flows.filter((flow) => flow.from !== flow.to).slice(0, 20))
        yield* output.note(`${machine}: ${count} that ended as ${from} would have ended as ${to}, such as ${example}`)
    }
  })

/** Shows the progress bar while the workers judge. With `--json`, only the report is printed. */
const withProgress = <A, E, R>(run: (onProgress: (progress: oracle.OracleProgress) => Effect.Effect<void>) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const output = yield* Output
    if (output.isJson) return yield* run(() => Effect.void)
    let result: { readonly value: A } | undefined
    const began = performance.now()
    const progress = Stream.callback<oracle.OracleProgress, E, R>((queue) =>
      Effect.gen(function* () {
        result = { value: yield* run((one) => Effect.asVoid(Queue.offer(queue, one))) }
      }).pipe(Queue.into(queue)),
    )
    yield* followed(progress, {
      json: (one) => one,
      step: ({ machine, judged, total }) => {
        const rest = judged === 0 ? 0 : ((performance.now() - began) / judged) * (total - judged)
        const left = judged >= total ? "" : `, ${durationText(rest)} left`
        return {
          stage: "judging",
          percent: Math.floor((100 * judged) / Math.max(1, total)),
          text: `${judged} of ${total}, ${machine}${left}`,
        }
      },
    })
    return result === undefined ? yield* Effect.die(new Error("the check ended without a report")) : result.value
  })
