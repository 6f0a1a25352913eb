import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { PrintedSubscription } from "../../examples/readme/run.ts"
import { E } from "../../examples/readme/Subscription.ts"

const main = Effect.gen(function* () {
  const engine = yield* Engine
  yield* engine.register(PrintedSubscription) // at every start: resumes timers and commands of all subscriptions
  const subscription = yield* engine.ensure(PrintedSubscription, "ada", { email: "ada@example.org" })
  yield* subscription.send(E.Subscribe({ plan: "yearly" }), { id: "checkout-1" }) // sent again under this id: the first answer
  yield* Console.log(yield* subscription.state)
})

const store = SqliteStore.layer({ filename: "subscriptions.db" })
await Effect.runPromise(Effect.provide(main, Engine.layer().pipe(Layer.provide(store))))
