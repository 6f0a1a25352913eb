import type { Machine } from "@detent/machine"
import {
  type Advance,
  advance,
  arbitrary,
  createTestHarness,
  type SimulateOptions,
  type SimulationOf,
  simulateEffect,
} from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Counter, Lamp, Order, Session, start } from "./machines.ts"

const minutes = Arbitrary.map(Arbitrary.schema(Schema.Literals([1, 2, 5, 9, 10, 30, 60])), (count) => advance(`${count} minutes`))

/** Events, with time passing between some of them. */
const course = <E>(event: Arbitrary.Arbitrary<E>): Arbitrary.Arbitrary<Array<E | Advance>> =>
  Arbitrary.array(
    Arbitrary.flatMap(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))), (kind) =>
      kind === 0 ? (minutes as Arbitrary.Arbitrary<E | Advance>) : event,
    ),
    { maxLength: 40 },
  )

interface Course<M> {
  readonly machine: M
  readonly start: unknown
  readonly events: ReadonlyArray<unknown>
  readonly options?: SimulateOptions<M>
}

/** What a simulation and an actor must agree on. */
const compared = (result: Pick<SimulationOf<never>, "path" | "state" | "requests">, errors: ReadonlyArray<{ readonly _tag: string }>) => ({
  path: result.path,
  state: result.state,
  requests: result.requests,
  errors: errors.map((error) => error._tag),
})

const agree = <M extends Machine.Definition<unknown, unknown, never, never, string>>({ machine, start, events, options }: Course<M>) =>
  Effect.gen(function* () {
    const simulation = yield* simulateEffect(machine, start as never, events as never, options)
    const actor = yield* createTestHarness(machine, start as never, options?.guards === undefined ? {} : { guards: options.guards })
    for (const event of events as ReadonlyArray<Advance>) {
      yield* event._tag === "@advance" ? actor.advance(event.millis) : Effect.ignore(actor.send(event as never))
    }
    const refusals = simulation.refusals.map(({ error }) => error)
    expect(compared(simulation as never, refusals)).toEqual(compared(actor as never, actor.errors))
    expect(simulation.status).toBe(actor.actor.snapshotUnsafe().status)
    expect(simulation.trace).toEqual({ ...actor.trace, id: "simulation" })
  }).pipe(Effect.scoped)

const runs = { arbitrary: { runs: 150, size: 20 } }

describe("a simulation ends where an actor ends", () => {
  it.effect.prop(
    "groups, guards, requests, a reply and a stop",
    { events: course(arbitrary(Order).event()) },
    ({ events }) => agree({ machine: Order, start, events, options: { guards: { inStock: ({ orderId }) => orderId === "7" } } }),
    runs,
  )

  it.effect.prop(
    "postponed events and events sent to itself",
    { events: course(arbitrary(Counter).event()) },
    ({ events }) => agree({ machine: Counter, start: undefined, events }),
    runs,
  )

  it.effect.prop(
    "automatic transitions, idle and state timeouts, reenter",
    { events: course(arbitrary(Session).event()) },
    ({ events }) => agree({ machine: Session, start: undefined, events }),
    runs,
  )

  it.effect.prop(
    "decisions that are Effects, and fallbacks",
    { events: course(arbitrary(Lamp).event()) },
    ({ events }) => agree({ machine: Lamp, start: undefined, events }),
    runs,
  )

  it.effect.prop(
    "from any state",
    { state: arbitrary(Session).state(), events: course(arbitrary(Session).event()) },
    ({ state, events }) => agree({ machine: Session, start: state, events }),
    runs,
  )
})
