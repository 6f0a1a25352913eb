/**
 * Programs written with nothing but Effect's workflow modules. They know no engine: each is run on Effect's own and on ours, in
 * one go and in processes that are killed, and has to come to the same.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { PersistedQueueFactory } from "effect/persistence/PersistedQueue"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as DurableQueue from "effect/workflow/DurableQueue"
import * as Workflow from "effect/workflow/Workflow"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import type { Deeds } from "./Deeds.ts"

export interface Program {
  readonly name: string
  /** Makes its workflows known. */
  readonly workflows: (deeds: Deeds) => Layer.Layer<never, never, WorkflowEngine | PersistedQueueFactory>
  /** What the outside world does to the execution until it ends. Started again after a crash, it continues where it was. */
  readonly drive: Effect.Effect<unknown, unknown, WorkflowEngine>
  readonly result: unknown
  /** The calls at the end, if no process died. The order counts where it is certain. */
  readonly deeds: ReadonlyArray<string>
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `step ${index}`)

const pause = Effect.sleep(20)

/** Asks until the condition holds. */
const until = <A>(poll: Effect.Effect<Option.Option<A>, never, WorkflowEngine>, holds: (value: A) => boolean) =>
  Effect.gen(function* () {
    for (;;) {
      const found = yield* poll
      if (found._tag === "Some" && holds(found.value)) return found.value
      yield* pause
    }
  })

const isSuspended = (result: Workflow.Result<unknown, unknown>) => result._tag === "Suspended"

const isInterrupted = (result: Workflow.Result<unknown, unknown>) =>
  result._tag === "Complete" && Exit.isFailure(result.exit) && Cause.hasInterruptsOnly(result.exit.cause)

const text = {
  payload: { id: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ id }: { id: string }) => id,
}

// Steps

const Sequential = Workflow.make("Sequential", { ...text, success: Schema.Array(Schema.String) })
const sequential: Program = {
  name: "activities one after the other",
  workflows: (deeds) => Sequential.toLayer(() => Effect.forEach(names(8), (name) => deeds.activity(name))),
  drive: Sequential.execute({ id: "one" }),
  result: names(8),
  deeds: names(8),
}

const Parallel = Workflow.make("Parallel", { ...text, success: Schema.Array(Schema.String) })
const parallel: Program = {
  name: "activities side by side",
  workflows: (deeds) => Parallel.toLayer(() => Effect.forEach(names(8), (name) => deeds.activity(name), { concurrency: "unbounded" })),
  drive: Parallel.execute({ id: "one" }),
  result: names(8),
  deeds: names(8),
}

const Retried = Workflow.make("Retried", text)
const retried: Program = {
  name: "an activity that is retried",
  workflows: (deeds) =>
    Retried.toLayer(() =>
      Activity.retry(
        Activity.make({
          name: "flaky",
          success: Schema.String,
          error: Schema.String,
          execute: Effect.gen(function* () {
            const attempt = yield* Activity.CurrentAttempt
            yield* deeds.note(`attempt ${attempt}`)
            yield* pause
            return attempt < 4 ? yield* Effect.fail("not yet") : `at ${attempt}`
          }),
        }),
        { times: 5 },
      ),
    ),
  drive: Retried.execute({ id: "one" }),
  result: "at 4",
  deeds: ["attempt 1", "attempt 2", "attempt 3", "attempt 4"],
}

const Defect = Workflow.make("Defect", text)
const defect: Program = {
  name: "an activity that dies",
  workflows: (deeds) =>
    Defect.toLayer(() =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(
          Activity.make({ name: "dies", execute: Effect.andThen(deeds.note("dies"), Effect.die(new TypeError("cable cut"))) }),
        )
        yield* deeds.activity("after")
        return Exit.isFailure(exit) ? (Cause.squash(exit.cause) as Error).message : "it lived"
      }),
    ),
  drive: Defect.execute({ id: "one" }),
  result: "cable cut",
  deeds: ["dies", "after"],
}

const Raced = Workflow.make("Raced", text)
const raced: Program = {
  name: "raced activities",
  workflows: (deeds) =>
    Raced.toLayer(() =>
      Effect.gen(function* () {
        const winner = yield* Activity.raceAll("race", [
          Activity.make({ name: "slow", success: Schema.String, execute: Effect.as(Effect.sleep("1 minute"), "slow") }),
          deeds.activity("fast"),
        ])
        return `${winner} ${yield* deeds.activity("after")}`
      }),
    ),
  drive: Raced.execute({ id: "one" }),
  result: "fast after",
  deeds: ["fast", "after"],
}

// Waiting

