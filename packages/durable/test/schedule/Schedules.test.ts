/** Schedules on both databases: what they start, their policies, and what an operator can do with them. */
import { Event, Machine, PersistenceFailed, State } from "@detent/machine"
import { Journal, type JournalService } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { CommandQueue, CommandWorker, Engine, type EngineService } from "../../src/index.ts"
import { storeAt } from "../../src/promise/Database.ts"
import { type AsyncEngine, type DatabaseAddress, openEngine, workflow } from "../../src/promise.ts"
import {
  enqueue,
  type Overlap,
  runWorkflow,
  type Schedule,
  type ScheduleInfo,
  Schedules,
  type ScheduleTarget,
  schedule,
  scheduleTarget,
  startInstance,
} from "../../src/Schedules.ts"
import { onClock } from "../../testing/onClock.ts"
import { freshAddress } from "../promise/Databases.ts"

const kinds = ["SQLite", "PostgreSQL"] as const

const S = State({ Open: { day: Schema.String }, Closed: {}, Cancelled: {} })
const E = Event({ Close: {}, Cancel: {} })
const Close = Machine.make({ name: "close", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Close, S.Closed)
  .on(S.Open, E.Cancel, S.Cancelled)
  .final(S.Closed, S.Cancelled)

const Report = workflow({ name: "report", input: { day: Schema.String } }, async ({ day }, durable) => {
  await durable.sleep("writing", "10 millis")
  return `report of ${day}`
})

const Mails = CommandQueue.make("mails", { payload: Schema.Struct({ to: Schema.String }) })

/** A schedule that starts nothing by itself before the end of the test. */
const yearly = { cron: "0 0 1 1 *" } as const

const closeOne: Schedule["start"] = ({ at, day }) => startInstance(Close, `close-${at}`, { day }, { cancel: E.Cancel() })

const closing = (more: { readonly overlap?: Overlap; readonly start?: Schedule["start"] } = {}) =>
  schedule("closing", { ...yearly, start: closeOne, ...more })

const until = async <A>(read: () => Promise<A | undefined>): Promise<A> => {
  for (;;) {
    const value = await read()
    if (value !== undefined) return value
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const when = (engine: AsyncEngine, name: string, condition: (info: ScheduleInfo) => boolean) =>
  until(async () => {
    const info = await engine.schedules.get(name)
    return condition(info) ? info : undefined
  })

describe.each(kinds)("on %s", (kind) => {
  const open = (database: DatabaseAddress, schedules: ReadonlyArray<Schedule>, scheduleTargets: ReadonlyArray<ScheduleTarget> = []) =>
    openEngine({ database, machines: [Close], workflows: [Report], schedules, scheduleTargets })

  it("an interval starts one instance for each of its times, under an id made of the time", async () => {
    const database = await freshAddress(kind)
    const everySecond = schedule("tick", {
      every: "1 second",
      overlap: "allow",
      catchUp: "all",
      start: ({ id, day }) => startInstance(Close, id, { day }),
    })
    await using engine = await open(database, [everySecond])
    const info = await when(engine, "tick", ({ started }) => started >= 3)
    const ids = info.runs.map(({ target }) => target?.id)
    const latest = info.runs[0]?.at as number
    expect(ids).toEqual(info.runs.map((_, n) => `tick@${new Date(latest - n * 1000).toISOString().replace(".000Z", "Z")}`))
    expect((await engine.get(Close, ids[0] as string)) !== undefined).toBe(true)
    expect(info.next[0]).toBe(latest + 1000)
    expect(info.runs[0]?.status).toEqual({ _tag: "Running", text: "Open" })
  })

  it("starts executions of workflows and commands of queues too", async () => {
    const database = await freshAddress(kind)
    const sent: Array<string> = []
    const schedules = [
      schedule("reporting", { ...yearly, start: ({ id, day }) => runWorkflow(Report, id, { day }) }),
      schedule("mailing", { ...yearly, start: ({ day }) => enqueue(Mails, { to: `${day}@example.org` }) }),
    ]
    await using engine = await open(database, schedules)
    await engine.schedules.trigger("reporting")
    await engine.schedules.trigger("mailing")
    const reported = await when(engine, "reporting", ({ runs }) => runs[0]?.status?._tag === "Ended")
    expect(reported.runs[0]).toMatchObject({ reason: "trigger", outcome: "started", status: { text: "Completed" } })
    const target = reported.runs[0]?.target
    expect(await engine.workflows.result(Report, target?.id as string)).toEqual({
      value: `report of ${new Date().toISOString().slice(0, 10)}`,
    })
    const waiting = await when(engine, "mailing", ({ runs }) => runs.length > 0)
    expect(waiting.runs[0]).toMatchObject({ target: { kind: "command", name: "mails" }, status: { _tag: "Running", text: "pending" } })
    const handler = Mails.handler(({ to }) => Effect.sync(() => void sent.push(to)))
    const worked = Effect.gen(function* () {
      yield* Effect.promise(() => when(engine, "mailing", ({ runs }) => runs[0]?.status?._tag === "Ended"))
    }).pipe(Effect.provide(CommandWorker.layer([handler])))
    await engine.runEffect(worked)
    expect(sent).toHaveLength(1)
  })

  it("skip: a run whose predecessor has not ended is skipped, and says why", async () => {
    await using engine = await open(await freshAddress(kind), [closing()])
    await engine.schedules.trigger("closing")
    const first = await when(engine, "closing", ({ started }) => started === 1)
    await engine.schedules.trigger("closing")
    const second = await when(engine, "closing", ({ skipped }) => skipped === 1)
    expect(second.runs[0]).toMatchObject({ outcome: "skipped", problem: expect.stringMatching(/^instance close\/close-.* is still Open$/) })
    await engine.send(Close, first.runs[0]?.target?.id as string, E.Close())
    await engine.schedules.trigger("closing")
    await when(engine, "closing", ({ started }) => started === 2)
  })

  it("queue: a run waits for its predecessor", async () => {
    await using engine = await open(await freshAddress(kind), [closing({ overlap: "queue" })])
    await engine.schedules.trigger("closing")
    const first = await when(engine, "closing", ({ started }) => started === 1)
    await engine.schedules.trigger("closing")
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await engine.schedules.get("closing")).toMatchObject({ started: 1, skipped: 0 })
    await engine.send(Close, first.runs[0]?.target?.id as string, E.Close())
    await when(engine, "closing", ({ started }) => started === 2)
  })

  it("cancelPrevious: a run ends its predecessor, then starts", async () => {
    await using engine = await open(await freshAddress(kind), [closing({ overlap: "cancelPrevious" })])
    await engine.schedules.trigger("closing")
    const first = await when(engine, "closing", ({ started }) => started === 1)
    await engine.schedules.trigger("closing")
    await when(engine, "closing", ({ started }) => started === 2)
    expect(await engine.state(Close, first.runs[0]?.target?.id as string)).toEqual(S.Cancelled())
  })

  it("paused, it starts nothing but what is triggered; resumed, it continues after now", async () => {
    const database = await freshAddress(kind)
    const tick = schedule("tick", { every: "1 second", overlap: "allow", start: ({ id, day }) => startInstance(Close, id, { day }) })
    await using engine = await open(database, [tick])
    await when(engine, "tick", ({ started }) => started >= 1)
    await engine.schedules.pause("tick")
    const paused = await when(engine, "tick", ({ current, waiting }) => current === undefined && waiting === 0)
    expect(paused).toMatchObject({ status: "paused", next: [] })
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect((await engine.schedules.get("tick")).started).toBe(paused.started)
    await engine.schedules.trigger("tick")
    await when(engine, "tick", ({ started }) => started === paused.started + 1)
    await engine.schedules.resume("tick")
    const resumed = await when(engine, "tick", ({ started }) => started >= paused.started + 2)
    expect(resumed).toMatchObject({ status: "active", skipped: paused.skipped })
  })

  it("a backfill starts every time of its range once, also those between which a run has not ended", async () => {
    const database = await freshAddress(kind)
    const Quick = workflow({ name: "quick", input: {} }, async () => "done")
    const daily = schedule("daily", { cron: "0 2 * * *", timezone: "Europe/Berlin", start: ({ id }) => runWorkflow(Quick, id, {}) })
    await using engine = await openEngine({ database, workflows: [Quick], schedules: [daily] })
    const range = { from: Date.parse("2026-03-27T00:00:00Z"), through: Date.parse("2026-03-31T12:00:00Z") }
    expect(await engine.schedules.backfill("daily", range)).toBe(5)
    const first = await when(engine, "daily", ({ started, current }) => started === 5 && current === undefined)
    expect(first.runs.map(({ at }) => new Date(at).toISOString().slice(0, 16)).toReversed()).toEqual([
      "2026-03-27T01:00",
      "2026-03-28T01:00",
      "2026-03-29T01:00",
      "2026-03-30T00:00",
      "2026-03-31T00:00",
    ])
    const problem = (given: Partial<typeof range>) =>
      engine.schedules.backfill("daily", { ...range, ...given }).catch((error: Error) => error.message)
    expect(await problem({ from: Date.parse("2010-01-01") })).toMatch(/more than 1000 times; backfill it in parts/)
    expect(await problem({ through: Date.now() + 3_600_000 })).toMatch(/ends in the future; end it at a time that has passed/)
    expect(await problem({ through: range.from - 1 })).toMatch(/ends before it begins; give from and to in this order/)
  })

  it("a changed definition keeps the runs, and an equal one changes nothing", async () => {
    const database = await freshAddress(kind)
    const runs = async (one: Schedule) => {
      await using engine = await open(database, [one])
      await engine.schedules.trigger("closing")
      return await when(engine, "closing", ({ current, runs }) => current === undefined && runs.length > 0)
    }
    const first = await runs(closing({ overlap: "allow" }))
    const second = await runs(closing({ overlap: "allow" }))
    expect([first.next, second.next.length]).toEqual([second.next, 5])
    const changed = schedule("closing", { cron: "0 0 1 6 *", timezone: "Asia/Tokyo", overlap: "allow", start: closeOne })
    const third = await runs(changed)
    expect(third.started).toBe(3)
    expect(new Date(third.next[0] as number).toISOString()).toMatch(/-05-31T15:00:00.000Z$/)
  })

  it("while the program runs, schedules of declared targets are created, changed and removed", async () => {
    const target = scheduleTarget("close one", {
      input: { shop: Schema.String },
      start: ({ id, day, input }) => startInstance(Close, `${input.shop} ${id}`, { day }),
    })
    await using engine = await open(await freshAddress(kind), [], [target])
    const { schedules } = engine
    await schedules.define("berlin", { ...yearly, target: "close one", input: { shop: "Berlin" } })
    await schedules.trigger("berlin")
    const info = await when(engine, "berlin", ({ started }) => started === 1)
    expect(info.runs[0]?.target?.id).toMatch(/^Berlin berlin@/)
    expect((await schedules.list()).schedules.map(({ name }) => name)).toEqual(["berlin"])
    const problem = (settings: object) =>
      schedules.define("b", { ...yearly, target: "close one", ...settings } as never).catch((e: Error) => e.message)
    expect(await problem({ input: { shop: 7 } })).toMatch(/^schedule b: its input does not fit: shop.*; correct the input$/)
    expect(await problem({ target: "open one" })).toMatch(
      /there is no target open one; declare it with scheduleTarget; the declared targets are: close one$/,
    )
    expect(await problem({ cron: "every day" })).toMatch(/is no cron expression: .*; write five fields/)
    expect(await problem({ cron: "0 2 * * *", timezone: "Berlin" })).toMatch(/"Berlin" is no known time zone; write a name/)
    await schedules.remove("berlin")
    expect((await schedules.list()).schedules).toEqual([])
    await expect(schedules.trigger("berlin")).rejects.toThrow(/^there is no schedule berlin$/)
    await schedules.define("berlin", { ...yearly, target: "close one", input: { shop: "Berlin" } })
    expect((await schedules.get("berlin")).started).toBe(1)
  })

  it("a start that is refused is recorded as failed, and the next one is made", async () => {
    let isBroken = true
    const day = () => (isBroken ? (7 as never) : "2026-11-19")
    await using engine = await open(await freshAddress(kind), [closing({ start: ({ id }) => startInstance(Close, id, { day: day() }) })])
    await engine.schedules.trigger("closing")
    const broken = await when(engine, "closing", ({ failed }) => failed === 1)
    expect(broken.runs[0]).toMatchObject({ outcome: "failed", problem: expect.stringContaining("day") })
    isBroken = false
    await engine.schedules.trigger("closing")
    await when(engine, "closing", ({ started }) => started === 1)
  })
})

const day = 86_400_000

/** Runs one process whose clock is ahead, until its schedule meets a condition. */
const onNode = (database: DatabaseAddress, ahead: number, one: Schedule, condition: (info: ScheduleInfo) => boolean) =>
  Effect.gen(function* () {
    const schedules = yield* Schedules
    for (;;) {
      const info = yield* schedules.get(one.name)
      if (condition(info)) return info
      yield* Effect.sleep(10)
    }
  }).pipe(
    Effect.provide(
      Schedules.layer({ schedules: [one] }).pipe(
        Layer.provideMerge(Layer.effectDiscard(Effect.flatMap(Engine, (engine) => engine.register(Close)))),
        Layer.provideMerge(Engine.layer()),
        Layer.provideMerge(storeAt(database)),
      ),
    ),
    (effect) => onClock(() => ahead, effect),
    Effect.runPromise,
  )

describe("clocks", () => {
  it.each([-3_600_000, 3_600_000])("a node whose clock is off by %i ms starts at the times of the database", async (ahead) => {
    const database = await freshAddress("PostgreSQL")
    const tick = schedule("tick", {
      every: "1 second",
      overlap: "allow",
      catchUp: "all",
      start: ({ id, day }) => startInstance(Close, id, { day }),
    })
    const info = await onNode(database, ahead, tick, ({ started }) => started >= 3)
    for (const { at } of info.runs) expect(Math.abs(at - Date.now())).toBeLessThan(30_000)
    expect(new Set(info.runs.map(({ at }) => at)).size).toBe(info.runs.length)
  })

  it.each([
    ["none", { started: 0, skipped: 96 }],
    ["latest", { started: 1, skipped: 95 }],
    ["all", { started: 96, skipped: 0 }],
  ] as const)("a process that was down for a day, with catchUp %s", async (catchUp, expected) => {
    const database = await freshAddress("SQLite")
    const quarterly = schedule("quarterly", {
      every: "15 minutes",
      overlap: "allow",
      catchUp,
      start: ({ id, day }) => startInstance(Close, id, { day }),
    })
    // Far from a quarter of an hour, so that the number of times within a day does not depend on when the test runs.
    const middle = 450_000 - (Date.now() % 900_000)
    await onNode(database, middle, quarterly, () => true)
    const { started, skipped } = await onNode(database, middle + day, quarterly, (one) => one.started + one.skipped >= 96)
    expect({ started, skipped }).toEqual(expected)
  })

  it("of more than a hundred missed times, the latest hundred are made up for", async () => {
    const database = await freshAddress("SQLite")
    const tick = schedule("minutely", {
      every: "1 minute",
      overlap: "allow",
      catchUp: "all",
      start: ({ id, day }) => startInstance(Close, id, { day }),
    })
    const middle = 30_000 - (Date.now() % 60_000)
    await onNode(database, middle, tick, () => true)
    const info = await onNode(database, middle + 150 * 60_000, tick, ({ started }) => started >= 100)
    expect(info).toMatchObject({ started: 100, skipped: 50 })
  })
})

describe("a store that is away for a moment", () => {
  it("fails the calls of that moment and none after it", async () => {
    const database = await freshAddress("SQLite")
    let isAway = false
    const engine = Layer.effect(
      Engine,
      Effect.map(
        Engine,
        (engine): EngineService => ({
          ...engine,
          register: (machine, options) =>
            Effect.suspend(() =>
              isAway
                ? Effect.fail(new PersistenceFailed({ machine: "schedule", operation: "register", cause: new Error("away") }))
                : engine.register(machine, options),
            ),
        }),
      ),
    )
    const schedules = Schedules.layer({ targets: [], observe: true }).pipe(
      Layer.provideMerge(engine.pipe(Layer.provide(Engine.layer()))),
      Layer.provideMerge(storeAt(database)),
    )
    await onNode(database, 0, closing(), () => true)
    const listed = await Effect.runPromise(
      Effect.gen(function* () {
        const schedules = yield* Schedules
        isAway = true
        const away = yield* Effect.exit(schedules.list())
        isAway = false
        return [away._tag, (yield* schedules.list()).schedules.map(({ name }) => name)]
      }).pipe(Effect.provide(schedules)),
    )
    expect(listed).toEqual(["Failure", ["closing"]])
  })
})

describe("a list of more schedules than a page holds", () => {
  it("names where the next page begins, also for a limit above the longest page", async () => {
    const journal = Layer.effect(
      Journal,
      Effect.map(Journal, (journal): JournalService => {
        const page: JournalService["page"] = (filter, size, after) =>
          Effect.map(journal.page(filter, 1, after), ([one]) =>
            one === undefined ? [] : Array.from({ length: size }, (_, n) => ({ ...one, id: `closing ${n}` })),
          )
        return { ...journal, page }
      }),
    )
    const database = await freshAddress("SQLite")
    await onNode(database, 0, closing(), () => true)
    const schedules = Schedules.layer({ observe: true }).pipe(
      Layer.provide(Engine.layer()),
      Layer.provide(journal),
      Layer.provide(storeAt(database)),
    )
    const page = await Effect.runPromise(
      Effect.provide(
        Effect.flatMap(Schedules, (schedules) => schedules.list({ limit: 5000 })),
        schedules,
      ),
    )
    expect(page.next).toBe("closing 999")
  })
})
