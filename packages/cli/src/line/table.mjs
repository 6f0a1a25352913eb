/** All commands, in the order the help shows them. */
import { batchCommands } from "./batches.mjs"
import { executionCommands } from "./executions.mjs"
import { graphCommands } from "./graphs.mjs"
import { machineCommands } from "./machines.mjs"
import { runningCommands } from "./running.mjs"

export const commands = /** @type {const} */ ([
  ...runningCommands,
  ...batchCommands,
  ...machineCommands,
  ...executionCommands,
  ...graphCommands,
])

export const nouns = /** @satisfies {ReadonlyArray<import("./Command.ts").Noun>} */ ([
  { name: "batch", summary: "documents to a validated knowledge graph" },
  { name: "upload", summary: "files of items: Hacker News, and those of your configuration" },
  { name: "machine", summary: "definitions: list, show, draw, check" },
  { name: "instance", summary: "durable runs of machines: look, send events, repair" },
  { name: "execution", summary: "durable runs of Effect workflows: look, resume, interrupt" },
  { name: "command", summary: "requested effects and dead letters" },
  { name: "queue", summary: "queues of commands: look, pause, resume" },
  { name: "timer", summary: "timers that were given up" },
  { name: "graph", summary: "ask and export the knowledge graph" },
])
