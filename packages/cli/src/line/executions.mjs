/** Executions of Effect workflows. */
import { paging } from "./shared.mjs"

const execution = /** @type {const} */ ({ name: "execution", summary: "WORKFLOW/ID, as `detent execution list` shows it" })

export const executionCommands = /** @satisfies {ReadonlyArray<import("./Command.ts").Command>} */ (
  /** @type {const} */ ([
    {
      name: "execution list",
      summary: "executions, oldest change first",
      arguments: [{ name: "workflow", summary: "only of this workflow", optional: true }],
      options: [
        {
          name: "phase",
          kind: "text",
          value: "PHASE",
          choices: ["Waiting", "Running", "Compensating", "Suspended", "Held", "Completed", "Failed", "Interrupted"],
          summary: "only in this phase",
        },
        ...paging,
      ],
      examples: [{ line: "detent execution list checkout --phase Suspended", says: "what waits to be resumed" }],
    },
    {
      name: "execution show",
      summary: "where an execution stands, and its latest events",
      arguments: [execution],
      options: [{ name: "limit", kind: "integer", value: "N", default: 50, minimum: 1, summary: "at most this many events" }],
      examples: [{ line: "detent execution show checkout/4f1c2a", says: "its phase, its clocks and what it did" }],
    },
    {
      name: "execution resume",
      summary: "run an execution again that is suspended or held",
      arguments: [execution],
      options: [],
      examples: [{ line: "detent execution resume checkout/4f1c2a", says: "after its cause is corrected" }],
    },
    {
      name: "execution interrupt",
      summary: "interrupt an execution; its compensations run",
      arguments: [execution],
      options: [],
      examples: [{ line: "detent execution interrupt checkout/4f1c2a --yes", says: "without being asked" }],
    },
  ])
)
