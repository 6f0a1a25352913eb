/**
 * The uses of a journal: the history of an instance, its state at any sequence number, a fork, pages of instances, and a new
 * version of the machine that reads the events of the old one.
 */
import { Engine, MemoryStore } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

const S = State({ Draft: { words: Schema.Int }, Published: { words: Schema.Int } })
const E = Event({ Write: { words: Schema.Int }, Publish: {} })

const Article = Machine.make({ name: "article", state: S, event: E, initial: S.Draft({ words: 0 }) })
  .on(S.Draft, E.Write, S.Draft, ({ state, event }) => S.Draft({ words: state.words + event.words }))
  .on(S.Draft, E.Publish, S.Published)
  .final(S.Published)

/** The next version has the author. */
const S2 = State({ Draft: { words: Schema.Int, by: Schema.String }, Published: { words: Schema.Int, by: Schema.String } })
const E2 = Event({ Write: { words: Schema.Int, by: Schema.String }, Publish: {} })

const Signed = Machine.make({ name: "article", version: 2, state: S2, event: E2, initial: S2.Draft({ words: 0, by: "nobody" }) })
  .on(S2.Draft, E2.Write, S2.Draft, ({ state, event }) => S2.Draft({ words: state.words + event.words, by: event.by }))
  .on(S2.Draft, E2.Publish, S2.Published)
  .final(S2.Published)

/** Upcasters from version 1 to version 2, on the stored JSON. */
const upcasters = { 1: { state: (state: object) => ({ ...state, by: "Ada" }), event: (event: object) => ({ ...event, by: "Ada" }) } }

const look = Effect.gen(function* () {
  const engine = yield* Engine
  const article = yield* engine.start(Article, "on-machines")
  for (const words of [300, 120]) yield* article.send(E.Write({ words }))
  yield* article.send(E.Publish())

  yield* Stream.runForEach(article.history, ({ sequence, event, from, state }) =>
    Console.log(`${sequence} ${event._tag}: ${from._tag} -> ${state._tag}, ${state.words} words`),
  )
  yield* Console.log(`after the first event it had ${(yield* article.stateAt(1)).words} words`)

  // In a fork, earlier commands are not executed again, and timers restart.
  const other = yield* engine.fork(Article, "on-machines", 2, "on-machines-longer")
  yield* other.send(E.Write({ words: 1000 }))

  const { instances, next } = yield* engine.list(Article, { state: "Draft", limit: 10 }) // `after: next` is the next page
  yield* Console.log(`drafts: ${instances.map(({ id }) => id).join(", ")}; ${next === undefined ? "no more" : "more"}`)
})

const deploy = Effect.gen(function* () {
  const engine = yield* Engine
  const { failing } = yield* engine.check(Signed, { upcasters }) // before the deploy: the instances that would not open
  yield* engine.register(Signed, { upcasters })
  const article = yield* Effect.flatMap(engine.get(Signed, "on-machines-longer"), Effect.fromOption) // get: an Option
  const { words, by } = yield* article.state
  yield* Console.log(`${failing.length} would not open; ${words} words by ${by}`)
})

const engine = Layer.fresh(Engine.layer())
const store = MemoryStore.layer // or SqliteStore.layer, PostgresStore.layer
await Effect.runPromise(Effect.andThen(Effect.provide(look, engine), Effect.provide(deploy, engine)).pipe(Effect.provide(store)))
