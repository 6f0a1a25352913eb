import { Engine, MemoryStore } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

// #region first
const S1 = State({ Draft: { words: Schema.Int }, Published: { words: Schema.Int } })
const E1 = Event({ Write: { words: Schema.Int }, Publish: {} })

const Article1 = Machine.make({ name: "article", state: S1, event: E1, initial: S1.Draft({ words: 0 }) })
  .on(S1.Draft, E1.Write, S1.Draft, ({ state, event }) => S1.Draft({ words: state.words + event.words }))
  .on(S1.Draft, E1.Publish, S1.Published)
  .final(S1.Published)
// #endregion first

// #region second
const S2 = State({ Draft: { words: Schema.Int, by: Schema.String }, Published: { words: Schema.Int, by: Schema.String } })
const E2 = Event({ Write: { words: Schema.Int, by: Schema.String }, Publish: {} })

const Article2 = Machine.make({ name: "article", version: 2, state: S2, event: E2, initial: S2.Draft({ words: 0, by: "" }) })
  .on(S2.Draft, E2.Write, S2.Draft, ({ state, event }) => S2.Draft({ words: state.words + event.words, by: event.by }))
  .on(S2.Draft, E2.Publish, S2.Published)
  .final(S2.Published)

/** Takes the JSON that version 1 stored and returns that of version 2. */
const upcasters = {
  1: {
    state: (state: object) => ({ by: "unknown", ...state }),
    event: (event: object) => ({ by: "unknown", ...event }),
  },
}
// #endregion second

const before = Effect.gen(function* () {
  const engine = yield* Engine
  const article = yield* engine.start(Article1, "on-machines")
  yield* article.send(E1.Write({ words: 300 }))
})

// #region deploy
const deploy = Effect.gen(function* () {
  const engine = yield* Engine
  const without = yield* engine.check(Article2)
  for (const { id, problem } of without.failing) yield* Console.log(`${id}: ${problem}`)
  const { failing } = yield* engine.check(Article2, { upcasters })
  yield* Console.log(`with upcasters ${failing.length} instances would not open`)
  yield* engine.register(Article2, { upcasters })
  const article = yield* engine.ensure(Article2, "on-machines")
  yield* Console.log(JSON.stringify(yield* article.state))
})
// #endregion deploy

const engine = Layer.fresh(Engine.layer())
await Effect.runPromise(
  Effect.andThen(Effect.provide(before, engine), Effect.provide(deploy, engine)).pipe(Effect.provide(MemoryStore.layer)),
)
