import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText, rangeOf } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { cursorFrom, cursorText } from "../../workspace/Cursor.ts"
import { observing } from "../../workspace/Opening.ts"
import { paging, range } from "../shared.ts"
import { statusLooks, statusText } from "./shared.ts"

export default command(
  {
    name: "instance list",
    summary: "instances, oldest change first",
    arguments: [],
    options: [
      {
        name: "order",
        kind: "text",
        value: "ORDER",
        choices: ["oldest", "newest"],
        summary: "by the time of the last change. Default: oldest first",
      },
      { name: "search", kind: "text", value: "START", summary: "only ids that begin with this text, listed by machine and id" },
      { name: "machine", kind: "text", value: "NAME", summary: "only instances of this machine" },
      { name: "state", kind: "text", value: "STATE", summary: "only instances in this state" },
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["running", "final", "stopped", "held", "failed"],
        summary: "only instances with this status; failed: ended in a final state of failure, which final includes",
      },
      ...range("changed"),
      ...paging,
    ],
    examples: [
      { line: "detent instance list --machine order --state Paid", says: "orders that are paid" },
      { line: "detent instance list --status held", says: "instances that wait for a repair" },
      { line: "detent instance list --order newest --since 1h", says: "what has changed in the last hour" },
      { line: "detent instance list --search order-7", says: "instances whose id begins with order-7" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, state, status, order, search, limit } = input
      const { after } = yield* cursorFrom(input.after)
      if (machine !== undefined) yield* instances.checkState(machine, state)
      const { since: updatedAfter, until: updatedBefore } = yield* rangeOf(input)
      const page = yield* instances.list({ machine, state, status, order, search, updatedAfter, updatedBefore, limit, after })
      yield* output.rows(
        page.instances,
        [
          { title: "MACHINE", of: ({ machine }) => machine },
          { title: "ID", of: ({ id }) => id },
          { title: "STATE", of: ({ state }) => state },
          { title: "STATUS", of: statusText, looks: (text, row, style) => statusLooks(text, statusText(row), style) },
          { title: "EVENTS", of: ({ sequence }) => sequence },
          { title: "CHANGED", of: ({ updatedAt }) => momentText(updatedAt) },
        ],
        "no instances",
      )
      if (page.scanned !== undefined) yield* output.note(`the page ended after ${page.scanned} examined instances`)
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorText(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)
