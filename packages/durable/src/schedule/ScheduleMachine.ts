/**
 * The machine of schedules: an instance per schedule, with one timer for its next nominal time. The commit that handles the timer puts
 * every time that has come into the state and requests the first start, so that each time is started once, whatever is killed when.
 *
 * Starts of one schedule follow each other: `current` is the one that is requested and has no outcome, the others wait in the state. A
 * start that finds the run before still running reports `Busy`; the overlap policy says what happens then.
 */
import { Event, Machine, RetryPolicy, Slot, State, stay } from "@detent/machine"
import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Calendar, type Calendars, dayText, dueTimes } from "./Calendar.ts"
import { instantText, ScheduleDefinition, timingOf } from "./Schedule.ts"

export const scheduleMachineName = "schedule"

/** The runs that a schedule remembers. */
const keptRuns = 20

/** Nominal times that wait for their start. */
export const mostWaiting = 100

/** A time that is handled later than this counts as missed, for the catch-up policy `none`. */
const missedMillis = 60_000

/** A start without an outcome for longer than its retries last: an operator has skipped its command. */
const lostMillis = 2 * 86_400_000

const Reason = Schema.Literals(["time", "trigger", "backfill"])
export type RunReason = typeof Reason.Type

/** What a run has started. */
export const RunTarget = Schema.Struct({
  kind: Schema.Literals(["instance", "execution", "command"]),
  /** Its machine, workflow or queue. */
  name: Schema.String,
  id: Schema.String,
})
export type RunTarget = typeof RunTarget.Type

const planned = { at: Schema.Int, reason: Reason }

const Planned = Schema.Struct(planned)
type Planned = typeof Planned.Type

export const RunRecord = Schema.Struct({
  ...planned,
  outcome: Schema.Literals(["started", "skipped", "failed"]),
  /** When the outcome was recorded. */
  decidedAt: Schema.Int,
  target: Schema.optionalKey(RunTarget),
  /** Why it was skipped or has failed. */
  problem: Schema.optionalKey(Schema.String),
})
export type RunRecord = typeof RunRecord.Type

const fields = {
  name: Schema.String,
  definition: ScheduleDefinition,
  /** The next nominal time; absent while the schedule is paused. */
  next: Schema.optionalKey(Schema.Int),
  current: Schema.optionalKey(Schema.Struct({ ...planned, since: Schema.Int, requestedAt: Schema.Int })),
  waiting: Schema.Array(Planned),
  /** Ranges of past times that are started one after another: the next time of each, and its end. */
  backfills: Schema.Array(Schema.Struct({ next: Schema.Int, through: Schema.Int })),
  /** What the last run started. */
  last: Schema.optionalKey(RunTarget),
  /** The latest runs, newest first. */
  runs: Schema.Array(RunRecord),
  started: Schema.Int,
  skipped: Schema.Int,
  failed: Schema.Int,
}

export const ScheduleState = State({ New: { name: Schema.String }, Active: fields, Paused: fields, Removed: fields })
type Data = Omit<typeof ScheduleState.Active.Type, "_tag">

const outcome = { at: Schema.Int, reason: Reason }

export const ScheduleEvent = Event({
  Define: { definition: ScheduleDefinition },
  Due: { at: Schema.Int },
  Recheck: {},
  Started: { ...outcome, target: RunTarget },
  Busy: { ...outcome, problem: Schema.String },
  Failed: { ...outcome, problem: Schema.String },
  Pause: {},
  Resume: {},
  Trigger: {},
  Backfill: { from: Schema.Int, through: Schema.Int },
  Remove: {},
})

/** The start was refused: a repetition would be refused too. */
export class StartRefused extends Schema.TaggedError<StartRefused>()("StartRefused", {
  schedule: Schema.String,
  at: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `schedule ${this.schedule} cannot start its run of ${this.at}: ${this.problem}`
  }
}

const StartOutcome = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Started"), target: RunTarget }),
  Schema.Struct({ _tag: Schema.tag("Busy"), problem: Schema.String }),
])
export type StartOutcome = typeof StartOutcome.Type

const startFields = {
  ...planned,
  name: Schema.String,
  definition: ScheduleDefinition,
  /** What the run before started. */
  previous: Schema.optionalKey(RunTarget),
}

export interface StartParameters extends Planned {
  readonly name: string
  readonly definition: ScheduleDefinition
  readonly previous?: RunTarget
}

const effects = Slot.Effects({ start: Slot.effect(startFields, { success: StartOutcome, failure: StartRefused }) })

