/**
 * Judges an execution of a workflow by other code: does the body come to the stored steps, and what would it do next? Where the code that
 * the execution runs with is given, the body runs by both. Otherwise the journal alone says what the execution has waited for.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { EventRecord } from "@detent/store"
import type { JournalReaderService, ReadJournal } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import { readEvent } from "../workflow/ExecutionEvent.ts"
import { ExecutionState, isEnded, type Phase } from "../workflow/ExecutionState.ts"
import type { RegisteredWorkflow } from "../workflow/Run.ts"
import { Codecs } from "../workflow/StoredExit.ts"
import { type DryOutcome, type DryRun, type DrySetting, dryRun } from "./DryRun.ts"
import type { BeginJudging, Judge } from "./judgeRange.ts"
import { type Change, type Judgement, same, type Verdict } from "./Verdict.ts"

export interface WorkflowQuestion {
  /** The code that the executions run with. */
  readonly before: RegisteredWorkflow | undefined
  /** The code to judge by. */
  readonly after: RegisteredWorkflow
  /** Whether it is asked how ended executions would have ended. */
  readonly whatIf: boolean
  /** How long the code may do something else than take steps. In milliseconds; default: 10,000. */
  readonly longestPause?: number
}

export const judgeExecutions = (question: WorkflowQuestion, reader: JournalReaderService): BeginJudging => {
  const setting = { reader, codecs: new Codecs(), longestPause: question.longestPause }
  return (journal) => new ExecutionOracle(question, journal, setting)
}

class ExecutionOracle implements Judge {
  readonly #question: WorkflowQuestion
  readonly #journal: ReadJournal
  readonly #setting: DrySetting
  #state: ExecutionState | undefined
  #problem: string | undefined

  constructor(question: WorkflowQuestion, journal: ReadJournal, setting: DrySetting) {
    this.#question = question
    this.#journal = journal
    this.#setting = setting
    this.#attempt(() => {
      this.#state = ExecutionState.restored(journal)
    })
  }

  event(record: EventRecord) {
    const state = this.#state
    // The snapshot of an ended execution is its result; the events before it no longer count.
    if (state === undefined || record.sequence <= state.sequence) return
    this.#attempt(() => {
      if (record.sequence !== state.sequence + 1) throw new Error(`event ${state.sequence + 1} is missing`)
      state.apply(readEvent(record), record.sequence)
    })
  }

  #attempt(read: () => void) {
    if (this.#problem !== undefined) return
    try {
      read()
    } catch (cause) {
      this.#problem = cause instanceof Error ? cause.message : String(cause)
    }
  }

  get end(): Effect.Effect<Judgement, PersistenceFailed> {
    return Effect.suspend(() => {
      const { record, snapshot } = this.#journal
      const state = this.#state
      if (state === undefined || this.#problem !== undefined) return Effect.succeed(this.#held(this.#problem ?? "it cannot be read"))
      if (state.sequence < record.sequence) return Effect.succeed(this.#held(`event ${state.sequence + 1} is missing`))
      // It has not been started, or its steps were removed: there is nothing to judge.
      if (state.phase === "Waiting" || (isEnded(state.phase) && snapshot !== undefined))
        return Effect.succeed(this.#judged(same, undefined))
      return this.#judge(state)
    })
  }

  #judge(state: ExecutionState): Effect.Effect<Judgement, PersistenceFailed> {
    const { before, after } = this.#question
    const run = (code: RegisteredWorkflow) => dryRun(code, this.#journal.record, state, this.#setting)
    return Effect.gen({ self: this }, function* () {
      const now = yield* run(after)
      if (now.outcome._tag === "Held") return this.#held(now.outcome.problem)
      const old = before === undefined ? undefined : yield* run(before)
      let changes = old === undefined || old.outcome._tag === "Held" ? changesSince(state, now) : changesBetween(old, now)
      // Code that does something else in each run is no measure.
      if (before !== undefined && old !== undefined && changes.length > 0 && changesBetween(old, yield* run(before)).length > 0)
        changes = changesSince(state, now)
      if (changes.length === 0) return this.#judged(same, now.outcome)
      const { sequence } = this.#journal.record
      return this.#judged(
        { _tag: "Differs", sequence, decision: { sequence, event: "the next run", from: state.phase, changes } },
        now.outcome,
      )
    })
  }

  #held(problem: string): Judgement {
    return this.#judged({ _tag: "Held", sequence: this.#journal.record.sequence, problem }, undefined)
  }

  #judged(verdict: Verdict, outcome: DryOutcome | undefined): Judgement {
    const { tag, status } = this.#journal.record
    if (!this.#question.whatIf) return { verdict }
    const from = endText(tag, status)
    if (verdict._tag === "Held") return { verdict, flow: { from, to: "Held" } }
    if (verdict._tag === "Same" || outcome === undefined) return { verdict, flow: { from, to: from } }
    return { verdict, flow: { from, to: outcome._tag === "Ended" ? outcome.ending : "Suspended (running)" } }
  }
}