const Sleeping = Workflow.make("Sleeping", text)
const sleeping: Program = {
  name: "durable sleeps",
  workflows: (deeds) =>
    Sleeping.toLayer(() =>
      Effect.gen(function* () {
        yield* deeds.activity("before")
        yield* DurableClock.sleep({ name: "stored", duration: 150, inMemoryThreshold: 0 })
        yield* deeds.activity("between")
        yield* DurableClock.sleep({ name: "in memory", duration: 50 })
        return yield* deeds.activity("after")
      }),
    ),
  drive: Sleeping.execute({ id: "one" }),
  result: "after",
  deeds: ["before", "between", "after"],
}

const Asking = Workflow.make("Asking", text)
const Answer = DurableDeferred.make("answer", { success: Schema.String, error: Schema.String })
const asking = (id: string, answer: Exit.Exit<string, string>) =>
  Effect.gen(function* () {
    const executionId = yield* Asking.execute({ id }, { discard: true })
    const found = yield* until(Asking.poll(executionId), (result) => isSuspended(result) || result._tag === "Complete")
    const token = DurableDeferred.tokenFromExecutionId(Answer, { workflow: Asking, executionId })
    if (isSuspended(found)) yield* DurableDeferred.done(Answer, { token, exit: answer })
    return yield* Effect.catch(Asking.execute({ id }), (error) => Effect.succeed(`failed: ${error}`))
  })
const answered: Program = {
  name: "deferreds that are completed from outside, with a value and with a failure",
  workflows: (deeds) =>
    Asking.toLayer(({ id }) =>
      Effect.gen(function* () {
        yield* deeds.activity(`ask ${id}`)
        const answer = yield* DurableDeferred.await(Answer)
        return `${answer} ${yield* deeds.activity(`thank ${id}`)}`
      }),
    ),
  drive: Effect.all([asking("good", Exit.succeed("yes")), asking("bad", Exit.fail("no"))]),
  result: ["yes thank good", "failed: no"],
  deeds: ["ask good", "thank good", "ask bad"],
}

const Resizing = DurableQueue.make({
  name: "resizing",
  payload: { image: Schema.String },
  success: Schema.String,
  idempotencyKey: ({ image }) => image,
})
const Queued = Workflow.make("Queued", { ...text, success: Schema.Array(Schema.String) })
const queued: Program = {
  name: "a durable queue",
  workflows: (deeds) =>
    Layer.merge(
      Queued.toLayer(() => Effect.forEach(["a.png", "b.png"], (image) => DurableQueue.process(Resizing, { image }))),
      DurableQueue.worker(Resizing, ({ image }) => Effect.as(deeds.note(`resize ${image}`), `small ${image}`)),
    ),
  drive: Queued.execute({ id: "one" }),
  result: ["small a.png", "small b.png"],
  deeds: ["resize a.png", "resize b.png"],
}

const Stubborn = Workflow.make("Stubborn", text).annotate(Workflow.SuspendOnFailure, true)
const suspendedOnFailure: Program = {
  name: "a failure that suspends, and a resume",
  workflows: (deeds) =>
    Stubborn.toLayer(() =>
      Effect.gen(function* () {
        yield* deeds.activity("before")
        return yield* Activity.make({
          name: "picky",
          success: Schema.String,
          error: Schema.String,
          execute: Effect.gen(function* () {
            const times = yield* deeds.noted("try")
            yield* deeds.note("try")
            return times < 2 ? yield* Effect.fail("not in the mood") : "fine"
          }),
        })
      }),
    ),
  drive: Effect.gen(function* () {
    const id = yield* Stubborn.execute({ id: "one" }, { discard: true })
    for (;;) {
      const result = yield* until(Stubborn.poll(id), (found) => isSuspended(found) || found._tag === "Complete")
      if (result._tag === "Complete") return yield* result.exit
      yield* Stubborn.resume(id)
      yield* pause
    }
  }),
  result: "fine",
  deeds: ["before", "try", "try", "try"],
}

// Families

const Parent = Workflow.make("Parent", text)
const Child = Workflow.make("Child", text)
const family: Program = {
  name: "a parent whose child sleeps",
  workflows: (deeds) =>
    Layer.merge(
      Child.toLayer(({ id }) =>
        Effect.gen(function* () {
          yield* deeds.activity(`child ${id} begins`)
          yield* DurableClock.sleep({ name: "nap", duration: 100, inMemoryThreshold: 0 })
          return yield* deeds.activity(`child ${id} ends`)
        }),
      ),
      Parent.toLayer(() =>
        Effect.gen(function* () {
          yield* deeds.activity("parent begins")
          const both = yield* Effect.forEach(["a", "b"], (id) => Child.execute({ id }), { concurrency: "unbounded" })
          yield* deeds.activity("parent ends")
          return both.join()
        }),
      ),
    ),
  drive: Parent.execute({ id: "one" }),
  result: "child a ends,child b ends",
  deeds: ["parent begins", "child a begins", "child b begins", "child a ends", "child b ends", "parent ends"],
}

