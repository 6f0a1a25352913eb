import { actorText, type InstanceKey } from "@detent/durable"
import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { instanceArgument } from "../shared.ts"
import { delayText, eventText, unregisteredText } from "./shared.ts"

export default command(
  {
    name: "instance history",
    summary: "the events of an instance, with the states before and after each",
    arguments: [instanceArgument],
    options: [
      { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many events; the maximum is 1000" },
      { name: "after", kind: "integer", value: "N", default: 0, minimum: 0, summary: "only events after number N" },
      { name: "before", kind: "integer", value: "N", minimum: 1, summary: "only events before number N" },
      {
        name: "order",
        kind: "text",
        value: "ORDER",
        choices: ["oldest", "newest"],
        default: "oldest",
        summary: "the events that come first",
      },
      { name: "event", kind: "text", value: "TEXT", summary: "only events whose name contains this text" },
      { name: "actor", kind: "text", value: "TEXT", summary: 'only events of an actor whose name contains this text, such as "user ada"' },
      { name: "brief", kind: "flag", summary: "omit the fields of states and events" },
    ],
    examples: [
      { line: "detent instance history order-7 --limit 3 --json", says: "the first three events, one per line" },
      { line: "detent instance history order-7 --order newest --limit 10", says: "the latest events" },
      { line: "detent instance history order-7 --event pay", says: "events such as Pay, Repay and Paypal" },
      { line: 'detent instance history order-7 --actor "user ada"', says: "what ada sent, in the console or with a command" },
      { line: "detent instance history order-7 --after 100", says: "the next page" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const key = yield* instances.resolve(input.instance)
      const { limit, after, before, event, actor, brief } = input
      const isNewestFirst = input.order === "newest"
      const page = { limit, after, before, event, actor, brief, order: isNewestFirst ? ("desc" as const) : ("asc" as const) }
      const { entries, next, scanned } = yield* instances.events(key, page)
      const none = entries.length > 0 ? "" : event === undefined && actor === undefined ? yield* noEvents(key, after) : "no event fits"
      yield* output.rows(
        entries,
        [
          { title: "#", of: ({ sequence }) => sequence },
          { title: "AT", of: ({ at }) => momentText(at) },
          { title: "EVENT", of: ({ event }) => eventText(event), looks: (text, _, style) => style.bold(text) },
          { title: "FROM", of: ({ from }) => from ?? "" },
          { title: "TO", of: ({ state }) => state?._tag ?? "" },
          { title: "BY", of: ({ actor }) => (actor === undefined ? "" : actorText(actor)) },
          { title: "FIELDS", of: ({ event: { _tag, ...fields } }) => (Object.keys(fields).length === 0 ? "" : JSON.stringify(fields)) },
          ...(entries.some(({ delays }) => delays !== undefined)
            ? [{ title: "DELAYS", of: ({ delays = [] }: instances.HistoryRow) => delays.map(delayText).join(", ") }]
            : []),
        ],
        none,
      )
      if (scanned !== undefined) yield* output.note(`the page ended after ${scanned} examined events`)
      if (next !== undefined) yield* output.note(`more with ${isNewestFirst ? "--before" : "--after"} ${next}`)
      if (!(yield* instances.isRegistered(key))) yield* output.note(unregisteredText(key.machine))
    }).pipe(Effect.provide(observing(input))),
)

const noEvents = (key: InstanceKey, after: number) =>
  Effect.map(instances.record(key), ({ tag, sequence }) =>
    after > 0 ? `no events after ${after}; the last event is ${sequence}` : `it began as ${tag}; no events since`,
  )
