/** The law of event sourcing: whatever happened live is what a replay finds, at every sequence, under every policy. */
import { Event, Machine, Slot, type SnapshotPolicy, State, stay, stop } from "@detent/machine"
import { arbitrary } from "@detent/machine/testing"
import { expect } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Kit } from "./Rig.ts"

const S = State({
  Cart: { items: Schema.Array(Schema.String), total: Schema.Int },
  Open: { total: Schema.Int, note: Schema.Option(Schema.String), at: Schema.DateTimeUtc },
  Review: { total: Schema.Int, tries: Schema.Int },
  Paid: { total: Schema.Int },
  Lost: {},
})
const E = Event({
  Put: { item: Schema.String, price: Schema.Int },
  Clear: {},
  Order: {},
  Note: { text: Schema.Option(Schema.String) },
  Check: {},
  Retry: {},
  Pay: {},
  Abandon: {},
})
const guards = Slot.Guards({ lucky: {} })

/** Pure and effectful decisions, guards that change their mind, automatic transitions, entering anew, postponing, ends. */
const shop = (policy: SnapshotPolicy<"Cart" | "Open" | "Review" | "Paid" | "Lost">, luck: () => boolean) =>
  Machine.make({ name: "shop", state: S, event: E, guards, initial: S.Cart({ items: [], total: 0 }) })
    .on(S.Cart, E.Put, S.Cart, ({ state, event }) =>
      S.Cart({ items: [...state.items, event.item], total: (state.total + event.price) % 1_000_000 }),
    )
    .on(S.Cart, E.Clear, S.Cart, () => S.Cart({ items: [], total: 0 }))
    .on(S.Cart, E.Order, S.Open, ({ state, at }) => S.Open({ total: state.total, note: Option.none(), at: DateTime.makeUnsafe(at) }))
    .on(S.Open, E.Note, S.Open, ({ state, event }) => S.Open({ ...state, note: event.text }))
    .on(S.Open, E.Check, S.Review, ({ state }) => Effect.succeed(S.Review({ total: state.total, tries: 0 })))
    .on(S.Open, E.Abandon, [S.Lost], () => S.Lost(), { guard: ({ guards }) => guards.lucky() })
    .reenter(S.Review, E.Retry, ({ state }) => S.Review({ ...state, tries: state.tries + 1 }))
    .on(S.Review, E.Clear, S.Cart, () => S.Cart({ items: [], total: 0 }))
    .always(
      S.Review,
      ({ state }) => state.tries > 3,
      S.Open,
      ({ state, at }) => S.Open({ total: state.total, note: Option.some("back"), at: DateTime.makeUnsafe(at) }),
    )
    .on(S.Review, E.Pay, stay, ({ self }) => {
      self.send(E.Retry())
      return stay
    })
    .postpone(S.Review, E.Note)
    .on(S.Lost, E.Clear, stop("cleared"))
    .persist({ snapshot: policy })
    .build({ lucky: luck })

const policies: ReadonlyArray<SnapshotPolicy<"Cart" | "Open" | "Review" | "Paid" | "Lost">> = [
  { _tag: "EveryTransition" },
  { _tag: "EveryN", transitions: 3 },
  { _tag: "Interval", every: "3 seconds" },
  { _tag: "OnStates", states: ["Review", "Cart"] },
  { _tag: "Manual" },
]

const T = State({ Idle: { n: Schema.Number }, Busy: { n: Schema.Number }, Done: { n: Schema.Number } })
const G = Event({ Work: {}, Add: { by: Schema.Number } })

/** Inline guards of `.on` and `.always`, one of which asks a slot; `say` answers for all of them. */
const guarded = (say: (guard: string) => boolean) =>
  Machine.make({ name: "guarded", state: T, event: G, guards: Slot.Guards({ allowed: {} }), initial: T.Idle({ n: 0 }) })
    .on(T.Idle, G.Work, T.Busy, { guard: ({ guards }) => say("on") && guards.allowed() })
    .on(T.Busy, G.Add, T.Busy, ({ state, event, guards }) => T.Busy({ n: state.n + (guards.allowed() ? event.by : 0) }), {
      guard: () => say("add"),
    })
    .always(T.Busy, () => say("first"), T.Idle)
    .always(T.Busy, ({ state }) => say("always") && state.n > 2, T.Done)
    .persist({ snapshot: { _tag: "Manual" } })
    .build({ allowed: () => say("slot") })

