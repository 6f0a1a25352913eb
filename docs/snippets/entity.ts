import { readFileSync } from "node:fs"
import { join } from "node:path"
import { EntityWorkflow, Processor, Registry } from "@detent/entity"
import { spawn } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Invoice = Schema.Struct({
  supplier: Schema.String,
  amount: Schema.Finite,
  receivedAt: Schema.optionalKey(Schema.Finite),
  signedBy: Schema.optionalKey(Schema.String),
  payment: Schema.optionalKey(Schema.String),
})

const invoices = Registry.make(Invoice, {
  processors: {
    stamp: Processor.pure((invoice, { at }) => ({ ...invoice, receivedAt: at })),
    pay: Processor.effect(
      (invoice, { key, attempt }) =>
        attempt === 1 ? Effect.fail("the bank is closed") : Effect.succeed({ ...invoice, payment: `payment for ${key}` }),
      { retry: { attempts: 5, delay: "10 millis", backoff: "exponential" } },
    ),
  },
  criteria: {
    isSmall: (invoice) => invoice.amount < 1000,
    isSigned: (invoice) => invoice.signedBy !== undefined,
  },
})

const file = join(import.meta.dirname, "../../examples/entity/approval.json")

const program = Effect.gen(function* () {
  const approval = yield* EntityWorkflow.fromJson(readFileSync(file, "utf8"), invoices, { file })
  const invoice = yield* spawn(approval.machine, { supplier: "Lathes & Sons", amount: 4200 })
  console.log((yield* invoice.state)._tag)
  console.log((yield* Effect.flip(invoice.send(approval.trigger("approve")))).message)
  yield* invoice.send(approval.trigger("approve", { patch: { signedBy: "Ada" } }))
  const { _tag, entity } = yield* invoice.awaitFinal
  console.log(`${_tag}, signed by ${entity.signedBy}: ${entity.payment}`)
})

await Effect.runPromise(Effect.scoped(program))