const Strict = Workflow.make("Strict", text)
const Naughty = Workflow.make("Naughty", text)
const failingChild: Program = {
  name: "a child that fails, handled by one parent and not by the other",
  workflows: (deeds) =>
    Layer.merge(
      Naughty.toLayer(({ id }) => Effect.andThen(deeds.activity(`naughty ${id}`), Effect.fail(`${id} broke it`))),
      Strict.toLayer(({ id }) =>
        id === "mild"
          ? Effect.catch(Naughty.execute({ id: "one" }), (error) => Effect.succeed(`forgiven: ${error}`))
          : Naughty.execute({ id: "two" }),
      ),
    ),
  drive: Effect.all([Strict.execute({ id: "mild" }), Effect.flip(Strict.execute({ id: "strict" }))]),
  result: ["forgiven: one broke it", "two broke it"],
  deeds: ["naughty one", "naughty two"],
}

// Sagas

const Saga = Workflow.make("Saga", text)
const saga: Program = {
  name: "a saga that fails and is compensated, last step first",
  workflows: (deeds) =>
    Saga.toLayer(() =>
      Effect.gen(function* () {
        for (const what of ["flight", "hotel", "car"]) {
          yield* Saga.withCompensation(deeds.activity(`book ${what}`), () => deeds.compensation(`book ${what}`, `cancel ${what}`))
        }
        yield* DurableClock.sleep({ name: "think", duration: 60, inMemoryThreshold: 0 })
        return yield* Effect.fail("the visa was refused")
      }),
    ),
  drive: Effect.flip(Saga.execute({ id: "one" })),
  result: "the visa was refused",
  deeds: ["book flight", "book hotel", "book car", "cancel car", "cancel hotel", "cancel flight"],
}

const Trip = Workflow.make("Trip", text)
const Leg = Workflow.make("Leg", text)
const interrupted: Program = {
  name: "an interrupt, which compensates and goes to the child",
  workflows: (deeds) =>
    Layer.merge(
      Leg.toLayer(() =>
        Effect.gen(function* () {
          yield* Leg.withCompensation(deeds.activity("rail"), () => deeds.compensation("rail", "return rail"))
          yield* DurableClock.sleep({ name: "for ever", duration: "1 hour" })
          return "there"
        }),
      ),
      Trip.toLayer(() =>
        Effect.gen(function* () {
          yield* Trip.withCompensation(deeds.activity("taxi"), () => deeds.compensation("taxi", "return taxi"))
          return yield* Leg.execute({ id: "leg" })
        }),
      ),
    ),
  drive: Effect.gen(function* () {
    const id = yield* Trip.execute({ id: "one" }, { discard: true })
    const leg = yield* Leg.executionId({ id: "leg" })
    const first = yield* until(Trip.poll(id), (result) => isSuspended(result) || result._tag === "Complete")
    if (isSuspended(first)) yield* until(Leg.poll(leg), (result) => isSuspended(result) || result._tag === "Complete")
    yield* Trip.interrupt(id)
    const trip = yield* until(Trip.poll(id), (result) => result._tag === "Complete")
    const child = yield* until(Leg.poll(leg), (result) => result._tag === "Complete")
    return [isInterrupted(trip), isInterrupted(child)]
  }),
  result: [true, true],
  deeds: ["taxi", "rail", "return taxi", "return rail"],
}

const Keyed = Workflow.make("Keyed", { ...text, payload: { id: Schema.String, caller: Schema.Int } })
const keyed: Program = {
  name: "ten callers with one key",
  workflows: (deeds) => Keyed.toLayer(() => deeds.activity("only once")),
  drive: Effect.map(
    Effect.forEach(Array.from({ length: 10 }), (_, caller) => Keyed.execute({ id: "same", caller }), { concurrency: "unbounded" }),
    (all) => [...new Set(all)],
  ),
  result: ["only once"],
  deeds: ["only once"],
}

export const programs: ReadonlyArray<Program> = [
  sequential,
  parallel,
  retried,
  defect,
  raced,
  sleeping,
  answered,
  queued,
  suspendedOnFailure,
  family,
  failingChild,
  saga,
  interrupted,
  keyed,
]
