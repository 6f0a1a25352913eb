import { Event, Machine, State, spawn, stay, stop } from "@detent/machine"
import { Dot, Mermaid } from "@detent/machine/diagram"
import { advance, createTestHarness, explore, simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

const S = State({ Draft: {}, Review: {}, Reminded: { times: Schema.Number }, Closed: {} })
const E = Event({ Submit: {}, Edit: {}, Postpone: {}, Forget: {}, Remind: { times: Schema.Number }, Close: {}, Quit: {} })

const Document = Machine.make({ name: "document", state: S, event: E, initial: S.Draft() })
  .on(S.Draft, E.Submit, S.Review, ({ after }) => {
    after("reminder", "3 days", E.Remind({ times: 1 }))
    return S.Review()
  })
  .on(S.Review, E.Edit, S.Draft)
  .on([S.Draft, S.Review], E.Postpone, stay, ({ after }) => {
    after("reminder", "7 days", E.Remind({ times: 2 }))
    return stay
  })
  .on([S.Draft, S.Review], E.Forget, stay, ({ cancel }) => {
    cancel("reminder")
    cancel("nothing of this name")
    return stay
  })
  .on([S.Draft, S.Review], E.Remind, S.Reminded)
  .on([S.Draft, S.Review], E.Quit, stop("quit"))
  .on([S.Draft, S.Review, S.Reminded], E.Close, S.Closed)
  .final(S.Closed)

const started = Effect.gen(function* () {
  const actor = yield* spawn(Document)
  const tagAfter = (time: Parameters<typeof TestClock.adjust>[0]) =>
    Effect.andThen(
      TestClock.adjust(time),
      Effect.map(actor.state, (state) => state._tag),
    )
  return { actor, tagAfter }
})

describe("delayed events", () => {
  it.effect("165 arrive after their delay, whatever the state is by then", () =>
    Effect.gen(function* () {
      const { actor, tagAfter } = yield* started
      yield* actor.send(E.Submit())
      expect(yield* tagAfter("1 day")).toBe("Review")
      yield* actor.send(E.Edit())
      expect(yield* tagAfter("47 hours")).toBe("Draft")
      expect(yield* tagAfter("1 hour")).toBe("Reminded")
      expect(yield* actor.state).toEqual(S.Reminded({ times: 1 }))
    }),
  )

  it.effect("165 the same name again replaces the event and its time", () =>
    Effect.gen(function* () {
      const { actor, tagAfter } = yield* started
      yield* actor.send(E.Submit())
      yield* TestClock.adjust("1 day")
      yield* actor.send(E.Postpone())
      expect(yield* tagAfter("6 days")).toBe("Review")
      expect(yield* tagAfter("1 day")).toBe("Reminded")
      expect(yield* actor.state).toEqual(S.Reminded({ times: 2 }))
    }),
  )

  it.effect("165 are cancelled by name", () =>
    Effect.gen(function* () {
      const { actor, tagAfter } = yield* started
      yield* actor.send(E.Submit())
      yield* actor.send(E.Forget())
      expect(yield* tagAfter("30 days")).toBe("Review")
    }),
  )

  it.effect("165 the end of the machine drops them", () =>
    Effect.gen(function* () {
      const { actor } = yield* started
      yield* actor.send(E.Submit())
      yield* actor.send(E.Close())
      yield* TestClock.adjust("30 days")
      expect(yield* actor.snapshot).toMatchObject({ status: "final", sequence: 2 })
    }),
  )

  it.effect("are set in enter and in the first state", () =>
    Effect.gen(function* () {
      const Entered = Machine.make({ name: "entered", state: S, event: E, initial: S.Draft() })
        .enter(S.Draft, ({ after }) => after("begin", "1 minute", E.Submit()))
        .exit(S.Draft, ({ after }) => after("left", "1 minute", E.Close()))
        .on(S.Draft, E.Submit, S.Review)
        .on(S.Review, E.Close, S.Closed)
        .final(S.Closed)
      const actor = yield* spawn(Entered)
      yield* TestClock.adjust("1 minute")
      expect((yield* actor.state)._tag).toBe("Review")
      yield* TestClock.adjust("1 minute")
      expect((yield* actor.state)._tag).toBe("Closed")
    }),
  )

  it.effect("an event that the machine does not have, and a delay that is none, refuse the event that sets it", () =>
    Effect.gen(function* () {
      const set = (delay: number, event: unknown) =>
        Machine.make({ name: "wrong", state: S, event: E, initial: S.Draft() }).on(S.Draft, E.Submit, stay, ({ after }) => {
          after("x", delay, event as never)
          return stay
        })
      for (const machine of [set(1, { _tag: "Unknown" }), set(1, { _tag: "Remind", times: "many" }), set(Number.NaN, E.Close())]) {
        const actor = yield* spawn(machine)
        const error = yield* Effect.flip(actor.send(E.Submit()))
        expect(error).toMatchObject({ _tag: "ActionFailed", phase: "decide" })
      }
    }),
  )

  it("are simulated on the clock of the test", () => {
    const { path, trace } = simulate(Document, undefined, [E.Submit(), advance("1 day"), E.Edit(), E.Postpone(), advance("7 days")])
    expect(path).toEqual(["Draft", "Review", "Draft", "Reminded"])
    expect(trace.steps.map(({ delays }) => delays)).toEqual([["after reminder"], undefined, ["after reminder"], undefined])
    expect(simulate(Document, undefined, [E.Submit(), E.Forget(), advance("30 days")]).path).toEqual(["Draft", "Review"])
  })

  it.effect("run in the test harness", () =>
    Effect.gen(function* () {
      const document = yield* createTestHarness(Document, undefined)
      yield* document.send(E.Submit())
      yield* document.advance("3 days")
      expect(yield* document.expectState("Reminded")).toEqual(S.Reminded({ times: 1 }))
    }),
  )

  it("are explored like any event", () => {
    const report = explore(Document, { samples: 20 })
    expect(report.throwing).toEqual([])
    expect(report.unreachable).toEqual([])
  })

  it("are drawn where they are set and cancelled", () => {
    const { trace } = simulate(Document, undefined, [E.Submit(), E.Forget()])
    expect(Mermaid.sequence(trace)).toContain("◷ after reminder")
    expect(Mermaid.sequence(trace)).toContain("◷ cancel nothing of this name")
    expect(Dot.timeline(trace)).toContain("◷ after reminder")
  })
})
