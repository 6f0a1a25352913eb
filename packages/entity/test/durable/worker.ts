/**
 * A process that may be killed: it loads a workflow file, opens a SQLite file and carries on with whatever it finds there.
 * Every call of a processor is written down before the processor does anything.
 *
 *     node worker.ts <workflow.json> <store.db> <calls.log> start|resume
 */
import { appendFileSync, readFileSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EntityWorkflow, Processor, Registry } from "../../src/index.ts"
import { logged, Ticket, ticket } from "../tickets.ts"

const [workflowFile = "", filename = "", callsFile = "", mode] = process.argv.slice(2)

/** Takes a while, so that a kill can come between the call and its end. */
const slow = (name: string) =>
  Processor.effect((entity: Ticket, { key }) =>
    Effect.gen(function* () {
      appendFileSync(callsFile, `${name} ${key}\n`)
      yield* Effect.sleep("50 millis")
      return logged(entity, name)
    }),
  )

const registry = Registry.make(Ticket, {
  processors: { one: slow("one"), two: slow("two"), three: slow("three"), pure: Processor.pure((entity) => logged(entity, "pure")) },
  criteria: { known: ({ log }) => log.length > 0 },
})

// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()

const main = Effect.gen(function* () {
  const workflow = yield* EntityWorkflow.fromJson(readFileSync(workflowFile, "utf8"), registry, { file: workflowFile })
  const engine = yield* Engine
  // Work that was under way resumes by itself.
  yield* engine.register(workflow.machine)
  if (mode === "start") yield* engine.start(workflow.machine, "t-1", ticket())
  process.stdout.write("ready\n")
  const instance = yield* engine.ensure(workflow.machine, "t-1", ticket())
  const { entity, _tag } = yield* instance.awaitFinal
  process.stdout.write(`${JSON.stringify({ state: _tag, log: entity.log, sequence: yield* instance.lastSequence })}\n`)
})

// Under the name of the killed process, the next one resumes its work without waiting for the end of its lease.
const engineLayer = Engine.layer({ nodeId: "tickets" }).pipe(Layer.provide(SqliteStore.layer({ filename })))
await Effect.runPromise(Effect.provide(main, engineLayer))
