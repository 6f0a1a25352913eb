import { setTimeout as sleep } from "node:timers/promises"
import { openEngine } from "@detent/durable/promise"
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const locations = ["Utrecht", "Arnhem", "Berlin"]
/** Answers when the parcel has moved, like a carrier's API with long polling. */
const locate = async (parcel: string, options: { readonly signal: AbortSignal }) => {
  const location = locations.shift() ?? (await sleep(60_000, "Warsaw", options))
  console.log(`${parcel} is in ${location}`)
  return location
}

// #region machine
const S = State({ InTransit: { location: Schema.String }, Delivered: {} })
const E = Event({ Located: { location: Schema.String }, Deliver: {} })

const Parcel = Machine.make({ name: "parcel", state: S, event: E, initial: S.InTransit })
  .spawn(S.InTransit, async ({ id, self, signal, run }) => {
    while (!signal.aborted) {
      const location = await locate(id, { signal }) // pass the signal on, as to fetch
      await run(self.send(E.Located({ location }))) // run executes an Effect
    }
  })
  .on(S.InTransit, E.Located, S.InTransit) // new data in the same state: the work continues
  .on(S.InTransit, E.Deliver, S.Delivered) // leaves the state: the signal is aborted
  .final(S.Delivered)
// #endregion machine

await using engine = await openEngine({ database: "memory", machines: [Parcel] })
const parcel = await engine.start(Parcel, "parcel-7", { location: "Rotterdam" })
await parcel.waitFor((state) => state._tag === "InTransit" && state.location === "Berlin")
await parcel.send(E.Deliver())
console.log(await parcel.state())
