/**
 * An invoice in memory: it is too large for automatic approval, so a person signs it; the bank fails once and the payment is retried.
 *
 * Run it: `npx node examples/entity/run.ts`
 */
import { spawn } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Approval, Bank } from "./Invoice.ts"

const bank = Layer.sync(Bank, () => {
  let calls = 0
  return Bank.of({
    pay: (to, amount, key) =>
      ++calls === 1 ? Effect.fail("the bank is closed") : Effect.as(Console.log(`paid ${amount} to ${to} (${key})`), `p-${calls}`),
  })
})

const main = Effect.gen(function* () {
  const invoice = yield* spawn(Approval.machine, { supplier: "Lathes & Sons", amount: 4200 })
  yield* Console.log((yield* invoice.state)._tag)
  yield* Console.log((yield* Effect.flip(invoice.send(Approval.trigger("approve")))).message)
  yield* invoice.send(Approval.trigger("approve", { patch: { signedBy: "Ada" } }))
  const failing = yield* invoice.waitFor((state) => state.error !== undefined)
  yield* Console.log(`${failing._tag}: ${failing.error?.processor}: ${failing.error?.message}`)
  const { _tag, entity } = yield* invoice.awaitFinal
  yield* Console.log(_tag, entity)
})

if (import.meta.main) await Effect.runPromise(main.pipe(Effect.scoped, Effect.provide(bank)))
