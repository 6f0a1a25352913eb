/**
 * How do I change a machine while instances of it run? Give the new definition a higher version, and an upcaster for the data of the old one.
 * `check` replays every stored instance with the new definition before you deploy it.
 *
 * Run it: `npx node examples/questions/upgrade-running-instances.ts`
 */
import { Engine } from "@detent/durable"
import { openEngine } from "@detent/durable/promise"
import { Event, Machine, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const database = "sqlite:articles.db"

const S1 = State({ Draft: { words: Schema.Int } })
const E1 = Event({ Write: { words: Schema.Int } })
const Article1 = Machine.make({ name: "article", state: S1, event: E1, initial: S1.Draft({ words: 0 }) }).on(
  S1.Draft,
  E1.Write,
  S1.Draft,
  ({ state, event }) => S1.Draft({ words: state.words + event.words }),
)

{
  await using engine = await openEngine({ database, machines: [Article1] })
  const article = await engine.start(Article1, "on-machines")
  await article.send(E1.Write({ words: 300 }))
  console.log("version 1 stored", await article.state())
}

// The next version has the author, and can be published.
const S2 = State({ Draft: { words: Schema.Int, by: Schema.String }, Published: { words: Schema.Int, by: Schema.String } })
const E2 = Event({ Write: { words: Schema.Int, by: Schema.String }, Publish: {} })
const Article2 = Machine.make({ name: "article", version: 2, state: S2, event: E2, initial: S2.Draft({ words: 0, by: "" }) })
  .on(S2.Draft, E2.Write, S2.Draft, ({ state, event }) => S2.Draft({ words: state.words + event.words, by: event.by }))
  .on(S2.Draft, E2.Publish, S2.Published)
  .final(S2.Published)
const upcasters = {
  1: { state: (state: object) => ({ by: "unknown", ...state }), event: (event: object) => ({ by: "unknown", ...event }) },
}

{
  await using engine = await openEngine({ database })
  const check = (given: object) => engine.runEffect(Effect.flatMap(Engine, (effects) => effects.check(Article2, given)))
  console.log(`without upcasters ${(await check({})).failing.length} instance would not open`)
  console.log(`with upcasters ${(await check({ upcasters })).failing.length} would not open`)
}

{
  await using engine = await openEngine({ database, machines: [Article2], upcasters: { article: upcasters } })
  const article = engine.instance(Article2, "on-machines")
  await article.send(E2.Write({ words: 120, by: "Ada" }))
  await article.send(E2.Publish())
  console.log("version 2 stored", await article.state())
}
