/** Executions of workflows under other code: what would the next run do? No step runs, and nothing is written. */
import { readFileSync } from "node:fs"
import { DurableWorkflow } from "@detent/durable"
import { judgeExecutions, judgeRange, registrationsOf } from "@detent/durable/internal"
import { openEngine, workflow } from "@detent/durable/promise"
import type { Journal } from "@detent/store"
import { readerIn } from "@detent/store/Database"
import { JournalReader } from "@detent/store/internal"
import * as SqliteStore from "@detent/store/SqliteStore"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { until } from "../../../store/test/support/patience.ts"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import type { Findings } from "../../src/oracle/Findings.ts"
import type { Durable } from "../../src/promise/AsyncWorkflow.ts"

type Body = (input: { readonly seats: number }, durable: Durable<{ readonly paid: typeof Schema.String }>) => Promise<unknown>

const tripOf = (body: Body, input: Schema.Codec<number, never> | typeof Schema.Finite = Schema.Finite) =>
  workflow({ name: "trip", input: { seats: input as typeof Schema.Finite }, events: { paid: Schema.String } }, body)

let runs = 0
const ran = async () => ++runs

/** Two steps at once, a step, a wait with a deadline, and a step. */
const now: Body = async (_, durable) => {
  await Promise.all([durable.step("flight", ran), durable.step("hotel", ran)])
  await durable.step("taxi", ran)
  const paid = await durable.waitForEvent("paid", { timeout: "3 days" })
  await durable.step("tickets", ran)
  return paid
}

const judged = (file: string, before: Body | undefined, after: ReturnType<typeof tripOf>, ended = true) =>
  Effect.gen(function* () {
    const reader = yield* JournalReader
    const machine = "workflow/trip"
    const registered = (one: ReturnType<typeof tripOf>) =>
      Effect.map(registrationsOf(one.register), (found) => found.get(machine) ?? assert.fail("it is not registered"))
    const codes = { before: before === undefined ? undefined : yield* registered(tripOf(before)), after: yield* registered(after) }
    const judging = judgeExecutions({ ...codes, whatIf: true, longestPause: 50 }, reader)
    const selection = { machine, unended: true, ended: ended ? {} : undefined }
    return yield* judgeRange(reader, judging, selection, {}, { findings: 10 })
  }).pipe(Effect.scoped, Effect.provide(readerIn({ _tag: "Sqlite", file })))

const reasonsOf = ({ reasons }: Findings) =>
  reasons.map(({ verdict, summary, from, count }) => `${count} ${verdict} in ${from}: ${summary}`)

/** One execution that waits, and one that has ended. */
const stored = Effect.gen(function* () {
  const file = yield* freshFile
  const Trip = tripOf(now)
  yield* Effect.promise(async () => {
    await using engine = await openEngine({ database: `sqlite:${file}`, workflows: [Trip] })
    await engine.workflows.start(Trip, "trip-1", { seats: 1 })
    await engine.workflows.start(Trip, "ended", { seats: 2 })
    await engine.workflows.sendEvent(Trip, "ended", "paid", "by card")
    await engine.workflows.run(Trip, "ended", { seats: 2 })
    const phases = () => engine.runEffect(DurableWorkflow.count(Trip.definition))
    await until("one waits", async () => (await phases()).get("Suspended") === 1)
  })
  runs = 0
  return file
})