export const replaying = ({ describe, test, runs }: Kit) =>
  describe("replay", () => {
    test("45 and 151 a replay asks no guard, inline or slot, whatever it would say now", ({ open, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const instance = yield* first.engine.start(
          guarded((guard) => guard !== "first"),
          "g",
        )
        yield* instance.send(G.Work())
        yield* instance.send(G.Add({ by: 2 }))
        yield* instance.send(G.Add({ by: 3 }))
        const before = yield* instance.snapshot
        expect(before.state).toEqual(T.Done({ n: 5 }))
        expect((yield* events({ machine: "guarded", id: "g" })).map(({ body }) => body)).toEqual([
          '{"v":1,"e":{"_tag":"Work"},"i":[true,false,false]}',
          '{"v":1,"e":{"_tag":"Add","by":2},"i":[true,true,false,false]}',
          '{"v":1,"e":{"_tag":"Add","by":3},"i":[true,true,false,true]}',
        ])
        yield* first.close
        const asked: Array<string> = []
        const changed = guarded((guard) => {
          asked.push(guard)
          return guard === "first"
        })
        const second = yield* open()
        const again = yield* second.engine.ensure(changed, "g")
        expect(yield* again.snapshot).toEqual(before)
        expect(yield* again.stateAt(1)).toEqual(T.Busy({ n: 0 }))
        expect((yield* second.engine.check(changed)).failing).toEqual([])
        expect(asked).toEqual([])
      }))

    test("a journal with the answers of slots only asks inline guards again, and slots inside them answer as recorded", ({
      open,
      events,
      journal,
    }) =>
      Effect.gen(function* () {
        const key = { machine: "guarded", id: "g" }
        const first = yield* open()
        const instance = yield* first.engine.start(
          guarded((guard) => guard !== "first"),
          "g",
        )
        yield* instance.send(G.Work())
        yield* instance.send(G.Add({ by: 5 }))
        const before = yield* instance.snapshot
        yield* first.close
        // As versions that journaled no inline guard have written them.
        const bodies = ['{"v":1,"e":{"_tag":"Work"},"g":[true]}', '{"v":1,"e":{"_tag":"Add","by":5},"g":[true]}']
        for (const [index, event] of (yield* events(key)).entries()) {
          yield* journal.rewrite(key, { ...event, body: bodies[index] as string })
        }
        const asked: Array<string> = []
        const changed = guarded((guard) => {
          asked.push(guard)
          return guard !== "first" && guard !== "slot"
        })
        const second = yield* open()
        const again = yield* second.engine.ensure(changed, "g")
        expect(yield* again.snapshot).toEqual(before)
        expect(asked).toEqual(["on", "first", "always", "add", "first", "always"])
      }))

    for (const policy of policies) {
      test(`76 snapshot and later events are the live state, also at every sequence (${policy._tag})`, ({
        open,
        pass,
        quiet,
        eventually,
      }) =>
        Effect.gen(function* () {
          let asked = 0
          const live = shop(policy, () => asked++ % 2 === 0)
          const events = arbitrary(live).events({ minLength: 5, maxLength: 25 })
          const samples = yield* Arbitrary.sampleEffect(events, { count: runs, seed: 7 })
          for (const [index, sample] of samples.entries()) {
            const id = `s-${index}`
            const first = yield* open()
            let underway = 0
            first.probe.onCommit = (_, commit) =>
              Effect.ensuring(
                Effect.suspend(() => {
                  underway++
                  return commit
                }),
                Effect.sync(() => underway--),
              )
            const instance = yield* first.engine.start(live, id)
            const seen = [yield* instance.state]
            for (const event of sample) {
              // Postponed ones may never be answered, so the test waits for none of them.
              yield* Effect.forkDetach(Effect.ignore(instance.send(event)), { startImmediately: true })
              yield* pass("1 second")
              yield* eventually(
                Effect.sync(() => underway),
                (commits) => commits === 0,
              )
              const { sequence, state } = yield* instance.snapshot
              while (seen.length <= sequence) seen.push(yield* instance.stateAt(seen.length))
              expect(seen[sequence]).toEqual(state)
            }
            const before = yield* instance.snapshot
            yield* first.close
            // Guards now say no to everything: a replay must not ask them.
            const replayed = shop(policy, () => false)
            const second = yield* open()
            const again = yield* second.engine.ensure(replayed, id)
            expect(yield* again.snapshot).toEqual(before)
            for (const [sequence, state] of seen.entries()) expect(yield* again.stateAt(sequence)).toEqual(state)
            expect((yield* second.engine.check(replayed)).failing).toEqual([])
            yield* second.close
            yield* quiet
          }
        }))
    }
  })
