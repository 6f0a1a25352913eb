/** Repairing what holds an instance, and nothing else. */
import { Event, Machine, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Kit, Rig } from "./Rig.ts"

const S = State({ Cart: { total: Schema.Number }, Paid: { total: Schema.Number } })
const E = Event({ Put: { price: Schema.Number }, Pay: {}, Ship: {} })
const whole = Machine.make({ name: "order", state: S, event: E, initial: S.Cart({ total: 0 }) })
  .on(S.Cart, E.Put, S.Cart, ({ state, event }) => S.Cart({ total: state.total + event.price }))
  .on(S.Cart, E.Pay, S.Paid)
  .on(S.Paid, E.Ship, S.Paid)

/** One where a cart cannot be paid. */
const strict = Machine.make({ name: "order", state: S, event: E, initial: S.Cart({ total: 0 }) })
  .on(S.Cart, E.Put, S.Cart, ({ state, event }) => S.Cart({ total: state.total + event.price }))
  .on(S.Paid, E.Ship, S.Paid)

/** One where each price is checked. */
const limited = (limit: number) =>
  Machine.make({ name: "order", state: S, event: E, initial: S.Cart({ total: 0 }) }).on(
    S.Cart,
    E.Put,
    S.Cart,
    ({ state, event }) => S.Cart({ total: state.total + event.price }),
    { guard: ({ event }) => event.price <= limit, guardName: "affordable" },
  )

const key = { machine: "order", id: "o" }

/** An order that the first definition wrote, and an engine with the second. */
const held = ({ open }: Rig, events: ReadonlyArray<typeof E.Type>) =>
  Effect.gen(function* () {
    const old = yield* open()
    const order = yield* old.engine.start(whole, "o")
    for (const event of events) yield* order.send(event, { id: `${event._tag}-${yield* order.lastSequence}` })
    yield* old.close
    return (yield* open()).engine
  })

