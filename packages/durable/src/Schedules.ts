/**
 * Schedules: start instances, executions and commands at nominal times, each exactly once.
 *
 * ```ts
 * const schedules = Schedules.layer({ schedules: [closeOverdue] }).pipe(Layer.provide(engine))
 * yield* (yield* Schedules).trigger("close-overdue")
 * ```
 */
import type { InvalidState, PersistenceFailed, SendError } from "@detent/machine"
import { type Commands, Journal } from "@detent/store"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { Engine } from "./Engine.ts"
import type { InstanceNotFound } from "./errors.ts"
import type { Instance, ReadError } from "./Instance.ts"
import { SharedResults } from "./runtime/SharedResults.ts"
import { Calendars, dueTimes } from "./schedule/Calendar.ts"
import {
  definitionOf,
  instantText,
  nameOf,
  type Schedule,
  type ScheduleDefinition,
  type ScheduleSettings,
  type ScheduleTarget,
  timingOf,
} from "./schedule/Schedule.ts"
import { type RunRecord, ScheduleEvent, type ScheduleState, scheduleMachine, scheduleMachineName } from "./schedule/ScheduleMachine.ts"
import { makeStarter, type RunStatus, statusOf } from "./schedule/Starter.ts"

export {
  type CatchUp,
  type Overlap,
  type Schedule,
  type ScheduleDefinition,
  type ScheduledTime,
  type ScheduleSettings,
  type ScheduleTarget,
  schedule,
  scheduleTarget,
  type TimingOptions,
} from "./schedule/Schedule.ts"
export type { RunReason, RunRecord, RunTarget } from "./schedule/ScheduleMachine.ts"
export { scheduleMachineName } from "./schedule/ScheduleMachine.ts"
export type { RunStatus } from "./schedule/Starter.ts"
export { enqueue, runWorkflow, type StartRequest, startInstance } from "./schedule/StartRequest.ts"

/** No schedule has this name. */
export class ScheduleNotFound extends Schema.TaggedError<ScheduleNotFound>()("ScheduleNotFound", { name: Schema.String }) {
  override get message() {
    return `there is no schedule ${this.name}`
  }
}

/** A schedule cannot be created or changed like this. Nothing was stored. */
export class ScheduleRefused extends Schema.TaggedError<ScheduleRefused>()("ScheduleRefused", {
  name: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `schedule ${this.name}: ${this.problem}; ${this.nextStep}`
  }
}

/** Times of a backfill. */
export const mostBackfilled = 1000

/** A run with what has become of it. */
export interface RunInfo extends RunRecord {
  /** Of what it started; absent where it started nothing. */
  readonly status?: RunStatus
}

export interface ScheduleInfo {
  readonly name: string
  readonly status: "active" | "paused"
  readonly definition: ScheduleDefinition
  /** Whether code of this process declares what it starts. */
  readonly isDeclared: boolean
  /** The next nominal times; none while it is paused. */
  readonly next: ReadonlyArray<number>
  /** The latest runs, newest first. */
  readonly runs: ReadonlyArray<RunInfo>
  /** Times that wait for their start. */
  readonly waiting: number
  /** The start that is under way, and since when. */
  readonly current: { readonly at: number; readonly since: number } | undefined
  readonly started: number
  readonly skipped: number
  readonly failed: number
}

export interface SchedulePage {
  /** By name. */
  readonly schedules: ReadonlyArray<ScheduleInfo>
  /** The name after which the next page begins. */
  readonly next: string | undefined
}

export interface NewSchedule {
  /** The name of a declared target. */
  readonly target: string
  readonly input?: Schema.Json
}

export interface ChangeOptions {
  /** A repeated change under the same id is made once. */
  readonly id?: string
}

export type ScheduleError = ScheduleNotFound | InvalidState | ReadError | SendError | InstanceNotFound

export interface SchedulesService {
  list(options?: { readonly limit?: number; readonly after?: string }): Effect.Effect<SchedulePage, ReadError>
  get(name: string): Effect.Effect<ScheduleInfo, ScheduleNotFound | ReadError>
  /** Creates or changes a schedule while the program runs. It starts a target that the code declares. Its earlier runs stay. */
  define(
    name: string,
    settings: ScheduleSettings & NewSchedule,
    options?: ChangeOptions,
  ): Effect.Effect<void, ScheduleRefused | ScheduleError>
  /** Starts nothing until `resume`. Times in between are not made up for. */
  pause(name: string, options?: ChangeOptions): Effect.Effect<void, ScheduleError>
  resume(name: string, options?: ChangeOptions): Effect.Effect<void, ScheduleError>
  /** Starts a run now, also while the schedule is paused. */
  trigger(name: string, options?: ChangeOptions): Effect.Effect<void, ScheduleError>
  /** Starts the nominal times of a range in the past one after another, except those that were started. Returns how many there are. */
  backfill(
    name: string,
    range: { readonly from: number; readonly through: number },
    options?: ChangeOptions,
  ): Effect.Effect<number, ScheduleRefused | ScheduleError>
  /** Removes a schedule. A schedule that code declares comes back at the next start of a process that declares it. */
  remove(name: string, options?: ChangeOptions): Effect.Effect<void, ScheduleError>
  /** The names of the targets that this process declares. */
  readonly targets: ReadonlyArray<string>
}

