import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { fieldsOf } from "../../instance/Fields.ts"
import { sendEvent } from "../../instance/Sending.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { pairsText } from "../../output/Table.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { instanceArgument, keyOption } from "../shared.ts"
import { noteWorker } from "./shared.ts"

export default command(
  {
    name: "instance send",
    summary: "send an event that the instance's state accepts",
    arguments: [instanceArgument, { name: "event", summary: "the event's name" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the event's fields" },
      { name: "dry-run", kind: "flag", summary: "only decide, guards included: show what the event would do, and store nothing" },
      keyOption,
    ],
    examples: [
      {
        line: "detent instance send order-7 Cancel --dry-run",
        says: "the state that the event would lead to, and the effects it would request",
      },
      { line: `detent instance send order-7 Pay --with '{"transactionId":"t-9"}' --key webhook-77`, says: "safe to repeat" },
      {
        line: `detent instance send order-7 Ship --with '{"trackingNumber":"NL-4711"}'`,
        says: "with the fields that `detent machine show` lists",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const fields = yield* fieldsOf(input.with)
      if (input["dry-run"]) return yield* previewed(input, { ...fields, _tag: input.event })
      const server = yield* runningServer(input)
      const { instance, event, key } = input
      yield* Effect.gen(function* () {
        const { before, sent } = yield* sendEvent(server, { instance, event, fields, key })
        yield* output.value(sent, () => `${JSON.stringify(sent.state)}\n`)
        if (before !== undefined) yield* output.note(`answered from key ${key}: event ${before.sequence}, ${before.event}, was sent before`)
        if (sent.accepts.length > 0) yield* output.note(output.noteStyle.dim(`the instance accepts ${sent.accepts.join(", ")}`))
        yield* noteWorker(input, server, sent)
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)

/** Decides the event in this process from the stored data, without the owner of the instance. */
const previewed = (input: Parameters<typeof observing>[0] & { readonly instance: string }, event: { readonly _tag: string }) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { outcome, from, state, requests, raises, postponed } = yield* Effect.provide(
      Effect.flatMap(instances.resolve(input.instance), (key) => instances.preview(key, event)),
      observing(input),
    )
    const view = { outcome, from, state, requests, raises, ...(postponed === undefined ? {} : { postponed }) }
    yield* output.value({ ...view, dryRun: true }, () =>
      pairsText(
        [
          ["from", from],
          ["to", postponed === true ? "the event would be postponed until the next state" : JSON.stringify(state)],
          ["outcome", outcome],
          ["requests", requests.join(", ") || undefined],
          ["raises", raises.join(", ") || undefined],
        ],
        output.style,
      ),
    )
    yield* output.note("nothing was sent")
  })
