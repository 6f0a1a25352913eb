/** Delayed events: independent of the state, kept through restarts, cancelled by name. */
import { Event, Machine, State, stay } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Kit } from "./Rig.ts"

const S = State({ Draft: {}, Review: {}, Reminded: { times: Schema.Number }, Closed: {} })
const E = Event({ Submit: {}, Edit: {}, Postpone: {}, Forget: {}, Remind: { times: Schema.Number }, Close: {} })

const Document = Machine.make({ name: "document", state: S, event: E, initial: S.Draft() })
  .enter(S.Draft, ({ after }) => after("draft", "60 minutes", E.Close()))
  .on(S.Draft, E.Submit, S.Review, ({ after }) => {
    after("reminder", "3 minutes", E.Remind({ times: 1 }))
    return S.Review()
  })
  .timeout(S.Review, "20 minutes", S.Closed)
  .on(S.Review, E.Edit, S.Draft)
  .on([S.Draft, S.Review], E.Postpone, stay, ({ after }) => {
    after("reminder", "7 minutes", E.Remind({ times: 2 }))
    return stay
  })
  .on([S.Draft, S.Review], E.Forget, stay, ({ cancel }) => {
    cancel("reminder")
    return stay
  })
  .on([S.Draft, S.Review], E.Remind, S.Reminded)
  .on([S.Draft, S.Review, S.Reminded], E.Close, S.Closed)
  .final(S.Closed)

const Doors = State({ Open: {}, Shut: {}, Restocked: {} })
const Goods = Event({ Order: {}, Shut: {}, Reopen: {}, Arrive: {} })

/** While the shop is shut, nothing handles the delayed event. */
const Shop = Machine.make({ name: "shop", state: Doors, event: Goods, initial: Doors.Open() })
  .on(Doors.Open, Goods.Order, stay, ({ after }) => {
    after("goods", "3 minutes", Goods.Arrive())
    return stay
  })
  .on(Doors.Open, Goods.Shut, Doors.Shut)
  .on(Doors.Shut, Goods.Reopen, Doors.Open)
  .on(Doors.Open, Goods.Arrive, Doors.Restocked)

const key = { machine: "document", id: "d" }
const minute = 60_000
const is = (tag: string) => (state: { readonly _tag: string }) => state._tag === tag
const reminder = { name: "@after/reminder", entry: 1, due: 3 * minute }

