import { type BulkAnswer, bulk as bulkSend } from "@detent/workspace/operations/bulk"
import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { fieldsOf } from "../../instance/Fields.ts"
import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { rangeOf } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import type { Style } from "../../output/Style.ts"
import { tableText } from "../../output/Table.ts"
import { changed } from "../../workspace/Changing.ts"
import { actingOnMany, observing, placeText } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption, machineArgument, range } from "../shared.ts"

/** The part of the server's answer that is shown. */
const Bulk = Schema.Struct({
  count: Schema.Int,
  atLeast: Schema.optionalKey(Schema.Literal(true)),
  sample: Schema.Array(Schema.String),
  job: Schema.optionalKey(Schema.Struct({ machine: Schema.String, id: Schema.String })),
})

export default command(
  {
    name: "instance bulk",
    summary: "send an event to all instances of a machine that meet conditions",
    detail: "The job is an instance itself: it resumes after a restart, and the event Cancel ends it. Each instance gets the event once.",
    arguments: [machineArgument, { name: "event", summary: "the event's name" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the event's fields" },
      { name: "state", kind: "text", value: "STATE", summary: "only instances in this state" },
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["running", "final", "stopped", "held", "failed"],
        summary: "only instances with this status",
      },
      { name: "search", kind: "text", value: "START", summary: "only instances whose id begins with this text" },
      ...range("changed"),
      { name: "reason", kind: "text", value: "TEXT", summary: "why the event is sent; the job keeps it" },
      { name: "dry-run", kind: "flag", summary: "only count the instances, and show how many would go where" },
      keyOption,
    ],
    examples: [
      { line: "detent instance bulk order Cancel --state Placed --dry-run", says: "how many instances would go where" },
      { line: "detent instance bulk order Cancel --state Placed --yes", says: "sends the event to each of them" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, state, status, search } = input
      const event = { ...(yield* fieldsOf(input.with)), _tag: input.event }
      const { since: updatedAfter, until: updatedBefore } = yield* rangeOf(input)
      const filter = { machine, ...optional({ state, status, search, updatedAfter, updatedBefore }) }
      const counted = yield* Effect.provide(
        Effect.andThen(instances.checkState(machine, state), bulkSend({ filter, event, dryRun: true })),
        observing(input),
      )
      const number = `${counted.atLeast === true ? "at least " : ""}${counted.count}`
      if (input["dry-run"]) return yield* output.value({ ...counted, dryRun: true }, () => cohortText(number, counted, output.style))
      yield* agreed(`Send ${input.event} to ${number} instances of ${machine}?`)
      const server = yield* runningServer(input)
      const sending = Effect.gen(function* () {
        const started = yield* changed(
          server,
          {
            operation: "instances.bulk",
            params: {},
            path: "/api/v1/instances/bulk",
            json: { filter, event, ...optional({ reason: input.reason }) },
            answer: Bulk,
            key: input.key,
          },
          bulkSend({ filter, event, reason: input.reason }),
        )
        // Without a server, the job runs in this process.
        if (server === undefined && started.job !== undefined) yield* (yield* instances.find(started.job)).instance.awaitFinal
        return started
      })
      const { job, ...sent } = yield* Effect.provide(sending, server === undefined ? actingOnMany(input) : observing(input))
      const name = job === undefined ? "" : `${job.machine}/${job.id}`
      yield* output.value({ ...sent, job }, () => `${name}\n`)
      yield* output.note(`see its progress: detent instance show ${name}${placeText(input)}`)
    }),
)

/** How many instances would get the event, and where they would go. */
const cohortText = (number: string, { outcomes = [], previewed }: BulkAnswer, style: Style): string => {
  const head = `${number} would get the event${previewed === undefined ? "" : `; the first ${previewed} are examined`}\n`
  if (outcomes.length === 0) return head
  const table = tableText(
    outcomes,
    [
      { title: "COUNT", of: ({ count }) => count },
      { title: "FROM", of: ({ from }) => from },
      {
        title: "TO",
        of: ({ to, problem }) => to ?? `refused: ${problem ?? ""}`,
        looks: (text, { to }, shown) => (to === undefined ? shown.red(text) : text),
      },
      { title: "SUCH AS", of: ({ example }) => example },
    ],
    style,
  )
  return `${head}${table}`
}