/** A process of an older version may not declare the schedule yet, so attempts are no more than a minute apart. They last about a day. */
const startRetry = RetryPolicy.exponential({ maxDelay: "1 minute", jitter: 0.1, maxAttempts: 1450 })

const S = ScheduleState
const E = ScheduleEvent

/** What a decision does besides changing the data. */
interface Actions {
  readonly at: number
  readonly effects: { readonly start: (parameters: StartParameters) => void }
  readonly after: (name: string, millis: number, event: typeof ScheduleEvent.Type) => void
  readonly cancel: (name: string) => void
}

/** The machine, with the handler that starts a run. */
export const scheduleMachine = (
  calendars: Calendars,
  start: (parameters: StartParameters) => Effect.Effect<StartOutcome, StartRefused>,
) => {
  const calendarOf = ({ definition }: Data): Calendar => Result.getOrElse(calendars.of(timingOf(definition)), () => never)
  const rules = new Rules(calendarOf)
  return Machine.make({
    name: scheduleMachineName,
    state: S,
    event: E,
    effects,
    initial: (name: string) => S.New({ name }),
    initialState: S.New,
  })
    .on(S.New, E.Define, S.Active, (context) =>
      S.Active(rules.arm({ ...fresh, name: context.state.name, definition: context.event.definition }, context.at, context)),
    )
    .on(S.Active, E.Define, S.Active, (context) => S.Active(rules.define(context.state, context.event.definition, context)))
    .on(S.Paused, E.Define, S.Paused, ({ state, event }) => S.Paused({ ...state, definition: event.definition }))
    .on(S.Removed, E.Define, S.Active, (context) =>
      S.Active(rules.arm({ ...context.state, definition: context.event.definition }, context.at, context)),
    )
    .on(S.Active, E.Due, S.Active, (context) => S.Active(rules.due(context.state, context.event.at, context)))
    .on([S.Paused, S.Removed], E.Due, stay)
    .on(S.Active, E.Pause, S.Paused, (context) => S.Paused(rules.pause(context.state, context)))
    .on(S.Paused, E.Pause, stay)
    .on(S.Paused, E.Resume, S.Active, (context) => S.Active(rules.arm(context.state, context.at, context)))
    .on(S.Active, E.Resume, stay)
    .on(S.Active, E.Recheck, S.Active, (context) => S.Active(rules.recheck(context.state, context)))
    .on(S.Paused, E.Recheck, S.Paused, (context) => S.Paused(rules.recheck(context.state, context)))
    .on(S.Removed, E.Recheck, stay)
    .on(S.Active, E.Started, S.Active, (context) => S.Active(rules.started(context.state, context.event, context)))
    .on(S.Paused, E.Started, S.Paused, (context) => S.Paused(rules.started(context.state, context.event, context)))
    .on(S.Removed, E.Started, S.Removed, (context) => S.Removed(rules.started(context.state, context.event, context)))
    .on(S.Active, E.Busy, S.Active, (context) => S.Active(rules.busy(context.state, context.event, context)))
    .on(S.Paused, E.Busy, S.Paused, (context) => S.Paused(rules.busy(context.state, context.event, context)))
    .on(S.Removed, E.Busy, S.Removed, (context) => S.Removed(rules.skipped(context.state, context.event, context)))
    .on(S.Active, E.Failed, S.Active, (context) => S.Active(rules.failed(context.state, context.event, context)))
    .on(S.Paused, E.Failed, S.Paused, (context) => S.Paused(rules.failed(context.state, context.event, context)))
    .on(S.Removed, E.Failed, S.Removed, (context) => S.Removed(rules.failed(context.state, context.event, context)))
    .on(S.Active, E.Trigger, S.Active, (context) => S.Active(rules.trigger(context.state, context)))
    .on(S.Paused, E.Trigger, S.Paused, (context) => S.Paused(rules.trigger(context.state, context)))
    .on(S.Active, E.Backfill, S.Active, (context) => S.Active(rules.backfill(context.state, context.event, context)))
    .on(S.Paused, E.Backfill, S.Paused, (context) => S.Paused(rules.backfill(context.state, context.event, context)))
    .on([S.Active, S.Paused], E.Remove, S.Removed, ({ state, cancel }) => {
      cancel("next")
      cancel("recheck")
      return S.Removed({ ...withoutNext(state), waiting: [], backfills: [] })
    })
    .on(S.Removed, E.Remove, stay)
    .commands({
      start: {
        retry: startRetry,
        retryable: () => false,
        onSuccess: (result, { parameters: { at, reason } }) =>
          result._tag === "Started" ? E.Started({ at, reason, target: result.target }) : E.Busy({ at, reason, problem: result.problem }),
        onFailure: (error, { parameters: { at, reason } }) => E.Failed({ at, reason, problem: error.problem.slice(0, 500) }),
      },
    })
    .persist({ snapshot: { _tag: "EveryTransition" }, keepJournal: false })
    .build({ start })
}