const endText = (tag: string, status: string): string => (isEnded(tag as Phase) || status === "final" ? tag : `${tag} (running)`)

/** What two codes make of the same stored steps. */
const changesBetween = (old: DryRun, now: DryRun): ReadonlyArray<Change> => [
  ...[...now.passedOver].filter((step) => !old.passedOver.has(step)).map((path): Change => ({ path, before: "its stored result is used" })),
  ...[...old.passedOver].filter((step) => !now.passedOver.has(step)).map((path): Change => ({ path, after: "its stored result is used" })),
  ...setChanges("next: ", old.next, now.next),
  ...setChanges("waits for: ", old.waits, now.waits),
  ...outcomeChanges(old.outcome, now.outcome),
]

const setChanges = (path: string, old: ReadonlySet<string>, now: ReadonlySet<string>): ReadonlyArray<Change> => [
  ...[...old].filter((one) => !now.has(one)).map((one): Change => ({ path: `${path}${one}`, before: true })),
  ...[...now].filter((one) => !old.has(one)).map((one): Change => ({ path: `${path}${one}`, after: true })),
]

const outcomeText = (outcome: DryOutcome): string => (outcome._tag === "Ended" ? outcome.ending : outcome._tag)

/** Results may be secret, so only that they differ is shown. */
const outcomeChanges = (old: DryOutcome, now: DryOutcome): ReadonlyArray<Change> => {
  const [before, after] = [outcomeText(old), outcomeText(now)]
  if (before !== after) return [{ path: "outcome", before, after }]
  if (old._tag !== "Ended" || now._tag !== "Ended" || isSameExit(old, now)) return []
  return [{ path: "result", before: "one result", after: "another" }]
}

const isSameExit = (old: Extract<DryOutcome, { _tag: "Ended" }>, now: Extract<DryOutcome, { _tag: "Ended" }>): boolean =>
  Equal.equals(withoutStacks(old.exit), withoutStacks(now.exit))

/** The stack of an error names lines of the code, which change with it. */
const withoutStacks = (exit: unknown): unknown => JSON.parse(JSON.stringify(exit, (key, value) => (key === "stack" ? undefined : value)))

/** What the code makes of an execution that the journal says has waited, or has ended. */
const changesSince = ({ phase, suspendedBy }: ExecutionState, { outcome, next }: DryRun): ReadonlyArray<Change> => {
  if (isEnded(phase)) {
    const after = outcomeText(outcome)
    return phase === after || phase === "Interrupted" ? [] : [{ path: "outcome", before: phase, after }]
  }
  // One that is at work may come to a step that is not stored yet.
  if (phase !== "Suspended" || suspendedBy !== undefined) return []
  const steps = [...next].map((step): Change => ({ path: `next: ${step}`, after: true }))
  return outcome._tag === "Ended" ? [...steps, { path: "outcome", before: "Waits", after: outcome.ending }] : steps
}
