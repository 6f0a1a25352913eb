/** What a process that works executes before its workspace closes. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Commands, Engine } from "@detent/durable"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { defineConfig, Workspace, type WorkspaceOptions } from "@detent/workspace"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const S = State({ Draft: {}, Sent: {}, Filed: {} })
const E = Event({ Send: {}, Delivered: {} })
class Undelivered extends Schema.TaggedError<Undelivered>()("Undelivered", {}) {}
const effects = Slot.Effects({ deliver: Slot.effect({}, { failure: Undelivered }), file: {} })

interface Handlers {
  readonly deliver?: Effect.Effect<void, Undelivered>
  readonly file?: Effect.Effect<void>
}

/** Delivers a letter that is sent; files it when it is delivered. */
const letter = ({ deliver = Effect.void, file = Effect.void }: Handlers) =>
  Machine.make({ name: "letter", state: S, event: E, effects, initial: S.Draft() })
    .on(S.Draft, E.Send, S.Sent)
    .on(S.Sent, E.Delivered, S.Filed)
    .enter(S.Sent, ({ effects }) => effects.deliver(), { requests: ["deliver"] })
    .enter(S.Filed, ({ effects }) => effects.file(), { requests: ["file"] })
    .final(S.Filed)
    .commands({ deliver: { onSuccess: () => E.Delivered(), retry: RetryPolicy.fixed({ delay: "1 hour", maxAttempts: 2 }) } })
    .build({ deliver: () => deliver, file: () => file })

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-ending-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true })),
)

const send = (Letter: ReturnType<typeof letter>, id = "one") =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const sent = yield* engine.start(Letter, id)
    yield* sent.send(E.Send())
  })

const opened = (data: string, Letter: ReturnType<typeof letter>, more: Partial<WorkspaceOptions> = {}) =>
  Workspace.open({ data, role: "work", config: defineConfig({ machines: [Letter] }), ...more })

/** The status of each command, as the next process finds it. */
const statuses = (data: string) =>
  Effect.gen(function* () {
    const { commands } = yield* (yield* Commands).list({}, 10)
    return Object.fromEntries(commands.map(({ slot, status }) => [slot, status]))
  }).pipe(Effect.provide(opened(data, letter({}), { role: "observe" })))

/** A process that executes no commands, so that one is left. */
const leaveOne = (data: string) => Effect.provide(send(letter({})), opened(data, letter({}), { engine: { worker: false } }))

describe("a process that ends normally", () => {
  it.live("executes the commands that its last event requested, and those that follow from them", () =>
    Effect.gen(function* () {
      const data = yield* folder
      const Letter = letter({})
      yield* Effect.provide(send(Letter), opened(data, Letter))
      assert.deepStrictEqual(yield* statuses(data), { deliver: "completed", file: "completed" })
    }),
  )

  it.live("executes the commands that an earlier process left", () =>
    Effect.gen(function* () {
      const data = yield* folder
      yield* leaveOne(data)
      assert.deepStrictEqual(yield* statuses(data), { deliver: "pending" })
      yield* Effect.provide(Effect.void, opened(data, letter({})))
      assert.deepStrictEqual(yield* statuses(data), { deliver: "completed", file: "completed" })
    }),
  )

  it.live("does not wait for a command that is retried later, nor for a paused queue", () =>
    Effect.gen(function* () {
      const data = yield* folder
      const Letter = letter({ deliver: Effect.fail(new Undelivered()) })
      yield* Effect.provide(send(Letter), opened(data, Letter))
      assert.deepStrictEqual(yield* statuses(data), { deliver: "pending" })
      const paused = yield* folder
      yield* leaveOne(paused)
      yield* Effect.flatMap(Commands, (commands) => commands.configure("letter", { paused: true })).pipe(
        Effect.provide(opened(paused, letter({}), { engine: { worker: false } })),
      )
      yield* Effect.provide(Effect.void, opened(paused, letter({})))
      assert.deepStrictEqual(yield* statuses(paused), { deliver: "pending" })
    }),
  )

  it.live("stops waiting for a command after drainTimeout", () =>
    Effect.gen(function* () {
      const data = yield* folder
      const Letter = letter({ deliver: Effect.never })
      yield* Effect.provide(send(Letter), opened(data, Letter, { engine: { worker: { drainTimeout: "100 millis" } } }))
      assert.deepStrictEqual(yield* statuses(data), { deliver: "pending" })
    }),
  )
})

describe("a process that is interrupted, or that runs one operation", () => {
  /** Closes while the worker executes the first of two commands, one at a time. Returns how many the next process finds pending. */
  const pendingAfter = (end: Effect.Effect<void>, engine: WorkspaceOptions["engine"] = {}) =>
    Effect.gen(function* () {
      const data = yield* folder
      const isExecuting = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const Letter = letter({ deliver: Effect.andThen(Deferred.succeed(isExecuting, undefined), Deferred.await(gate)) })
      const program = Effect.gen(function* () {
        for (const id of ["one", "two"]) yield* send(Letter, id)
        yield* Deferred.await(isExecuting)
        yield* Effect.forkDetach(Effect.delay(Deferred.succeed(gate, undefined), "100 millis"))
        yield* end
      })
      const open = opened(data, Letter, { engine: { ...engine, worker: { concurrency: 1 } } })
      yield* Effect.exit(Effect.provide(program, open))
      return yield* Effect.map(
        Effect.flatMap(Commands, (commands) => commands.list({ status: "pending", slot: "deliver" }, 10)),
        ({ commands }) => commands.length,
      ).pipe(Effect.provide(opened(data, letter({}), { role: "observe" })))
    })

  it.live("finishes the command that it executes, and leaves the others to the next process", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* pendingAfter(Effect.interrupt), 1)
      assert.strictEqual(yield* pendingAfter(Effect.void, { resume: false }), 1)
      assert.strictEqual(yield* pendingAfter(Effect.void), 0)
    }),
  )
})
