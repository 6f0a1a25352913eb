/**
 * Sends one event to every instance that meets conditions. The job is an instance itself: it resumes after a restart, is watched and
 * cancelled like any other instance, and sends to each instance once, with a dedupe id of the job.
 */
import { Engine, type InstanceRecord, Journal } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { optional } from "../optional.ts"
import { CurrentAttempt } from "../RequestKeys.ts"
import { bulkMachine } from "../Systems.ts"
import { findMachine } from "./find.ts"
import { condition, type InstanceConditions } from "./instanceList.ts"
import { preview, send } from "./instances.ts"

/** Instances that are examined together. */
const pageSize = 500

/** Events that are sent concurrently. */
const concurrency = 32

/** The most problems that a job keeps. */
const keptProblems = 20

/** Instances that a dry run examines. */
const mostCounted = 100_000

const sampleSize = 10

/** Instances on which a dry run decides the event. */
const mostPreviewed = 1000

const conditions = {
  machine: Schema.String,
  state: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  status: Schema.optionalKey(Schema.Literals(["running", "final", "stopped", "held", "failed"])),
  search: Schema.optionalKey(Schema.String),
  updatedAfter: Schema.optionalKey(Schema.Int),
  updatedBefore: Schema.optionalKey(Schema.Int),
}

export const BulkConditions = Schema.Struct(conditions)
export type BulkConditions = typeof BulkConditions.Type

const Problem = Schema.Struct({ id: Schema.String, problem: Schema.String })

const progress = {
  /** How many instances took the event. */
  sent: Schema.Int,
  /** How many instances refused the event. */
  refused: Schema.Int,
  /** The first refusals. */
  problems: Schema.Array(Problem),
  /** All instances up to this id are done. */
  after: Schema.optionalKey(Schema.String),
}

const job = {
  filter: BulkConditions,
  /** The name of the event. */
  event: Schema.String,
  fields: State.sensitive(Schema.Record(Schema.String, Schema.Json)),
  /** Why it is sent. */
  reason: Schema.optionalKey(Schema.String),
  ...progress,
}

const S = State({ Sending: job, Done: job, Cancelled: job })

const E = Event({ Progressed: progress, Finish: {}, Cancel: {} })

interface BulkInput {
  readonly filter: BulkConditions
  readonly event: { readonly _tag: string } & { readonly [name: string]: Schema.Json }
  readonly reason?: string
}

type Counts = Schema.Struct.Type<typeof progress>

/** The machine of these jobs. */
export const BulkSend = Machine.make({
  name: bulkMachine,
  state: S,
  event: E,
  initial: ({ filter, event: { _tag, ...fields }, reason }: BulkInput) =>
    S.Sending({ filter, event: _tag, fields, ...optional({ reason }), sent: 0, refused: 0, problems: [] }),
})
  .on(S.Sending, E.Progressed, S.Sending, ({ state, event: { _tag, ...counts } }) => S.Sending({ ...state, ...counts }))
  .on(S.Sending, E.Finish, S.Done)
  .on(S.Sending, E.Cancel, S.Cancelled)
  .spawn(S.Sending, ({ state, self }) =>
    Effect.gen(function* () {
      yield* sendAll(self.id, state, (counts) => self.send(E.Progressed(counts)))
      yield* self.send(E.Finish())
    }),
  )
  .final(S.Done, S.Cancelled)

type Job = typeof S.Sending.Type

/** The next page of the machine's instances after an id, reduced to those that meet the conditions. */
const matching = Effect.fnUntraced(function* (filter: BulkConditions, after: string | undefined) {
  const fits = yield* condition(filter)
  const { machine, search } = filter
  const page = yield* Effect.flatMap(Journal, (journal) =>
    journal.page({ machine, ...optional({ idPrefix: search === "" ? undefined : search }) }, pageSize, after),
  )
  return { found: page.filter(fits), looked: page.length, last: page.length < pageSize ? undefined : page.at(-1)?.id }
})

const sendAll = <E1, R1>(jobId: string, start: Job, report: (counts: Counts) => Effect.Effect<void, E1, R1>) =>
  Effect.gen(function* () {
    const { filter, event, fields } = start
    let { sent, refused, problems } = start
    for (let after = start.after; ; ) {
      const { found, last } = yield* Effect.retry(matching(filter, after), Schedule.spaced("1 second"))
      const outcomes = yield* Effect.forEach(found, (record) => sendOne(jobId, record, { ...fields, _tag: event }), { concurrency })
      const failures = outcomes.filter((outcome) => outcome !== undefined)
      sent += outcomes.length - failures.length
      refused += failures.length
      problems = [...problems, ...failures].slice(0, keptProblems)
      if (found.length > 0) yield* report({ sent, refused, problems, ...optional({ after: last ?? found.at(-1)?.id }) })
      if (last === undefined) return
      after = last
    }
  })