describe("executions under other code", () => {
  it.live("the same code is the same, with and without the code of now, and nothing runs or is written", () =>
    Effect.gen(function* () {
      const file = yield* stored
      const before = readFileSync(file)
      for (const old of [now, undefined]) {
        const report = yield* judged(file, old, tripOf(now))
        assert.deepInclude(report, { checked: 2, ended: 1, same: 2, differs: 0, held: 0, reasons: [] })
        assert.sameMembers(
          report.flows.map(({ from, to }) => `${from} -> ${to}`),
          ["Suspended (running) -> Suspended (running)", "Completed -> Completed"],
        )
      }
      assert.strictEqual(runs, 0)
      assert.isTrue(before.equals(readFileSync(file)))
    }),
  )

  it.live("a renamed step shows as one that would run again, and the stored one as passed over", () =>
    Effect.gen(function* () {
      const file = yield* stored
      const renamed: Body = async (_, durable) => {
        await Promise.all([durable.step("flight", ran), durable.step("hotel", ran)])
        await durable.step("train", ran)
        return durable.waitForEvent("paid")
      }
      const report = yield* judged(file, now, tripOf(renamed), false)
      assert.deepStrictEqual(reasonsOf(report), [
        "1 differs in Suspended: step taxi is gone, next: step train is new, waits for: event/paid is gone, waits for: sleep event/paid/timeout is gone",
      ])
      const alone = yield* judged(file, undefined, tripOf(renamed), false)
      assert.deepStrictEqual(reasonsOf(alone), ["1 differs in Suspended: next: step train is new"])
      assert.strictEqual(runs, 0)
    }),
  )

  it.live("a step after the wait is the same for those that have not come to it, and not for those that have", () =>
    Effect.gen(function* () {
      const file = yield* stored
      const more: Body = async (input, durable) => {
        const paid = await now(input, durable)
        await durable.step("insure", ran)
        return paid
      }
      const report = yield* judged(file, now, tripOf(more))
      assert.deepInclude(report, { checked: 2, same: 1, differs: 1 })
      assert.deepStrictEqual(reasonsOf(report), ["1 differs in Completed: next: step insure is new, outcome: Completed → Waits"])
      assert.include(
        report.flows.map(({ from, to }) => `${from} -> ${to}`),
        "Completed -> Suspended (running)",
      )
    }),
  )

  it.live("code that throws, that ends, that takes a step twice, or that returns something else differs", () =>
    Effect.gen(function* () {
      const file = yield* stored
      const throws = yield* judged(
        file,
        now,
        tripOf(async () => Promise.reject(new Error("no"))),
      )
      assert.deepInclude(throws, { differs: 2 })
      const ends = yield* judged(
        file,
        undefined,
        tripOf(async () => "at once"),
        false,
      )
      assert.deepStrictEqual(reasonsOf(ends), ["1 differs in Suspended: outcome: Waits → Completed"])
      const other = yield* judged(
        file,
        now,
        tripOf(async (input, durable) => [await now(input, durable)]),
      )
      assert.deepStrictEqual(reasonsOf(other), ["1 differs in Completed: result changes"])
      const twice: Body = async (_, durable) => [await durable.step("flight", ran), await durable.step("flight", ran)]
      const duplicate = yield* judged(file, now, tripOf(twice), false)
      assert.deepInclude(duplicate, { differs: 1 })
    }),
  )

  it.live("a payload that no longer fits, and code that waits for something else than steps, are held", () =>
    Effect.gen(function* () {
      const file = yield* stored
      const unfit = yield* judged(file, now, tripOf(now, Schema.String as never))
      assert.deepInclude(unfit, { checked: 2, held: 2 })
      assert.include(unfit.reasons[0]?.summary ?? "", "its payload: ")
      const stuck = yield* judged(
        file,
        now,
        tripOf(() => new Promise(() => undefined)),
        false,
      )
      assert.deepInclude(stuck, { held: 1 })
      assert.include(stuck.reasons[0]?.summary ?? "", "the code takes no step and does not end within")
    }),
  )

  it.live("code that does something else in each run is judged by the journal alone", () =>
    Effect.gen(function* () {
      const file = yield* stored
      const random: Body = async (input, durable) => [await now(input, durable), Math.random()]
      assert.deepInclude(yield* judged(file, random, tripOf(random)), { checked: 2, same: 2 })
    }),
  )

  it.live("an Effect workflow is judged with its services; its children are read, and nothing is compensated", () =>
    Effect.gen(function* () {
      const file = yield* freshFile
      let compensated = 0
      const Paid = DurableDeferred.make("paid")
      const Child = Workflow.make("child", { payload: { id: Schema.String }, success: Schema.Int, idempotencyKey: ({ id }) => id })
      const Parent = Workflow.make("trip", { payload: { id: Schema.String }, error: Schema.String, idempotencyKey: ({ id }) => id })
      const childLive = Child.toLayer(() => Activity.make({ name: "count", success: Schema.Int, execute: Effect.succeed(7) }))
      const parentLive = ({ fails = false, child = "c" }) =>
        Parent.toLayer(({ id }) =>
          Effect.gen(function* () {
            const prefix = yield* Prefix
            yield* Workflow.withCompensation(Activity.make({ name: `${prefix} book`, execute: Effect.void }), () =>
              Effect.sync(() => {
                compensated++
              }),
            )
            const seven = yield* Child.execute({ id: `${id}-${child}` })
            if (fails) return yield* Effect.fail(`no ${seven}`)
            yield* DurableDeferred.await(Paid)
          }),
        ).pipe(Layer.provide(Layer.succeed(Prefix, "please")))
      yield* Effect.gen(function* () {
        yield* Parent.execute({ id: "p" }, { discard: true })
        const isWaiting = Effect.map(DurableWorkflow.count(Parent), (phases) => phases.get("Suspended") === 1)
        const services = yield* Effect.context<Journal>()
        yield* Effect.promise(() => until("it waits", () => Effect.runPromiseWith(services)(isWaiting)))
      }).pipe(
        Effect.provide(
          Layer.merge(childLive, parentLive({})).pipe(
            Layer.provideMerge(DurableWorkflow.layer()),
            Layer.provideMerge(SqliteStore.layer({ filename: file })),
          ),
        ),
      )
      const judgedBy = (after: { readonly fails?: boolean; readonly child?: string }) =>
        Effect.gen(function* () {
          const reader = yield* JournalReader
          const registered = (layer: ReturnType<typeof parentLive>) =>
            Effect.map(registrationsOf(Layer.build(layer)), (found) => found.get("workflow/trip") ?? assert.fail("it is not registered"))
          const codes = { before: yield* registered(parentLive({})), after: yield* registered(parentLive(after)) }
          const selection = { machine: "workflow/trip", unended: true, ended: undefined }
          return yield* judgeRange(reader, judgeExecutions({ ...codes, whatIf: false }, reader), selection, {}, { findings: 10 })
        }).pipe(Effect.scoped, Effect.provide(readerIn({ _tag: "Sqlite", file })))
      assert.deepInclude(yield* judgedBy({}), { checked: 1, same: 1 })
      assert.deepStrictEqual(reasonsOf(yield* judgedBy({ fails: true })), [
        "1 differs in Suspended: waits for: paid is gone, outcome: Waits → Failed",
      ])
      assert.deepStrictEqual(reasonsOf(yield* judgedBy({ child: "d" })), [
        "1 differs in Suspended: next: execution child/496ccabf20a266e1e559586d2113fc65 is new, waits for: paid is gone",
      ])
      assert.strictEqual(compensated, 0)
    }),
  )
})

class Prefix extends Context.Service<Prefix, string>()("test/Prefix") {}
