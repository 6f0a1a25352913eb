import { batchStates } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { stateLooks } from "../../batch/BatchView.ts"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import type { Column } from "../../output/Table.ts"
import { cursorFrom, cursorText } from "../../workspace/Cursor.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { paging, upTo } from "../shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "batch list",
    summary: "batches with their states",
    arguments: [],
    options: [
      {
        name: "state",
        kind: "text",
        value: "STATE",
        choices: batchStates,
        summary: "only batches in this state",
      },
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["running", "final", "stopped", "held"],
        summary: "only batches with this status; held batches wait for a repair",
      },
      { name: "order", kind: "text", value: "ORDER", choices: ["oldest", "newest"], summary: "by the last change. Default: oldest first" },
      ...paging,
    ],
    examples: [{ line: "detent batch list --state Failed", says: "batches that need attention" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const after = yield* cursorFrom(input.after)
      const chosen = optional({ state: input.state, status: input.status, order: input.order })
      const page = yield* upTo(input.limit, after.after, (limit, from) =>
        Effect.map(operations.list({ ...chosen, limit, ...optional({ after: from }) }), ({ batches: items, next }) => ({ items, next })),
      )
      const withdrawn = yield* operations.withdrawnOf(page.items.flatMap(({ progress }) => progress ?? []))
      const rows = page.items.map((one) => ({ ...one, ...(withdrawn.has(one.batchId) ? { withdrawn: true } : {}) }))
      const columns: ReadonlyArray<Column<(typeof rows)[number]>> = [
        { title: "BATCH", of: ({ batchId }) => batchId },
        { title: "STATE", of: ({ state }) => state, looks: (text, row, style) => stateLooks(row.state, style).replace(row.state, text) },
        { title: "STARTED", of: ({ startedAt }) => momentText(startedAt) },
        { title: "CHANGED", of: ({ updatedAt }) => momentText(updatedAt) },
        ...(withdrawn.size === 0 ? [] : [{ title: "GRAPH", of: (row: (typeof rows)[number]) => ("withdrawn" in row ? "withdrawn" : "") }]),
      ]
      const none =
        input.state === undefined && input.status === undefined
          ? "no batches here; start one with `detent batch run FOLDER`"
          : `no batch is ${input.state ?? input.status}`
      yield* output.rows(rows, columns, none)
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorText(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)
