import { Event, Machine, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Engine } from "../../src/Engine.ts"
import * as MemoryStore from "../../src/MemoryStore.ts"

const S = State({ A: { n: Schema.Number }, B: { n: Schema.Number } })
const E = Event({ Go: { by: Schema.Number }, Back: {} })
const machine = Machine.make({ name: "m", state: S, event: E, initial: S.A({ n: 0 }) })
  .on(S.A, E.Go, S.B, ({ state, event }) => S.B({ n: state.n + event.by }))
  .on(S.B, E.Back, S.A)
  .persist({ snapshot: { _tag: "EveryN", transitions: 100 }, keepJournal: false })
const program = Effect.gen(function* () {
  const engine = yield* Engine
  const instances = yield* Effect.forEach(Array.from({ length: 50 }, (_, i) => `i${i}`), (id) => engine.start(machine, id))
  const round = (n: number) =>
    Effect.forEach(instances, (one) => Effect.gen(function* () {
      for (let i = 0; i < n; i++) {
        yield* one.send(E.Go({ by: 1 }))
        yield* one.send(E.Back())
      }
    }), { concurrency: "unbounded", discard: true })
  yield* round(2000)
  const results: Array<number> = []
  for (let k = 0; k < 7; k++) {
    globalThis.gc?.()
    const cpu = process.cpuUsage()
    yield* round(1000)
    const used = process.cpuUsage(cpu)
    results.push((used.user + used.system) / (50 * 2000))
  }
  results.sort((a, b) => a - b)
  console.log("cpu us per event: min", results[0]?.toFixed(2), "median", results[3]?.toFixed(2))
})
await Effect.runPromise(Effect.provide(program, Engine.layer().pipe(Layer.provide(MemoryStore.layer))))
