import { openEngine } from "@detent/durable/promise"
import { Event, Machine, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const temperatures = [-21, -18, -9]
const readSensor = (freezer: string) =>
  Effect.sync(() => {
    const celsius = temperatures.shift() ?? 0
    console.log(`${freezer}: ${celsius}`)
    return celsius
  })

// #region machine
const S = State({ Watching: { limit: Schema.Finite }, Alarm: { celsius: Schema.Finite } })
const E = Event({ Measured: { celsius: Schema.Finite }, Reset: { limit: Schema.Finite } })

const Freezer = Machine.make({ name: "freezer", state: S, event: E, initial: S.Watching })
  .spawn(S.Watching, ({ id, self }) =>
    readSensor(id).pipe(
      Effect.flatMap((celsius) => self.send(E.Measured({ celsius }))),
      Effect.andThen(Effect.sleep("10 millis")),
      Effect.forever, // until an event leaves Watching: then it is interrupted
    ),
  )
  .on(S.Watching, E.Measured, [S.Watching, S.Alarm], ({ state, event }) =>
    event.celsius > state.limit ? S.Alarm({ celsius: event.celsius }) : state,
  )
  .on(S.Alarm, E.Reset, S.Watching)
// #endregion machine

await using engine = await openEngine({ database: "memory", machines: [Freezer] })
const freezer = await engine.start(Freezer, "freezer-3", { limit: -15 })
console.log(await freezer.waitFor(({ _tag }) => _tag === "Alarm"))