export const delayed = ({ describe, test }: Kit) =>
  describe("delayed events", () => {
    test("165 a delayed event is a row of its own, outlasts the state, and is journaled as the event it is", (rig) =>
      Effect.gen(function* () {
        const { engine } = yield* rig.open()
        const document = yield* engine.start(Document, "d")
        yield* document.send(E.Submit())
        yield* document.send(E.Edit())
        expect(yield* rig.deadlines(key)).toContainEqual(reminder)
        yield* rig.pass("3 minutes")
        yield* rig.eventually(document.state, is("Reminded"))
        expect(yield* document.state).toEqual(S.Reminded({ times: 1 }))
        expect((yield* rig.events(key)).map(({ tag }) => tag)).toEqual(["Submit", "Edit", "Remind"])
        expect(yield* rig.deadlines(key)).toEqual([{ name: "@after/draft", entry: 2, due: 60 * minute }])
      }))

    test("165 it survives a restart with its deadline, and one that is overdue arrives once", (rig) =>
      Effect.gen(function* () {
        const first = yield* rig.open()
        const document = yield* first.engine.start(Document, "d")
        yield* document.send(E.Submit())
        yield* rig.pass("1 minute")
        yield* first.crash
        yield* rig.pass("9 minutes")
        const second = yield* rig.open()
        const again = yield* second.engine.ensure(Document, "d")
        yield* rig.passUntil("1 second", again.state, is("Reminded"))
        expect((yield* rig.events(key)).map(({ tag }) => tag)).toEqual(["Submit", "Remind"])
      }))

    test("165 it survives in a snapshot whose events are pruned", (rig) =>
      Effect.gen(function* () {
        const first = yield* rig.open()
        const document = yield* first.engine.start(Document, "d")
        yield* document.send(E.Submit())
        expect(yield* document.saveSnapshot).toBe(true)
        yield* document.prune
        yield* first.close
        const second = yield* rig.open()
        const again = yield* second.engine.ensure(Document, "d")
        yield* rig.pass("3 minutes")
        yield* rig.eventually(again.state, is("Reminded"))
        expect(yield* again.state).toEqual(S.Reminded({ times: 1 }))
      }))

    test("165 the same name replaces it, and cancelling removes its row in the same commit", (rig) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* rig.open()
        const document = yield* engine.start(Document, "d")
        yield* document.send(E.Submit())
        yield* document.send(E.Postpone())
        expect(yield* rig.deadlines(key)).toContainEqual({ name: "@after/reminder", entry: 2, due: 7 * minute })
        yield* document.send(E.Forget())
        expect(probe.batches.flat().at(-1)).toMatchObject({ clearTimers: ["@after/reminder"], setTimers: [] })
        yield* rig.pass("10 minutes")
        expect((yield* document.state)._tag).toBe("Review")
        expect((yield* document.historyPage()).map(({ delays }) => delays)).toEqual([
          [{ name: "reminder", due: 3 * minute, event: E.Remind({ times: 1 }) }],
          [{ name: "reminder", due: 7 * minute, event: E.Remind({ times: 2 }) }],
          [{ name: "reminder", due: undefined, event: undefined }],
        ])
      }))

    test("165 a snapshot has the delayed events that wait, also after a restart", (rig) =>
      Effect.gen(function* () {
        const first = yield* rig.open()
        const document = yield* first.engine.start(Document, "d")
        yield* document.send(E.Submit())
        const waiting = [
          { name: "reminder", due: 3 * minute, event: E.Remind({ times: 1 }) },
          { name: "draft", due: 60 * minute, event: E.Close() },
        ]
        expect((yield* document.snapshot).delayed).toEqual(waiting)
        yield* first.close
        const second = yield* rig.open()
        const again = yield* second.engine.ensure(Document, "d")
        expect((yield* again.stored).delayed).toEqual(waiting)
        yield* again.send(E.Close())
        expect((yield* again.stored).delayed).toBeUndefined()
      }))

    test("165 one that nothing handles any more is dropped, and the end of the instance removes the others", (rig) =>
      Effect.gen(function* () {
        const { engine } = yield* rig.open()
        const document = yield* engine.start(Document, "d")
        yield* document.send(E.Submit())
        yield* document.send(E.Remind({ times: 9 }))
        yield* rig.pass("3 minutes")
        yield* rig.eventually(rig.deadlines(key), (rows) => rows.every(({ name }) => name !== "@after/reminder"))
        expect(yield* document.state).toEqual(S.Reminded({ times: 9 }))
        yield* document.send(E.Close())
        expect(yield* rig.deadlines(key)).toEqual([])
      }))

    for (const ending of ["close", "crash"] as const) {
      test(`165 one that another process sets before its end (${ending}) arrives where the instance is in memory`, (rig) =>
        Effect.gen(function* () {
          const remaining = yield* rig.open()
          const document = yield* remaining.engine.start(Document, "d")
          const ended = yield* rig.open()
          yield* (yield* ended.engine.ensure(Document, "d")).send(E.Submit())
          yield* ended[ending]
          yield* rig.pass("3 minutes")
          // Reading the state here would also read the journal into memory.
          yield* rig.passUntil("1 second", rig.events(key), (events) => events.length > 1)
          expect((yield* rig.events(key)).map(({ tag }) => tag)).toEqual(["Submit", "Remind"])
          expect(yield* document.state).toEqual(S.Reminded({ times: 1 }))
        }))
    }

    test("165 one whose row is claimed before the answer to its own commit arrives", (rig) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* rig.open({ sweeper: { interval: "1000 hours" } })
        const document = yield* engine.start(Document, "d")
        const answered = yield* Deferred.make<void>()
        probe.onCommit = (_, commit) => Effect.tap(commit, () => Deferred.await(answered))
        const sent = yield* Effect.forkChild(document.send(E.Submit()))
        yield* rig.eventually(rig.deadlines(key), (rows) => rows.some(({ name }) => name === reminder.name))
        yield* rig.pass("3 minutes")
        const swept = yield* Effect.forkChild(engine.sweep)
        yield* rig.eventually(
          Effect.sync(() => probe.claimed.flat().length),
          (claimed) => claimed > 0,
        )
        yield* rig.quiet
        yield* Deferred.succeed(answered, undefined)
        yield* Fiber.join(sent)
        expect(yield* Fiber.join(swept)).toMatchObject({ fired: 1, stale: 0 })
        expect(yield* document.state).toEqual(S.Reminded({ times: 1 }))
      }))

    test("165 one that another process sets arrives, though its row is claimed while a commit is not answered", (rig) =>
      Effect.gen(function* () {
        const here = yield* rig.open({ sweeper: { interval: "1000 hours" } })
        const document = yield* here.engine.start(Document, "d")
        const answered = yield* Deferred.make<void>()
        here.probe.onCommit = (_, commit) => Effect.tap(commit, () => Deferred.await(answered))
        const sent = yield* Effect.forkChild(document.send(E.Forget()), { startImmediately: true })
        yield* rig.eventually(rig.events(key), (events) => events.length === 1)
        const there = yield* rig.open()
        yield* (yield* there.engine.ensure(Document, "d")).send(E.Submit())
        yield* there.crash
        yield* rig.pass("3 minutes")
        const swept = yield* Effect.forkChild(here.engine.sweep, { startImmediately: true })
        yield* rig.eventually(
          Effect.sync(() => here.probe.claimed.flat().length),
          (claimed) => claimed > 0,
        )
        yield* rig.quiet
        yield* Deferred.succeed(answered, undefined)
        yield* Fiber.join(sent)
        expect(yield* Fiber.join(swept)).toMatchObject({ fired: 1, stale: 0 })
        expect((yield* rig.events(key)).map(({ tag }) => tag)).toEqual(["Forget", "Submit", "Remind"])
      }))

    test("165 one is decided in the state that another process has stored", (rig) =>
      Effect.gen(function* () {
        const here = yield* rig.open()
        const shop = yield* here.engine.start(Shop, "s")
        yield* shop.send(Goods.Order())
        yield* shop.send(Goods.Shut())
        const there = yield* rig.open()
        yield* (yield* there.engine.ensure(Shop, "s")).send(Goods.Reopen())
        yield* there.crash
        yield* rig.pass("3 minutes")
        yield* rig.passUntil("1 second", rig.events({ machine: "shop", id: "s" }), (events) => events.length > 3)
        expect((yield* rig.events({ machine: "shop", id: "s" })).map(({ tag }) => tag)).toEqual(["Order", "Shut", "Reopen", "Arrive"])
      }))

    test("165 one that nothing handles is logged when it is removed", (rig) =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void lines.push([message].flat().join(" ")))
        const { engine } = yield* Effect.provide(rig.open(), Logger.layer([logger]))
        const shop = yield* engine.start(Shop, "s")
        yield* shop.send(Goods.Order())
        yield* shop.send(Goods.Shut())
        yield* rig.pass("3 minutes")
        yield* rig.eventually(rig.deadlines({ machine: "shop", id: "s" }), (rows) => rows.length === 0)
        expect(lines).toContainEqual(expect.stringMatching(/goods of shop s was refused.*Arrive/))
      }))

    test("165 a fork has the delayed events of its sequence, with the time that remained", (rig) =>
      Effect.gen(function* () {
        const { engine } = yield* rig.open()
        const document = yield* engine.start(Document, "d")
        yield* document.send(E.Submit())
        yield* rig.pass("1 minute")
        yield* document.send(E.Edit())
        yield* document.send(E.Forget())
        yield* rig.pass("1 minute")
        const fork = yield* engine.fork(Document, "d", 2, "fork")
        expect(yield* rig.deadlines({ ...key, id: "fork" })).toContainEqual({ name: "@after/reminder", entry: 2, due: 4 * minute })
        yield* rig.pass("2 minutes")
        yield* rig.eventually(fork.state, is("Reminded"))
        expect((yield* document.state)._tag).toBe("Draft")
        expect(yield* Stream.runCollect(Stream.map(fork.history, ({ event }) => event._tag))).toEqual(["Submit", "Edit", "Remind"])
      }))
  })