/** A definition is stored only after its calendar was made once. */
const never: Calendar = { next: () => undefined, day: dayText }

const fresh = { waiting: [], backfills: [], runs: [], started: 0, skipped: 0, failed: 0 } as const

/** A run that started nothing, and why. */
type Unstarted = Planned & { readonly problem: string }

/** The rules of schedules: each returns the data after an event. */
class Rules {
  readonly #calendarOf: (data: Data) => Calendar

  constructor(calendarOf: (data: Data) => Calendar) {
    this.#calendarOf = calendarOf
  }

  /** Sets the timer for the first nominal time after an instant. */
  arm(data: Data, after: number, actions: Actions): Data {
    const next = this.#calendarOf(data).next(after)
    if (next === undefined) return withoutNext(data)
    this.#setTimer(data, next, actions)
    return { ...data, next }
  }

  #setTimer(data: Data, next: number, actions: Actions) {
    actions.after("next", Math.max(0, next + jitterOf(data, next) - actions.at), E.Due({ at: next }))
  }

  /** Times that have come are those of the definition before. A definition with the same times keeps the timer. */
  define(data: Data, definition: ScheduleDefinition, actions: Actions): Data {
    const settled = this.#settle(data, actions.at, actions)
    const isSame =
      JSON.stringify(timingOf(settled.definition)) === JSON.stringify(timingOf(definition)) &&
      settled.definition.jitterMillis === definition.jitterMillis
    const changed = { ...settled, definition }
    return this.#pump(isSame ? changed : this.arm(changed, actions.at, actions), actions)
  }

  /** The timer may fire a little early: the store decides which timers are due, and its clock may be a moment ahead. */
  due(data: Data, nominal: number, actions: Actions): Data {
    return this.#pump(this.#settle(data, Math.max(actions.at, nominal + jitterOf(data, nominal)), actions), actions)
  }

  pause(data: Data, actions: Actions): Data {
    const settled = this.#settle(data, actions.at, actions)
    actions.cancel("next")
    return this.#pump(withoutNext(settled), actions)
  }

  /** Takes the nominal times that have come, and sets the timer for the next one. */
  #settle(data: Data, now: number, actions: Actions): Data {
    const { next } = data
    if (next === undefined || next + jitterOf(data, next) > now) return data
    const due = dueTimes(this.#calendarOf(data), next, (at) => at + jitterOf(data, at) <= now, now, mostWaiting)
    const latest = due.times.at(-1) as number
    const { catchUp } = data.definition
    const isMissed = now - latest - jitterOf(data, latest) > missedMillis
    const run = catchUp === "all" ? due.times : catchUp === "none" && isMissed ? [] : [latest]
    const skipped = due.count - run.length
    const lastSkipped = due.times.at(-1 - run.length) ?? due.first
    const problem = `${skipped === 1 ? "it was" : `${skipped} times until then were`} missed while no process ran, and catchUp is ${catchUp}`
    const recorded =
      skipped === 0 ? data : withRun(data, { at: lastSkipped, reason: "time", outcome: "skipped", decidedAt: now, problem }, skipped)
    return this.arm(
      this.#wait(
        recorded,
        run.map((at) => ({ at, reason: "time" as const })),
        now,
      ),
      latest,
      actions,
    )
  }

  /** Adds times that wait for their start. */
  #wait(data: Data, added: ReadonlyArray<Planned>, now: number): Data {
    let changed = data
    let waiting = data.waiting
    for (const one of added) {
      if (data.definition.overlap === "cancelPrevious") {
        for (const replaced of waiting) changed = withRun(changed, skippedRun(replaced, now, replacedByLater))
        waiting = [one]
      } else if (waiting.length >= mostWaiting) {
        changed = withRun(changed, skippedRun(one, now, `${mostWaiting} times wait already`))
      } else waiting = [...waiting, one]
    }
    return { ...changed, waiting }
  }

  /** Requests the next start, if none is under way. */
  #pump(given: Data, actions: Actions): Data {
    let data = given
    if (data.current !== undefined) {
      if (actions.at - data.current.requestedAt < lostMillis) return data
      data = withoutCurrent(withRun(data, { ...runOf(data.current), outcome: "failed", decidedAt: actions.at, problem: lost }))
    }
    const [first, ...waiting] = data.waiting
    if (first !== undefined) return this.#request({ ...data, waiting }, first, actions)
    const [range, ...others] = data.backfills
    if (range === undefined) return data
    const next = this.#calendarOf(data).next(range.next)
    const backfills = next === undefined || next > range.through ? others : [{ ...range, next }, ...others]
    return this.#request({ ...data, backfills }, { at: range.next, reason: "backfill" }, actions)
  }

  #request(data: Data, { at, reason }: Planned, actions: Actions): Data {
    const { name, definition, last } = data
    actions.effects.start({ at, reason, name, definition, ...(last === undefined ? {} : { previous: last }) })
    const since = data.current?.at === at ? data.current.since : actions.at
    return { ...data, current: { at, reason, since, requestedAt: actions.at } }
  }

  started(data: Data, { at, reason, target }: Planned & { readonly target: RunTarget }, actions: Actions): Data {
    const recorded = withRun(data, { at, reason, outcome: "started", decidedAt: actions.at, target })
    return this.#next({ ...recorded, last: target }, at, actions)
  }

  skipped(data: Data, run: Unstarted, actions: Actions): Data {
    return this.#ended(data, { ...run, outcome: "skipped", decidedAt: actions.at }, actions)
  }

  failed(data: Data, run: Unstarted, actions: Actions): Data {
    return this.#ended(data, { ...run, outcome: "failed", decidedAt: actions.at }, actions)
  }

  #ended(data: Data, { at, reason, outcome, decidedAt, problem }: RunRecord & Unstarted, actions: Actions): Data {
    return this.#next(withRun(data, { at, reason, outcome, decidedAt, problem }), at, actions)
  }

  /** The run before has not ended. Backfilled times wait for each other: none of them is skipped. */
  busy(data: Data, event: Unstarted, actions: Actions): Data {
    if (data.definition.overlap === "skip" && event.reason !== "backfill") return this.skipped(data, event, actions)
    if (data.current?.at !== event.at) return data
    const waited = actions.at - data.current.since
    actions.after("recheck", Math.min(30_000, Math.max(200, waited / 10)), E.Recheck())
    return data
  }

  recheck(data: Data, actions: Actions): Data {
    const { current } = data
    if (current === undefined) return this.#pump(data, actions)
    if (data.definition.overlap === "cancelPrevious" && data.waiting.length > 0) {
      return this.skipped(data, { ...runOf(current), problem: replacedByLater }, actions)
    }
    return this.#request(data, runOf(current), actions)
  }

  /** A whole second could be a nominal time: the id of a run that is triggered by hand is never that of another run. */
  trigger(data: Data, actions: Actions): Data {
    const taken = (at: number) =>
      at % 1000 === 0 || [...data.runs, ...data.waiting, ...(data.current ? [data.current] : [])].some((run) => run.at === at)
    let at = actions.at
    while (taken(at)) at++
    return this.#pump(this.#wait(data, [{ at, reason: "trigger" }], actions.at), actions)
  }

  backfill(data: Data, { from, through }: { readonly from: number; readonly through: number }, actions: Actions): Data {
    const next = this.#calendarOf(data).next(from - 1)
    if (next === undefined || next > through) return data
    return this.#pump({ ...data, backfills: [...data.backfills, { next, through }] }, actions)
  }

  #next(data: Data, at: number, actions: Actions): Data {
    // The result of a dead letter that an operator retried is recorded, and changes nothing else.
    if (data.current?.at !== at) return data
    return this.#pump(withoutCurrent(data), actions)
  }
}

const withoutNext = <D extends Data>({ next: _, ...data }: D): Omit<D, "next"> => data

const replacedByLater = "a later time replaced it"

const lost = "its start has no outcome: its command was skipped"

const runOf = ({ at, reason }: Planned): Planned => ({ at, reason })

const skippedRun = ({ at, reason }: Planned, decidedAt: number, problem: string): RunRecord => ({
  at,
  reason,
  outcome: "skipped",
  decidedAt,
  problem,
})

const withoutCurrent = ({ current: _, ...data }: Data): Data => data

const withRun = (data: Data, run: RunRecord, count = 1): Data => ({
  ...data,
  [run.outcome]: data[run.outcome] + count,
  runs: [run, ...data.runs].slice(0, keptRuns),
})

/** Follows from name and time, so that it is the same in every process and after a restart. */
const jitterOf = ({ name, definition: { jitterMillis } }: Pick<Data, "name" | "definition">, at: number): number => {
  if (jitterMillis === 0) return 0
  let hash = 2_166_136_261
  for (const character of `${name}@${instantText(at)}`) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619)
  return (hash >>> 0) % jitterMillis
}