export interface SchedulesOptions {
  readonly schedules?: ReadonlyArray<Schedule>
  /** What schedules that are created while the program runs may start. */
  readonly targets?: ReadonlyArray<ScheduleTarget>
  /** Only reads and changes stored schedules: the declared ones are not stored, and nothing is started here. Default: false. */
  readonly observe?: boolean
}

type State = typeof ScheduleState.Type
type Handle = Instance<State, typeof ScheduleEvent.Type>

export class Schedules extends Context.Service<Schedules, SchedulesService>()("@detent/durable/Schedules") {
  /** Registers the schedules with the engine, and stores those that are new or have changed. */
  static readonly layer = (
    options: SchedulesOptions,
  ): Layer.Layer<Schedules, PersistenceFailed | ScheduleError | ScheduleRefused, Engine | Journal | Commands> =>
    Layer.effect(Schedules, make(options))
}

const make = ({ schedules = [], targets = [], observe = false }: SchedulesOptions) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const services = yield* Effect.context<Engine | Journal | Commands>()
    const calendars = new Calendars()
    const declared = {
      schedules: yield* byName("schedule", schedules),
      targets: yield* byName("schedule target", targets),
      workflows: Option.getOrUndefined(yield* Effect.serviceOption(WorkflowEngine)),
    }
    const starter = makeStarter(declared, calendars)
    const machine = scheduleMachine(calendars, (parameters) => Effect.provideContext(starter(parameters), services))
    // Without declared schedules, the machine is registered when a stored schedule is first used.
    const registrations = new SharedResults<void, PersistenceFailed>(yield* Effect.scope, 1)
    const registered = registrations.get(machine.name, engine.register(machine))
    if (schedules.length > 0 || targets.length > 0) yield* registered

    const handleOf = (name: string): Effect.Effect<Handle, ScheduleNotFound | PersistenceFailed> =>
      Effect.flatMap(
        Effect.andThen(registered, engine.get(machine, name)),
        Option.match({ onNone: () => Effect.fail(new ScheduleNotFound({ name })), onSome: Effect.succeed }),
      )
    /** The instance of a schedule that is not removed, with its state. */
    const existing = (name: string) =>
      Effect.gen(function* () {
        const handle = yield* handleOf(name)
        const { state } = yield* handle.stored
        if (state._tag === "New" || state._tag === "Removed") return yield* new ScheduleNotFound({ name })
        return { handle, state }
      })
    const change = (name: string, event: typeof ScheduleEvent.Type, { id }: ChangeOptions = {}) =>
      Effect.flatMap(existing(name), ({ handle }) => handle.send(event, id === undefined ? {} : { id }))
    const store = (name: string, definition: ScheduleDefinition, { id }: ChangeOptions = {}) =>
      Effect.gen(function* () {
        const handle: Handle = yield* engine.ensure(machine, name, name)
        const { state } = yield* handle.stored
        const isKnown = (state._tag === "Active" || state._tag === "Paused") && isSame(state.definition, definition)
        if (!isKnown) yield* handle.send(ScheduleEvent.Define({ definition }), id === undefined ? {} : { id })
      })
    if (!observe) yield* Effect.forEach(schedules, ({ name, definition }) => store(name, definition), { concurrency: 64, discard: true })

    const infoOf = ({ name, definition, next, runs, waiting, current, started, skipped, failed, _tag }: Existing, nextTimes: number) =>
      Effect.gen(function* () {
        const { target } = definition
        return {
          name,
          status: _tag === "Active" ? "active" : "paused",
          definition,
          isDeclared: target === undefined ? declared.schedules.has(name) : declared.targets.has(target.name),
          next: next === undefined ? [] : upcoming(definition, next, nextTimes),
          runs: yield* Effect.forEach(runs, withStatus, { concurrency: 8 }),
          waiting: waiting.length,
          current,
          started,
          skipped,
          failed,
        } satisfies ScheduleInfo as ScheduleInfo
      })
    const upcoming = (definition: ScheduleDefinition, next: number, count: number): ReadonlyArray<number> => {
      const calendar = Result.getOrUndefined(calendars.of(timingOf(definition)))
      const times = [next]
      while (calendar !== undefined && times.length < count) {
        const following = calendar.next(times.at(-1) as number)
        if (following === undefined) break
        times.push(following)
      }
      return times
    }
    const withStatus = (run: RunRecord) =>
      run.target === undefined
        ? Effect.succeed<RunInfo>(run)
        : Effect.map(Effect.provideContext(statusOf(run.target), services), (status): RunInfo => ({ ...run, status }))

    return Schedules.of({
      list: ({ limit = 100, after } = {}) =>
        Effect.gen(function* () {
          const journal = yield* Journal
          const size = Math.max(1, Math.min(limit, 1000))
          const page = yield* journal.page({ machine: scheduleMachineName }, size, after)
          // One that cannot be replayed is listed with the held instances.
          const readable = ({ id }: { readonly id: string }) =>
            Effect.catchTag(existing(id), ["ScheduleNotFound", "InstanceNotFound", "EventReplayError"], () => Effect.undefined)
          const states = yield* Effect.forEach(page, readable, { concurrency: 16 })
          const found = states.flatMap((one) => (one === undefined ? [] : [{ ...one.state, runs: one.state.runs.slice(0, 1) }]))
          return {
            schedules: yield* Effect.forEach(found, (state) => infoOf(state, 1), { concurrency: 16 }),
            next: page.length < size ? undefined : page.at(-1)?.id,
          }
        }).pipe(Effect.provideContext(services)),
      get: (name) => Effect.flatMap(existing(name), ({ state }) => infoOf(state, 5)),
      define: (name, { target, input, ...settings }, options) =>
        Effect.gen(function* () {
          const refuse = (problem: string, nextStep: string) => new ScheduleRefused({ name, problem, nextStep })
          const made = Result.flatMap(nameOf(name), () => definitionOf(settings))
          if (Result.isFailure(made)) return yield* refuse(made.failure.problem, made.failure.nextStep)
          if (declared.schedules.has(name)) return yield* refuse("the code declares it", "change the code, or choose another name")
          const known = declared.targets.get(target)
          if (known === undefined) {
            const names = [...declared.targets.keys()].join(", ") || "none"
            return yield* refuse(`there is no target ${target}`, `declare it with scheduleTarget; the declared targets are: ${names}`)
          }
          const problem = known.problemOf(input ?? {})
          if (problem !== undefined) return yield* refuse(`its input does not fit: ${problem}`, "correct the input")
          yield* store(name, { ...made.success, target: { name: target, input: input ?? {} } }, options)
        }),
      pause: (name, options) => change(name, ScheduleEvent.Pause(), options),
      resume: (name, options) => change(name, ScheduleEvent.Resume(), options),
      trigger: (name, options) => change(name, ScheduleEvent.Trigger(), options),
      backfill: (name, { from, through }, options) =>
        Effect.gen(function* () {
          const { state } = yield* existing(name)
          const refuse = (problem: string, nextStep: string) => new ScheduleRefused({ name, problem, nextStep })
          const now = yield* Effect.flatMap(Journal, (journal) => journal.clock)
          if (!(Number.isSafeInteger(from) && Number.isSafeInteger(through) && from <= through))
            return yield* refuse("the range of the backfill ends before it begins", "give from and to in this order")
          if (through > now) return yield* refuse("the range of the backfill ends in the future", "end it at a time that has passed")
          const calendar = Result.getOrUndefined(calendars.of(timingOf(state.definition)))
          const first = calendar?.next(from - 1)
          if (calendar === undefined || first === undefined || first > through) return 0
          const { count } = dueTimes(calendar, first, (at) => at <= through, through, mostBackfilled)
          if (count > mostBackfilled)
            return yield* refuse(
              `the range has more than ${mostBackfilled} times`,
              `backfill it in parts, the first from ${instantText(first)}`,
            )
          yield* change(name, ScheduleEvent.Backfill({ from, through }), options)
          return count
        }).pipe(Effect.provideContext(services)),
      remove: (name, options) => change(name, ScheduleEvent.Remove(), options),
      targets: [...declared.targets.keys()],
    })
  })

type Existing = Extract<State, { readonly _tag: "Active" | "Paused" }>

const isSame = (left: ScheduleDefinition, right: ScheduleDefinition): boolean => {
  const comparable = ({ cron, timezone, everyMillis, overlap, catchUp, jitterMillis, target }: ScheduleDefinition) =>
    JSON.stringify([cron, timezone, everyMillis, overlap, catchUp, jitterMillis, target?.name, target?.input])
  return comparable(left) === comparable(right)
}

const byName = <A extends { readonly name: string }>(what: string, all: ReadonlyArray<A>) =>
  Effect.suspend(() => {
    const known = new Map<string, A>()
    for (const one of all) {
      if (known.has(one.name))
        return Effect.fail(
          new ScheduleRefused({ name: one.name, problem: `there are two of this ${what}`, nextStep: "rename one of them" }),
        )
      known.set(one.name, one)
    }
    return Effect.succeed(known as ReadonlyMap<string, A>)
  })