export const repairing = ({ describe, test }: Kit) =>
  describe("repairing", () => {
    test("77 a repair replaces the event that holds an instance, and the instance continues", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [E.Put({ price: 5 }), E.Pay()])
        const order = yield* Effect.flatMap(engine.get(strict, "o"), Effect.fromOption)
        yield* Effect.flip(order.state)
        expect(yield* rig.record(key)).toMatchObject({ status: "held" })
        const repaired = yield* engine.repair(strict, "o", 2, E.Put({ price: 10 }))
        expect(yield* repaired.state).toEqual(S.Cart({ total: 15 }))
        yield* repaired.send(E.Put({ price: 1 }))
        expect(yield* rig.record(key)).toMatchObject({ status: "running", sequence: 3, reason: undefined })
        expect((yield* rig.events(key)).map(({ tag, dedupeId }) => [tag, dedupeId])).toEqual([
          ["Put", "Put-0"],
          ["Put", "Pay-1"],
          ["Put", undefined],
        ])
      }))

    test("77 a repair keeps the original event in the journal, with who replaced it, when and why, also through the next repair", (rig) =>
      Effect.gen(function* () {
        const old = yield* rig.open()
        const paid = yield* old.engine.start(whole, "o")
        for (const event of [E.Put({ price: 5 }), E.Pay()]) yield* paid.send(event)
        yield* old.close
        const { engine, close } = yield* rig.open()
        const [, original] = yield* rig.events(key)
        const order = yield* engine.repair(strict, "o", 2, E.Put({ price: 10 }), { by: "ada", reason: "paid by hand" })
        const [first, second] = yield* order.historyPage()
        expect(first).not.toHaveProperty("replaced")
        expect(second?.event).toEqual(E.Put({ price: 10 }))
        expect(second?.replaced).toEqual([
          { at: expect.any(Number), by: "ada", reason: "paid by hand", body: JSON.parse(original?.body ?? "") },
        ])
        yield* close
        const later = (yield* rig.open()).engine
        const again = yield* later.repair(limited(7), "o", 2, E.Put({ price: 7 }))
        expect((yield* again.state).total).toBe(12)
        const [, repaired] = yield* again.historyPage()
        expect(repaired?.replaced?.map(({ by, body }) => [by, (body as { readonly e: unknown }).e])).toEqual([
          ["ada", { _tag: "Pay" }],
          [undefined, { _tag: "Put", price: 10 }],
        ])
        const fork = yield* later.fork(limited(7), "o", 2, "copy")
        expect((yield* fork.historyPage())[1]?.replaced).toHaveLength(2)
      }))

    test("77 a repair can be tried first, and changes nothing then", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [E.Put({ price: 5 }), E.Pay()])
        const before = yield* rig.events(key)
        yield* engine.repair(strict, "o", 2, E.Put({ price: 10 }), { dryRun: true })
        const refused = yield* Effect.flip(engine.repair(strict, "o", 2, E.Pay(), { dryRun: true }))
        expect(refused.message).toMatch(/^order o would still be held at sequence 2 with Pay as event 2: /)
        expect(yield* rig.events(key)).toEqual(before)
        const order = yield* Effect.flatMap(engine.get(strict, "o"), Effect.fromOption)
        expect(yield* Effect.flip(order.state)).toMatchObject({ _tag: "EventReplayError", sequence: 2 })
      }))

    test("77 and 8 the answers of guards on the new event are journaled: a stricter guard does not hold the instance", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [E.Put({ price: 5 }), E.Pay()])
        expect((yield* Effect.flip(engine.repair(limited(10), "o", 2, E.Put({ price: 11 })))).message).toMatch(/affordable does not hold/)
        yield* engine.repair(limited(10), "o", 2, E.Put({ price: 7 }))
        const stricter = (yield* rig.open()).engine
        const order = yield* Effect.flatMap(stricter.get(limited(6), "o"), Effect.fromOption)
        expect(yield* order.state).toEqual(S.Cart({ total: 12 }))
      }))

    test("77 of two repairs of one event at the same time one is refused", (rig) =>
      Effect.gen(function* () {
        const other = yield* held(rig, [E.Put({ price: 5 }), E.Pay()])
        const { engine, probe } = yield* rig.open()
        probe.onRewrite = (rewrite) => Effect.andThen(Effect.orDie(other.repair(strict, "o", 2, E.Put({ price: 1 }))), rewrite)
        const error = yield* Effect.flip(engine.repair(strict, "o", 2, E.Put({ price: 2 })))
        expect(error).toMatchObject({ _tag: "RepairRefused", sequence: 2 })
        expect(error.message).toBe(
          "order o was repaired by another process meanwhile: event 2 is no longer the one that held it; read it again",
        )
        expect(yield* (yield* engine.ensure(strict, "o")).state).toEqual(S.Cart({ total: 6 }))
      }))

    /** An order in the memory of a node whose definition fits its events, and an engine whose definition does not. */
    const shared = ({ open }: Rig, definition = whole) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const order = yield* engine.start(definition, "o")
        yield* order.send(E.Put({ price: 5 }))
        yield* order.send(E.Pay())
        const other = (yield* open()).engine
        return { order, probe, repair: Effect.orDie(other.repair(strict, "o", 2, E.Put({ price: 10 }))) }
      })

    test("77 and 22 a node that has the instance in memory continues after a repair elsewhere from the new event", (rig) =>
      Effect.gen(function* () {
        const { order, repair } = yield* shared(rig)
        yield* repair
        expect(yield* Effect.flip(order.send(E.Ship()))).toMatchObject({ _tag: "InvalidTransition", state: "Cart" })
        yield* order.send(E.Put({ price: 1 }))
        expect(yield* order.state).toEqual(S.Cart({ total: 16 }))
        expect(yield* order.stateAt(2)).toEqual(S.Cart({ total: 15 }))
        expect(yield* order.saveSnapshot).toBe(true)
        const later = (yield* rig.open()).engine
        expect(yield* (yield* later.ensure(strict, "o")).state).toEqual(S.Cart({ total: 16 }))
        expect(yield* rig.record(key)).toMatchObject({ status: "running", sequence: 3 })
      }))

    test("77 a node that has the instance in memory reads the repaired state, and saves no snapshot of the one before", (rig) =>
      Effect.gen(function* () {
        const { order, repair } = yield* shared(rig)
        const cart = yield* Effect.forkChild(
          order.waitFor(({ _tag }) => _tag === "Cart"),
          { startImmediately: true },
        )
        yield* repair
        expect(yield* order.state).toEqual(S.Cart({ total: 15 }))
        expect(yield* rig.passFor(cart)).toEqual(S.Cart({ total: 15 }))
        yield* order.saveSnapshot
        expect(yield* (yield* (yield* rig.open()).engine.ensure(strict, "o")).state).toEqual(S.Cart({ total: 15 }))
      }))

    test("77 what another node decided before a repair and commits after it is decided again, and its snapshot is not stored", (rig) =>
      Effect.gen(function* () {
        const { order, probe, repair } = yield* shared(rig, whole.persist({ snapshot: { _tag: "EveryN", transitions: 3 } }))
        probe.onCommit = (_, commit) => {
          probe.onCommit = (_, commit) => commit
          return Effect.andThen(repair, commit)
        }
        const refused = yield* Effect.forkChild(Effect.flip(order.send(E.Ship())), { startImmediately: true })
        expect(yield* rig.passFor(refused)).toMatchObject({ _tag: "InvalidTransition", state: "Cart" })
        expect(yield* rig.events(key)).toHaveLength(2)
        expect(Option.getOrThrow(yield* rig.journal.open(key)).snapshot).toBeUndefined()
        expect(yield* order.state).toEqual(S.Cart({ total: 15 }))
      }))

    test("77 a repair during which another node adds an event is tried again with that event", (rig) =>
      Effect.gen(function* () {
        const { order } = yield* shared(rig)
        const { engine, probe } = yield* rig.open()
        probe.onRewrite = (rewrite) => {
          probe.onRewrite = (rewrite) => rewrite
          return Effect.andThen(Effect.orDie(order.send(E.Ship())), rewrite)
        }
        const before = yield* rig.events(key)
        expect((yield* Effect.flip(engine.repair(strict, "o", 2, E.Put({ price: 1 })))).message).toMatch(/held at sequence 3/)
        expect((yield* rig.events(key)).slice(0, 2)).toEqual(before)
        expect(yield* order.state).toEqual(S.Paid({ total: 5 }))
      }))

    test("77 healthy history is not rewritten", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [E.Put({ price: 5 })])
        const before = yield* rig.events(key)
        const error = yield* Effect.flip(engine.repair(strict, "o", 1, E.Put({ price: 1000 })))
        expect(error).toMatchObject({ _tag: "RepairRefused", machine: "order", id: "o", sequence: 1 })
        expect(error.message).toBe("order o is not held: only the event that holds an instance can be repaired")
        for (const sequence of [5, 0, -1, 1.5]) {
          expect((yield* Effect.flip(engine.repair(strict, "o", sequence, E.Pay()))).message).toBe(
            `order o has no event ${sequence}; its journal has 1 to 1`,
          )
        }
        expect(yield* Effect.flip(engine.repair(strict, "nobody", 1, E.Pay()))).toMatchObject({ _tag: "InstanceNotFound" })
        expect(yield* rig.events(key)).toEqual(before)
        expect(yield* (yield* engine.ensure(strict, "o")).state).toEqual(S.Cart({ total: 5 }))
      }))

    test("77 of an instance that is held, only the event that holds it can be replaced", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [E.Put({ price: 5 }), E.Pay()])
        const before = yield* rig.events(key)
        const error = yield* Effect.flip(engine.repair(strict, "o", 1, E.Put({ price: 1000 })))
        expect(error).toMatchObject({ _tag: "RepairRefused", sequence: 1 })
        expect(error.message).toMatch(/^order o is held at event 2, not by event 1: /)
        expect(yield* rig.events(key)).toEqual(before)
      }))

    test("77 a repair that does not help leaves the journal as it was", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [E.Put({ price: 5 }), E.Pay(), E.Ship()])
        const before = yield* rig.events(key)
        const same = yield* Effect.flip(engine.repair(strict, "o", 2, E.Pay()))
        expect(same).toMatchObject({ _tag: "RepairRefused" })
        expect(same.message).toMatch(/^order o would still be held at sequence 2 with Pay as event 2: /)
        // It fits there, but what came after it no longer does.
        expect((yield* Effect.flip(engine.repair(strict, "o", 2, E.Put({ price: 1 })))).message).toMatch(/held at sequence 3/)
        expect(yield* rig.events(key)).toEqual(before)
        expect(yield* rig.record(key)).toMatchObject({ status: "held" })
      }))

    test("77 several events that cannot be read are repaired one after the other", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [E.Put({ price: 5 }), E.Put({ price: 6 })])
        for (const event of yield* rig.events(key)) yield* rig.journal.rewrite(key, { ...event, body: "{" })
        const next = yield* Effect.flip(engine.repair(strict, "o", 1, E.Put({ price: 1 })))
        expect(next).toMatchObject({ _tag: "EventReplayError", sequence: 2 })
        expect(next.message).toMatch(/event 1 is now Put; repair event 2 next/)
        const repaired = yield* engine.repair(strict, "o", 2, E.Put({ price: 2 }))
        expect(yield* repaired.state).toEqual(S.Cart({ total: 3 }))
      }))

    test("77 and 12 a value that is not an event of the machine is refused, and changes nothing", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [E.Put({ price: 5 }), E.Pay()])
        const before = yield* rig.events(key)
        for (const event of [{ _tag: "Unknown" }, { _tag: "Put", price: "much" }, undefined]) {
          expect(yield* Effect.flip(engine.repair(strict, "o", 2, event as never))).toMatchObject({ _tag: "InvalidEvent", id: "o" })
        }
        expect(yield* rig.events(key)).toEqual(before)
      }))

    test("77 what is held at its first state says so", (rig) =>
      Effect.gen(function* () {
        const engine = yield* held(rig, [])
        const Other = State({ Box: {} })
        const renamed = Machine.make({ name: "order", state: Other, event: E, initial: Other.Box() })
        const order = yield* Effect.flatMap(engine.get(renamed, "o"), Effect.fromOption)
        const error = yield* Effect.flip(order.state)
        expect(error).toMatchObject({ _tag: "EventReplayError", sequence: 0 })
        expect(error.message).toBe("order o is held at sequence 0: its first state: Cart is not a state of this machine")
      }))
  })
