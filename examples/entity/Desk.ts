/**
 * A desk for invoices, stored in a SQLite file. Its workflow is a JSON file that is read at the start: the approval rules can be
 * changed without TypeScript, as long as the file names existing processors and criteria.
 *
 * Run it: `npx node examples/entity/Desk.ts invoices.db`, twice; then with your own file as second argument.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { EntityWorkflow } from "@detent/entity"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Bank, invoices } from "./Invoice.ts"

const bank = Layer.succeed(Bank, {
  pay: (to, amount, key) => Effect.as(Console.log(`paid ${amount} to ${to} (${key})`), `payment for ${key}`),
})

const desk = (file: string) =>
  Effect.gen(function* () {
    const workflow = yield* EntityWorkflow.fromJson(readFileSync(file, "utf8"), invoices, { file })
    const engine = yield* Engine
    // Payments that were in progress when the last process ended continue.
    yield* engine.register(workflow.machine)
    const small = yield* engine.ensure(workflow.machine, "invoice-1", { supplier: "Pencils Ltd", amount: 12 })
    yield* Console.log("invoice-1:", (yield* small.awaitFinal)._tag)
    const large = yield* engine.ensure(workflow.machine, "invoice-2", { supplier: "Lathes & Sons", amount: 4200 })
    const { state, sequence } = yield* large.snapshot
    yield* Console.log("invoice-2:", state._tag, "after", sequence, "events")
    if (state._tag !== "waiting") return
    if (state.entity.signedBy === undefined) {
      yield* large.send(workflow.update({ signedBy: "Ada" }))
      yield* Console.log("It is signed now. Run this again to approve it.")
      return
    }
    // A click that arrives twice has the same id: the second gets the answer of the first.
    yield* large.send(workflow.trigger("approve"), { id: "click-7" })
    yield* large.send(workflow.trigger("approve"), { id: "click-7" })
    yield* Console.log("invoice-2:", (yield* large.awaitFinal)._tag)
  })

if (import.meta.main) {
  const [filename = "invoices.db", file = join(import.meta.dirname, "approval.json")] = process.argv.slice(2)
  const engine = Engine.layer().pipe(Layer.provide(SqliteStore.layer({ filename })))
  await Effect.runPromise(desk(file).pipe(Effect.provide(Layer.merge(engine, bank))))
}
