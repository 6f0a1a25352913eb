import { CommandStatus } from "@detent/api/StoredCommand"
import { RetryPolicy } from "@detent/machine"
import * as operations from "@detent/workspace/operations/commands"
import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { paging } from "../shared.ts"
import { earlierText, filterOf, filterOptions, statusText } from "./shared.ts"

export default command(
  {
    name: "command list",
    summary: "requested effects: waiting, running, done, failed",
    detail: `A command that fails is tried again. Default: ${RetryPolicy.summary(RetryPolicy.standard)}.`,
    arguments: [],
    options: [
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: CommandStatus.literals,
        summary: "only commands with this status",
      },
      ...filterOptions,
      {
        name: "sequence",
        kind: "integer",
        value: "N",
        minimum: 0,
        summary: "with --instance: only commands that event number N requested",
      },
      { name: "latest", kind: "flag", summary: "with --instance: the latest commands instead of the first" },
      { name: "before", kind: "integer", value: "N", minimum: 1, summary: "with --latest: only commands before command number N" },
      ...paging,
    ],
    examples: [{ line: "detent command list --status failed", says: "the dead letters" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const filter = { ...(yield* filterOf(input)), ...optional({ status: input.status }) }
      const after = input.after === undefined ? undefined : Number(input.after)
      if (after !== undefined && !Number.isSafeInteger(after))
        return yield* new WrongUsage({
          problem: `--after ${input.after} is not a cursor`,
          nextStep: "copy it from the end of the previous page",
        })
      const isOfInstance = input.sequence !== undefined || input.before !== undefined || input.latest
      if (isOfInstance) yield* refuseWithLatest(input)
      const page: Listed = isOfInstance ? yield* latestPage(filter, input) : yield* operations.list(filter, input.limit, after)
      yield* output.rows(
        page.commands,
        [
          { title: "KEY", of: ({ key }) => key },
          { title: "EFFECT", of: ({ slot }) => slot },
          {
            title: "STATUS",
            of: ({ status }) => statusText(status),
            looks: (text, row, style) => (row.status === "failed" ? style.red(text) : text),
          },
          { title: "TRIES", of: ({ attempts, round }) => (round === undefined ? attempts : `${attempts}, retry ${round}`) },
          { title: "REQUESTED", of: ({ enqueuedAt }) => momentText(enqueuedAt) },
          { title: "PROBLEM", of: ({ problem }) => problem ?? "" },
          { title: "EARLIER PROBLEMS", of: ({ errors = [], problem }) => earlierText(errors, problem) },
        ],
        input.status === undefined ? "no commands" : `no command is ${input.status}`,
      )
      if (page.scanned !== undefined) yield* output.note(`the page ended after ${page.scanned} examined commands`)
      if (page.next !== undefined) yield* output.note(`more with --${isOfInstance ? "before" : "after"} ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)

type Listed = Effect.Success<ReturnType<typeof operations.list>>

/** Selects commands of one instance, by the index of the instance or of the event. */
interface OfInstance {
  readonly sequence: number | undefined
  readonly before: number | undefined
  readonly limit: number
}

const latestPage = (
  { machine = "", id = "" }: { readonly machine?: string; readonly id?: string },
  { sequence, before, limit }: OfInstance,
) => instances.commands({ machine, id }, { sequence, before, limit })

const notWithLatest = ["status", "queue", "slot", "machine", "fingerprint", "number", "since", "until", "after"] as const

const refuseWithLatest = (
  input: { readonly instance: string | undefined } & Readonly<Record<(typeof notWithLatest)[number], string | undefined>>,
) => {
  if (input.instance === undefined)
    return Effect.fail(
      new WrongUsage({ problem: "--sequence, --latest and --before need an instance", nextStep: "name it with --instance" }),
    )
  const other = notWithLatest.find((name) => input[name] !== undefined)
  return other === undefined
    ? Effect.void
    : Effect.fail(
        new WrongUsage({
          problem: `--${other} cannot be combined with --sequence, --latest and --before`,
          nextStep: `remove --${other}`,
        }),
      )
}
