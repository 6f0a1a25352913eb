import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText, rangeOf } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { cursorFrom, cursorText } from "../../workspace/Cursor.ts"
import { observing } from "../../workspace/Opening.ts"
import { paging, range } from "../shared.ts"
import { statusLooks, statusText } from "./shared.ts"

/** A column for each indexed field of the machine, and one of labels. */
const fieldColumns = (machine: string | undefined) =>
  Effect.gen(function* () {
    if (machine === undefined) return []
    const { indexes = [] } = (yield* instances.findMachine(machine)).machine.blueprint
    type Row = { readonly fields?: Readonly<Record<string, string | number | boolean>>; readonly labels?: Readonly<Record<string, string>> }
    const ofField = ({ name, kind }: (typeof indexes)[number]) => ({
      title: name.toUpperCase(),
      of: ({ fields }: Row) => {
        const value = fields?.[name]
        return value === undefined ? "" : kind === "instant" ? momentText(Number(value)) : String(value)
      },
    })
    const labels = {
      title: "LABELS",
      of: ({ labels = {} }: Row) =>
        Object.entries(labels)
          .map(([name, value]) => `${name}=${value}`)
          .join(" "),
    }
    return [...indexes.map(ofField), labels]
  })

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
        summary:
          "oldest or newest, by the time of the last change; or an indexed field: dueAt:asc, dueAt:desc. Default: oldest; with --where by id",
      },
      {
        name: "where",
        kind: "text",
        value: "CONDITIONS",
        summary:
          "only instances whose indexed fields and labels fit all: 'customer=ada, total>100, label.incident=42'; the signs are = > >= < <= ^= (begins with). Needs --machine",
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
      {
        line: "detent instance list --machine order --where 'customer=ada, total>100' --order dueAt:asc",
        says: "large orders of Ada, the most urgent first",
      },
      { line: "detent instance list --search order-7", says: "instances whose id begins with order-7" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, state, status, order, search, where, limit } = input
      const { after } = yield* cursorFrom(input.after)
      if (machine !== undefined) yield* instances.checkState(machine, state)
      const { since: updatedAfter, until: updatedBefore } = yield* rangeOf(input)
      const page = yield* instances.list({ machine, state, status, order, search, where, updatedAfter, updatedBefore, limit, after })
      yield* output.rows(
        page.instances,
        [
          { title: "MACHINE", of: ({ machine }) => machine },
          { title: "ID", of: ({ id }) => id },
          { title: "STATE", of: ({ state }) => state },
          { title: "STATUS", of: statusText, looks: (text, row, style) => statusLooks(text, statusText(row), style) },
          { title: "EVENTS", of: ({ sequence }) => sequence },
          { title: "CHANGED", of: ({ updatedAt }) => momentText(updatedAt) },
          ...(yield* fieldColumns(where === undefined ? undefined : machine)),
        ],
        "no instances",
      )
      if (page.scanned !== undefined) yield* output.note(`the page ended after ${page.scanned} examined instances`)
      if (page.filling !== undefined)
        yield* output.note(`the indexes are being filled, ${page.filling.filled} instances so far: some may be missing`)
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorText(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)
