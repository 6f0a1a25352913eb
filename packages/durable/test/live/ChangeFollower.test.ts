/** Notices of other processes' commits, beside a store that answers slowly. */
import { Event, Machine, State } from "@detent/machine"
import { type InstanceKey, Journal, type JournalService, MemoryStore } from "@detent/store"
import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Engine } from "../../src/Engine.ts"

const S = State({ Counting: { count: Schema.Int } })
const E = Event({ Add: {} })
const Counter = Machine.make({ name: "counter", state: S, event: E, initial: S.Counting({ count: 0 }) }).on(
  S.Counting,
  E.Add,
  S.Counting,
  ({ state }) => S.Counting({ count: state.count + 1 }),
)

it.live("of a thousand notices, one query at a time reads what they are about", () =>
  Effect.gen(function* () {
    let heard: (keys: ReadonlyArray<InstanceKey>) => void = () => undefined
    const changed: NonNullable<JournalService["changed"]> = {
      notify: () => undefined,
      listen: (listener) => {
        heard = listener
        return () => undefined
      },
    }
    const answers = yield* Deferred.make<void>()
    let isSlow = false
    let [inFlight, most, all] = [0, 0, 0]
    const slowly = (journal: JournalService): JournalService => ({
      ...journal,
      local: undefined as never,
      changed,
      standings: (keys) => {
        if (!isSlow) return journal.standings(keys)
        const counted = Effect.suspend(() => {
          all++
          most = Math.max(most, ++inFlight)
          return Effect.andThen(Deferred.await(answers), journal.standings(keys))
        })
        return Effect.ensuring(
          counted,
          Effect.sync(() => {
            inFlight--
          }),
        )
      },
    })
    const journal = Layer.effect(Journal, Effect.map(Journal, slowly))
    const store = journal.pipe(Layer.provideMerge(MemoryStore.layer))
    yield* Effect.gen(function* () {
      const engine = yield* Engine
      const counter = yield* engine.start(Counter, "one")
      yield* Effect.forkScoped(Stream.runDrain(counter.changes))
      yield* Effect.sleep("50 millis")
      isSlow = true
      for (let count = 0; count < 1000; count++) {
        heard([{ machine: "counter", id: "one" }])
        if (count % 100 === 0) yield* Effect.sleep("1 millis")
      }
      // The loop that looks without a notice may be the other one.
      expect(most).toBeLessThanOrEqual(2)
      yield* Deferred.succeed(answers, undefined)
      yield* Effect.sleep("50 millis")
      expect([all >= 2, inFlight]).toEqual([true, 0])
    }).pipe(Effect.scoped, Effect.provide(Engine.layer().pipe(Layer.provide(store))))
  }),
)
