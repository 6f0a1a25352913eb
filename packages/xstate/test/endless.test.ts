/** A chart whose automatic transitions form a cycle fails its decision, and the process continues. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine, MemoryStore, Timers } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { RetryPolicy } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { raise, setup } from "xstate"
import { EndlessTransition, fromXState } from "../src/index.ts"
import { withEngine } from "./support/engine.ts"

type Events = { type: "go" } | { type: "ping" } | { type: "pong" } | { type: "fine" }

const Always = fromXState(
  setup({ types: { events: {} as Events } }).createMachine({
    id: "spinner",
    initial: "rest",
    states: {
      rest: { on: { go: "turning", fine: "done" } },
      turning: { initial: "left", states: { left: { always: "right" }, right: { always: "left" } } },
      done: {},
    },
  }),
)

const Raising = fromXState(
  setup({ types: { events: {} as Events } }).createMachine({
    id: "echo",
    initial: "rest",
    states: {
      rest: { on: { go: "ping", fine: "done" } },
      ping: { entry: raise({ type: "ping" }), on: { ping: "pong" } },
      pong: { entry: raise({ type: "pong" }), on: { pong: "ping" } },
      done: {},
    },
  }),
)

const Delayed = fromXState(
  setup({ types: { events: {} as Events } }).createMachine({
    id: "bomb",
    initial: "waiting",
    states: {
      waiting: { after: { 50: "left" }, on: { fine: "done" } },
      left: { always: "right" },
      right: { always: "left" },
      done: {},
    },
  }),
)

/** The error that a failure was caused by. */
const rootOf = (error: unknown): unknown => (error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error)

describe("an endless transition", () => {
  for (const [what, machine, states] of [
    ["always transitions", Always, ["turning.left", "turning.right"]],
    ["raised events", Raising, ["ping", "pong"]],
  ] as const) {
    it.live(`of ${what} refuses the event that leads into it, names the states, and stores nothing`, () =>
      withEngine(
        Effect.gen(function* () {
          const engine = yield* Engine
          const chart = yield* engine.start(machine as typeof Always, "c")
          const refused = yield* Effect.flip(chart.send({ type: "go" }))
          const endless = rootOf(refused)
          expect(endless).toBeInstanceOf(EndlessTransition)
          expect([...(endless as EndlessTransition).states].toSorted()).toEqual(states)
          expect(refused.message).toContain("give one of the always transitions or raised events of these states a guard")
          expect(yield* chart.lastSequence).toBe(0)
          yield* chart.send({ type: "fine" })
          expect((yield* chart.state)._tag).toBe("done")
        }),
      ),
    )
  }

  const retry = RetryPolicy.fixed({ delay: 0, maxAttempts: 2 })
  const engineOn = <E>(store: Layer.Layer<Layer.Success<typeof MemoryStore.layer>, E>) =>
    Engine.layer({ nodeId: "only", sweeper: { interval: "50 millis", retry } }).pipe(Layer.provideMerge(store))

  for (const kind of ["memory", "SQLite"] as const) {
    it.live(`behind a delay on ${kind} makes its timer a dead letter; the process answers meanwhile, and after a restart`, () =>
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-endless-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true })),
        )
        const store =
          kind === "memory"
            ? Layer.succeedContext(yield* MemoryStore.make)
            : Layer.fresh(SqliteStore.layer({ filename: join(folder, "charts.db") }))
        const dead = Effect.repeat(
          Effect.delay(
            Effect.flatMap(Timers, (timers) => timers.dead(10)),
            20,
          ),
          { until: (timers) => timers.length > 0 },
        )
        yield* Effect.gen(function* () {
          const engine = yield* Engine
          const bomb = yield* engine.start(Delayed, "b")
          const other = yield* engine.start(Always, "c")
          const [timer] = yield* dead
          expect(timer?.problem).toContain("a transition of chart bomb does not end")
          yield* other.send({ type: "fine" })
          expect((yield* bomb.state)._tag).toBe("waiting")
        }).pipe(Effect.provide(engineOn(store)))
        yield* Effect.gen(function* () {
          const engine = yield* Engine
          yield* engine.register(Delayed)
          const bomb = Option.getOrThrow(yield* engine.get(Delayed, "b"))
          expect((yield* bomb.state)._tag).toBe("waiting")
          yield* bomb.send({ type: "fine" })
          expect((yield* bomb.state)._tag).toBe("done")
        }).pipe(Effect.provide(engineOn(store)))
      }),
    )
  }
})
