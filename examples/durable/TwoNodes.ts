/**
 * Two nodes on one PostgreSQL that share instances through locks: a node with an event for the account acquires its lock, reads
 * the state, decides, commits, and releases the lock.
 *
 * Run it: `DETENT_DATABASE_URL=postgres://user@localhost/test npx node examples/durable/TwoNodes.ts`. Each run adds 220 to the account.
 */
import { Engine, fastLock } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import { Event, Machine, refuse, State } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

export const S = State({ Open: { balance: Schema.Int } })
export const E = Event({ Deposit: { amount: Schema.Int }, Withdraw: { amount: Schema.Int } })

export const Account = Machine.make({ name: "account", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Deposit, S.Open, ({ state, event }) => S.Open({ balance: state.balance + event.amount }))
  .on(S.Open, E.Withdraw, S.Open, ({ state, event }) =>
    event.amount > state.balance ? refuse("the balance is too low") : S.Open({ balance: state.balance - event.amount }),
  )

/** The engine of one of several nodes. */
export const node = (nodeId: string, url: string) =>
  Layer.fresh(Engine.layer({ nodeId, lock: { ...fastLock, retryInterval: "5 millis" } }).pipe(Layer.provide(PostgresStore.layer({ url }))))

/** Both nodes deposit money at the same time; each reads the other's writes. */
export const bothAtOnce = (url: string, id: string, rounds: number) =>
  Effect.gen(function* () {
    const work = (amount: number) =>
      Effect.gen(function* () {
        const engine = yield* Engine
        const account = yield* engine.ensure(Account, id, { balance: 0 })
        for (let round = 0; round < rounds; round++) yield* account.send(E.Deposit({ amount }))
        return yield* account.lastSequence
      })
    yield* Effect.all([work(1).pipe(Effect.provide(node("north", url))), work(10).pipe(Effect.provide(node("south", url)))], {
      concurrency: "unbounded",
    })
    return yield* Effect.gen(function* () {
      const account = yield* (yield* Engine).ensure(Account, id, { balance: 0 })
      return { state: yield* account.state, sequence: yield* account.lastSequence }
    }).pipe(Effect.provide(node("reader", url)))
  })

if (import.meta.main) {
  const url = process.env["DETENT_DATABASE_URL"]
  if (url === undefined) {
    console.error("Set DETENT_DATABASE_URL to a PostgreSQL you may write to, such as postgres://user:password@localhost/test")
    process.exit(2)
  }
  await Effect.runPromise(Effect.flatMap(bothAtOnce(url, "account-1", 20), Console.log))
}
