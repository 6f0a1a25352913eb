/** One trace of a whole order: its events, commands, results and timers, also in a process that has started since. */
import { Event, Machine, Slot, State } from "@detent/machine"
import { Commands, Journal, Leases, MemoryStore, Timers } from "@detent/store"
import { eventually } from "@detent/store/testing/CommandKit"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { postgresLayer } from "../../../store/test/support/Postgres.ts"
import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { Engine, type EngineOptions, type EngineService } from "../../src/Engine.ts"
import { contextOf, longestMillis, referenceTo } from "../../src/runtime/StoredTrace.ts"
import { recorder } from "./recorder.ts"

const S = State({ Open: {}, Charging: {}, Paid: {}, Reminded: {} })
const E = Event({ Pay: {}, Charged: { receipt: Schema.String } })
const effects = Slot.Effects({ charge: Slot.effect({}, { success: Schema.String }) })

const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open() })
  .on(S.Open, E.Pay, S.Charging, ({ effects }) => {
    effects.charge({})
    return S.Charging()
  })
  .on(S.Charging, E.Charged, S.Paid)
  .timeout(S.Paid, "500 millis", S.Reminded)
  .commands({ charge: { onSuccess: (receipt) => E.Charged({ receipt }) } })
  .build({ charge: () => Effect.succeed("r-1") })

/** The first span of a name, and of an event. */
const spanIn = ({ named }: ReturnType<typeof recorder>, name: string, event?: string): Tracer.Span | undefined =>
  named(name).find((span) => event === undefined || span.attributes.get("detent.event") === event)

const parentIdOf = (span: Tracer.Span | undefined) => Option.getOrUndefined(span?.parent ?? Option.none())?.spanId

type Stores = Journal | Timers | Leases | Commands

/** An engine with a tracer of its own, on stores that outlive it. */
const openEngine = (stores: Context.Context<Stores>, tracer: Tracer.Tracer | undefined, options: EngineOptions = {}) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const layer = Engine.layer({ ...options, drainTimeout: "1 second" }).pipe(Layer.provide(Layer.succeedContext(stores)))
    const opened = Effect.gen(function* () {
      const engine = Context.get(yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope), Engine)
      yield* engine.register(Order)
      return engine
    })
    const engine: EngineService = yield* tracer === undefined ? opened : Effect.withTracer(opened, tracer)
    return { engine, close: Scope.close(scope, Exit.void) }
  })

const databases = { memory: MemoryStore.layer, SQLite: sqliteLayer, PostgreSQL: postgresLayer }

describe.each(Object.entries(databases))("%s: the trace of an order", (_, database) => {
  const stored = Effect.map(
    Layer.build(database as Layer.Layer<Stores>),
    (context): Context.Context<Stores> => Context.pick(Journal, Timers, Leases, Commands)(context),
  )

  it.live("is continued by its command, the result and the timer in a process that has started since", () =>
    Effect.gen(function* () {
      const stores = yield* stored
      const before = recorder()
      const first = yield* openEngine(stores, before.tracer, { worker: false })
      const order = yield* first.engine.start(Order, "o-1")
      yield* Effect.withTracer(Effect.withSpan(order.send(E.Pay()), "request"), before.tracer)
      yield* first.close
      const after = recorder()
      const { engine } = yield* openEngine(stores, after.tracer)
      const found = Option.getOrThrow(yield* engine.get(Order, "o-1"))
      yield* found.waitFor(({ _tag }) => _tag === "Reminded")
      const request = spanIn(before, "request")
      const [command, charged, timer] = [
        spanIn(after, "command charge"),
        spanIn(after, "detent.send", "Charged"),
        spanIn(after, "detent.timer"),
      ]
      expect([command, charged, timer].map((span) => span?.traceId)).toEqual(Array(3).fill(request?.traceId))
      expect(parentIdOf(command)).toBe(spanIn(before, "detent.send", "Pay")?.spanId)
      expect(parentIdOf(charged)).toBe(command?.spanId)
      expect(parentIdOf(timer)).toBe(charged?.spanId)
    }),
  )

  it.live("is kept with the start and each event, and nothing is without a tracer", () =>
    Effect.gen(function* () {
      const stores = yield* stored
      const journal = Context.get(stores, Journal)
      const plain = yield* openEngine(stores, undefined, { worker: false })
      const untraced = yield* plain.engine.start(Order, "o-1")
      yield* untraced.send(E.Pay())
      const [event] = yield* journal.events({ machine: "order", id: "o-1" }, 0, 1)
      expect(JSON.parse(event?.body ?? "")).toEqual({ v: 1, e: { _tag: "Pay" } })
      yield* plain.close
      const recorded = recorder()
      const { tracer } = recorded
      const { engine } = yield* openEngine(stores, tracer, { worker: false })
      yield* Effect.withTracer(Effect.withSpan(engine.start(Order, "o-2"), "request"), tracer)
      const { origin } = Option.getOrThrow(yield* journal.open({ machine: "order", id: "o-2" }))
      expect(JSON.parse(origin ?? "").p).toBe(`00-${spanIn(recorded, "request")?.traceId}-${spanIn(recorded, "detent.start")?.spanId}-01`)
    }),
  )

  it.live("is read by a process without a tracer, which adds nothing to it", () =>
    Effect.gen(function* () {
      const stores = yield* stored
      const { tracer } = recorder()
      const first = yield* openEngine(stores, tracer, { worker: false })
      const order = yield* first.engine.start(Order, "o-1")
      yield* Effect.withTracer(order.send(E.Pay()), tracer)
      yield* first.close
      const { engine } = yield* openEngine(stores, undefined)
      const state = Effect.flatMap(engine.get(Order, "o-1"), (found) => Option.getOrThrow(found).state)
      yield* eventually(state, ({ _tag }) => _tag === "Reminded")
      const events = yield* Context.get(stores, Journal).events({ machine: "order", id: "o-1" }, 1, 10)
      expect(events.map(({ body }) => "p" in JSON.parse(body))).toEqual([false, false])
    }),
  )
})

describe("a span that continues a stored trace", () => {
  const span = Tracer.externalSpan({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" })
  const context = contextOf(span) ?? ""

  it("has it as its parent for ten minutes, and is linked to it afterwards", () => {
    expect(context).toBe("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    const soon = referenceTo({ context, at: 1000 }, 1000 + longestMillis)
    expect([soon.parent?.spanId, soon.links]).toEqual([span.spanId, []])
    const later = referenceTo({ context, at: 1000 }, 1001 + longestMillis)
    expect([later.parent, later.links.map((link) => [link.span.traceId, link.span.spanId])]).toEqual([
      undefined,
      [[span.traceId, span.spanId]],
    ])
  })

  it("begins a trace of its own where nothing, or nothing readable, is stored", () => {
    for (const stored of ["", "00-1-2-01", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"])
      expect(referenceTo({ context: stored, at: 0 }, 1)).toEqual({ parent: undefined, links: [] })
    expect(contextOf(Tracer.externalSpan({ traceId: span.traceId, spanId: span.spanId, sampled: false }))).toBeUndefined()
    expect(contextOf(Tracer.externalSpan({ traceId: "'; drop", spanId: span.spanId }))).toBeUndefined()
  })
})
