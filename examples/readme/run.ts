/**
 * Runs the README's machine.
 *
 * Run it: `npx node examples/readme/run.ts`
 */
import { spawn } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { E, Subscription } from "./Subscription.ts"

export const PrintedSubscription = Subscription.build({
  mayTryAgain: ({ attempts }) => attempts <= 3,
  sendEmail: ({ to, text }) => Console.log(`to ${to}: ${text}`),
})

const main = Effect.gen(function* () {
  const subscription = yield* spawn(PrintedSubscription, { email: "ada@example.org" })
  yield* subscription.send(E.Subscribe({ plan: "yearly" }))
  yield* subscription.send(E.PaymentFailed())
  yield* subscription.send(E.Cancel({ reason: "too many machines" }))
  yield* Console.log(yield* subscription.state)
})

if (import.meta.main) await Effect.runPromise(Effect.scoped(main))
