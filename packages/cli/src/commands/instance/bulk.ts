import { bulk as bulkSend } from "@detent/workspace/operations/bulk"
import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { fieldsOf } from "../../instance/Fields.ts"
import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { momentOf } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { changed } from "../../workspace/Changing.ts"
import { actingOnMany, observing, placeText } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption, machineArgument } from "../shared.ts"

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
      {
        name: "updated-after",
        kind: "text",
        value: "TIME",
        summary: "only instances changed after this time, such as 2026-11-16T09:30:00Z",
      },
      { name: "updated-before", kind: "text", value: "TIME", summary: "only instances changed before this time" },
      { name: "dry-run", kind: "flag", summary: "only count the instances" },
      keyOption,
    ],
    examples: [
      { line: "detent instance bulk order Cancel --state Placed --dry-run", says: "how many instances there are" },
      { line: "detent instance bulk order Cancel --state Placed --yes", says: "sends the event to each of them" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, state, status, search } = input
      const event = { ...(yield* fieldsOf(input.with)), _tag: input.event }
      const updatedAfter = yield* momentOf("updated-after", input["updated-after"])
      const updatedBefore = yield* momentOf("updated-before", input["updated-before"])
      const filter = { machine, ...optional({ state, status, search, updatedAfter, updatedBefore }) }
      const counted = yield* Effect.provide(
        Effect.andThen(instances.checkState(machine, state), bulkSend({ filter, event, dryRun: true })),
        observing(input),
      )
      const number = `${counted.atLeast === true ? "at least " : ""}${counted.count}`
      if (input["dry-run"])
        return yield* output.value(
          { ...counted, dryRun: true },
          () => `${number} would get the event: ${counted.sample.join(", ") || "none"}\n`,
        )
      yield* agreed(`Send ${input.event} to ${number} instances of ${machine}?`)
      const server = yield* runningServer(input)
      const sending = Effect.gen(function* () {
        const started = yield* changed(
          server,
          {
            operation: "instances.bulk",
            params: {},
            path: "/api/v1/instances/bulk",
            json: { filter, event },
            answer: Bulk,
            key: input.key,
          },
          bulkSend({ filter, event }),
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