/** Returns why the instance refused the event, or undefined. Retries while the store does not answer. */
const sendOne = (jobId: string, { machine, id }: InstanceRecord, event: { readonly _tag: string }) =>
  send({ machine, id }, event, `bulk/${jobId}`).pipe(
    Effect.retry({ while: ({ _tag }) => _tag === "PersistenceFailed", schedule: Schedule.spaced("1 second") }),
    Effect.match({ onSuccess: () => undefined, onFailure: ({ message: problem }) => ({ id, problem: problem.slice(0, 500) }) }),
  )

export interface BulkRequest {
  readonly filter: BulkConditions
  readonly event: BulkInput["event"]
  /** Why it is sent: the job keeps it. */
  readonly reason?: string | undefined
  /** Only counts the instances, and decides the event on the first of them. */
  readonly dryRun?: boolean | undefined
}

/** What the event would do to instances in one state. */
export interface CohortOutcome {
  readonly from: string
  /** The state that they would be in; absent where they would refuse the event. */
  readonly to?: string
  /** Why they would refuse the event. */
  readonly problem?: string
  readonly count: number
  /** One of them. */
  readonly example: string
}

export interface BulkAnswer {
  /** How many instances meet the conditions now. */
  readonly count: number
  /** The count is a lower bound: the search stopped at its limit. */
  readonly atLeast?: true
  /** The first matching ids. */
  readonly sample: ReadonlyArray<string>
  /** For a dry run: what the event would do, to how many; most frequent first. */
  readonly outcomes?: ReadonlyArray<CohortOutcome>
  /** On how many instances the event was decided, where it is not all of them. */
  readonly previewed?: number
  /** The instance that sends the event; absent for a dry run. */
  readonly job?: { readonly machine: string; readonly id: string }
}

/** Starts a job, or counts the instances it would send to. The event is checked against its schema first. */
export const bulk = ({ filter, event, reason, dryRun = false }: BulkRequest) =>
  Effect.gen(function* () {
    const { json } = yield* findMachine(filter.machine)
    yield* Effect.fromResult(json.readEvent("", event))
    const { before, isRepeated } = yield* CurrentAttempt
    const id = yield* before(newId)
    const { cohort, ...counted } = yield* countMatching(filter)
    if (dryRun) {
      const outcomes = yield* outcomesOf(cohort, event)
      return { ...counted, outcomes, ...(cohort.length < counted.count ? { previewed: cohort.length } : {}) } satisfies BulkAnswer
    }
    const engine = yield* Engine
    yield* Effect.catchTag(engine.start(BulkSend, id, { filter, event, ...optional({ reason }) }), "ActorExists", (error) =>
      isRepeated ? Effect.void : Effect.fail(error),
    )
    return { ...counted, job: { machine: BulkSend.name, id } } satisfies BulkAnswer
  }).pipe(Effect.map((answer): BulkAnswer => answer))

const newId = Effect.map(
  Effect.all([Random.nextIntBetween(0, 2 ** 32), Random.nextIntBetween(0, 2 ** 32)]),
  (parts) => `bulk-${parts.map((part) => part.toString(16).padStart(8, "0")).join("")}`,
)

const countMatching = Effect.fnUntraced(function* (filter: InstanceConditions & { readonly machine: string }) {
  let [count, looked] = [0, 0]
  const cohort: Array<InstanceRecord> = []
  for (let after: string | undefined; ; ) {
    const page = yield* matching(filter as BulkConditions, after)
    count += page.found.length
    looked += page.looked
    cohort.push(...page.found.slice(0, mostPreviewed - cohort.length))
    const sample = cohort.slice(0, sampleSize).map(({ id }) => id)
    if (page.last === undefined) return { count, sample, cohort }
    if (looked >= mostCounted) return { count, sample, cohort, atLeast: true as const }
    after = page.last
  }
})

/** Decides the event on each instance, and counts the states that they would be in. Nothing is stored. */
const outcomesOf = Effect.fnUntraced(function* (cohort: ReadonlyArray<InstanceRecord>, event: { readonly _tag: string }) {
  const decided = yield* Effect.forEach(
    cohort,
    ({ machine, id, tag }) =>
      Effect.match(preview({ machine, id }, event), {
        onSuccess: ({ from, state }): Omit<CohortOutcome, "count"> => ({ from, to: state._tag, example: id }),
        // The parts that differ between instances, such as ids, are left out.
        onFailure: ({ message }): Omit<CohortOutcome, "count"> => ({
          from: tag,
          problem: message.replaceAll(`${machine}/${id}`, machine).replaceAll(id, "ID").slice(0, 300),
          example: id,
        }),
      }),
    { concurrency },
  )
  const groups = Map.groupBy(decided, ({ from, to, problem }) => JSON.stringify([from, to, problem]))
  return [...groups.values()]
    .flatMap((same) => (same[0] === undefined ? [] : [{ ...same[0], count: same.length }]))
    .sort((one, other) => other.count - one.count)
})

/** Resumes the jobs of earlier processes, and lets this process start new ones. */
export const registerBulk = (retention: Duration.Input = keptAfterEnd) =>
  Effect.flatMap(Engine, (engine) => engine.register(BulkSend, { retention }))

/** How long a job is kept after its end. */
const keptAfterEnd: Duration.Input = "30 days"
