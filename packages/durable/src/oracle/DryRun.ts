/**
 * Runs the body of a workflow over the stored steps of an execution, and takes no further step: it ends where the body waits, or would do
 * what is not stored. Nothing is written, no step runs, and nothing is compensated. The code between the steps runs, as in each replay.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { InstanceKey } from "@detent/store"
import type { JournalReaderService } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { type Encoded, makeUnsafe, WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"
import type { AnyActivity } from "../workflow/ActivityRun.ts"
import { clockDeferred, type Ending, readEvent } from "../workflow/ExecutionEvent.ts"
import { activityKey, type ExecutionState, isEnded, keyOf, type Phase, readSnapshot } from "../workflow/ExecutionState.ts"
import type { RegisteredWorkflow } from "../workflow/Run.ts"
import type { Codecs, ExitCodec, StoredExit } from "../workflow/StoredExit.ts"
import { DuplicateStep, ExecutionHeld } from "../workflow/WorkflowError.ts"

export type DryOutcome =
  /** It waits for an event, a deadline or another execution, or for a step that is not stored. */
  | { readonly _tag: "Waits" }
  | { readonly _tag: "Ended"; readonly ending: Ending; readonly exit: StoredExit }
  | { readonly _tag: "Held"; readonly problem: string }

export interface DryRun {
  readonly outcome: DryOutcome
  /** The stored steps that the body did not come to. */
  readonly passedOver: ReadonlySet<string>
  /** What the body would do now, and is not stored: steps, sleeps and starts of other executions. */
  readonly next: ReadonlySet<string>
  /** What the body waits for: events, sleeps and other executions. */
  readonly waits: ReadonlySet<string>
}

/** A body that neither takes a step nor ends within this time waits for something that is no step. */
const longestPause = 10_000

export interface DrySetting {
  readonly reader: JournalReaderService
  readonly codecs: Codecs
  /** In milliseconds. Default: 10,000. */
  readonly longestPause?: number | undefined
}

export const dryRun = (
  { workflow, execute, context }: RegisteredWorkflow,
  { id }: InstanceKey,
  state: ExecutionState,
  setting: DrySetting,
): Effect.Effect<DryRun, PersistenceFailed> =>
  Effect.gen(function* () {
    const { codecs } = setting
    const steps = new DrySteps(workflow, id, state, setting)
    const services = context.pipe(Context.add(WorkflowInstance, steps.instance), Context.add(WorkflowEngine, steps.engine))
    const body = Effect.gen(function* () {
      const payload = yield* Effect.mapError(
        codecs.value(workflow.payloadSchema).decode(state.payload),
        (problem) => new ExecutionHeld({ workflow: workflow._tag, executionId: id, problem: `its payload: ${problem.message}` }),
      )
      // The scope of the instance is never closed: its finalizers are the compensations.
      return yield* Effect.scoped(execute(payload as object, id))
    })
    const whole = Effect.flatMap(Effect.exit(body), (exit) => ended(workflow, codecs, exit))
    const fiber = yield* Effect.forkChild(Effect.provideContext(whole as Effect.Effect<DryOutcome>, services as Context.Context<never>), {
      startImmediately: true,
    })
    const outcome = yield* steps.outcomeOf(fiber)
    return { outcome, passedOver: steps.passedOver, next: steps.next, waits: steps.waits }
  })

const ended = (workflow: Workflow.Any, codecs: Codecs, exit: Exit.Exit<unknown, unknown>): Effect.Effect<DryOutcome> => {
  const encoded = (ending: Ending) =>
    Effect.map(
      codecs.exit(workflow.successSchema, workflow.errorSchema).encode(exit),
      (stored): DryOutcome => ({
        _tag: "Ended",
        ending,
        exit: stored,
      }),
    )
  if (Exit.isSuccess(exit)) return encoded("Completed")
  const failure = Cause.squash(exit.cause)
  if (failure instanceof ExecutionHeld) return Effect.succeed({ _tag: "Held", problem: failure.problem })
  if (Context.get(workflow.annotations, Workflow.SuspendOnFailure)) return Effect.succeed({ _tag: "Waits" })
  if (Cause.hasInterruptsOnly(exit.cause)) return encoded("Interrupted")
  if (Cause.hasDies(exit.cause) && !Context.get(workflow.annotations, Workflow.CaptureDefects))
    return Effect.succeed({ _tag: "Held", problem: failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure) })
  return encoded("Failed")
}

const stepName = (name: string, attempt: number): string => {
  const sleep = clockDeferred("")
  if (name.startsWith(sleep)) return `sleep ${name.slice(sleep.length)}`
  return attempt === 1 ? `step ${name}` : `step ${name} (attempt ${attempt})`
}

/** The engine of one dry run: answers with stored results, and keeps waiting where there is none. */
class DrySteps {
  readonly engine: WorkflowEngine["Service"]
  readonly instance: WorkflowInstance["Service"]
  readonly passedOver = new Set<string>()
  readonly next = new Set<string>()
  readonly waits = new Set<string>()
  readonly #workflow: Workflow.Any
  readonly #id: string
  readonly #state: ExecutionState
  readonly #reader: JournalReaderService
  readonly #codecs: Codecs
  readonly #longestPause: number
  readonly #used = new Set<string>()
  /** Deferreds that the body itself has completed, such as the winner of a race. */
  readonly #completed = new Map<string, StoredExit>()
  /** Counts the requests of the body. Where it stands still, the body waits. */
  #requests = 0
  #isWaiting = false
  #problem: string | undefined
  #failure: PersistenceFailed | undefined

  constructor(workflow: Workflow.Any, id: string, state: ExecutionState, setting: DrySetting) {
    this.#workflow = workflow
    this.#id = id
    this.#state = state
    this.#reader = setting.reader
    this.#codecs = setting.codecs
    this.#longestPause = setting.longestPause ?? longestPause
    for (const key of state.activities.keys()) {
      const slash = key.indexOf("/")
      this.passedOver.add(stepName(key.slice(slash + 1), Number(key.slice(0, slash))))
    }
    for (const name of state.called.keys()) this.passedOver.add(`execution ${name}`)
    this.instance = WorkflowInstance.initial(workflow, id)
    this.engine = this.#makeEngine()
  }

  #makeEngine(): WorkflowEngine["Service"] {
    const engine = makeUnsafe({
      register: () => Effect.void,
      execute: ((workflow, options) => this.#execute(workflow, options)) as Encoded["execute"],
      poll: () => this.#wait("the state of another execution"),
      interrupt: () => Effect.void,
      interruptUnsafe: () => Effect.void,
      resume: () => Effect.void,
      activityExecute: () => Effect.die("activities are executed through their schemas"),
      deferredResult: () => Effect.die("deferreds are read through their schemas"),
      deferredDone: () => Effect.die("deferreds are completed through their schemas"),
      scheduleClock: (_, { clock }) => this.#clock(clock.name),
    })
    return WorkflowEngine.of({
      ...engine,
      activityExecute: ((activity: unknown, attempt: number) =>
        this.#activity(activity as AnyActivity, attempt)) as WorkflowEngine["Service"]["activityExecute"],
      deferredResult: ((deferred: unknown) =>
        this.#deferred(deferred as DurableDeferred.AnyWithProps)) as WorkflowEngine["Service"]["deferredResult"],
      deferredDone: (deferred, { executionId, deferredName, exit }) =>
        Effect.map(this.#codecs.exit(deferred.successSchema as never, deferred.errorSchema as never).encode(exit), (stored) => {
          this.#requests++
          if (executionId === this.#id) this.#completed.set(deferredName, stored)
        }),
    })
  }

  /** What is not stored is never answered: the run ends when nothing else of the body moves. */
  #wait(what: string): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.#isWaiting = true
      this.waits.add(what)
      return Effect.never
    })
  }

  #do(step: string): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.#isWaiting = true
      this.next.add(step)
      return Effect.never
    })
  }

  #hold(problem: string): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.#problem ??= problem
      return Effect.never
    })
  }

  #decoded<A>(codec: ExitCodec, stored: StoredExit, what: string, use: (exit: Exit.Exit<unknown, unknown>) => A): Effect.Effect<A> {
    return Effect.catch(Effect.map(codec.decode(stored), use), (problem) =>
      this.#hold(`the stored result of ${what} does not fit its schema: ${problem.message}`),
    )
  }

  /** Returns false if the name was used before in this run. */
  #use(key: string, step: string): boolean {
    this.#requests++
    this.passedOver.delete(step)
    if (this.#used.has(key)) return false
    this.#used.add(key)
    return true
  }

  #duplicate(kind: "activity" | "clock", step: string, attempt: number): Effect.Effect<never> {
    return Effect.die(new DuplicateStep({ workflow: this.#workflow._tag, executionId: this.#id, kind, step, attempt }))
  }

  #activity(activity: AnyActivity, attempt: number): Effect.Effect<Workflow.Result<unknown, unknown>> {
    return Effect.suspend(() => {
      const { name } = activity
      const key = activityKey(name, attempt)
      const step = stepName(name, attempt)
      if (!this.#use(key, step)) return this.#duplicate("activity", name, attempt)
      const stored = this.#state.activities.get(key)
      if (stored === undefined) return this.#do(step)
      const codec = this.#codecs.exit(activity.successSchema, activity.errorSchema)
      return this.#decoded(codec, stored, step, (exit) => new Workflow.Complete({ exit }))
    })
  }

  #deferred(deferred: DurableDeferred.AnyWithProps): Effect.Effect<Option.Option<Exit.Exit<unknown, unknown>>> {
    return Effect.suspend(() => {
      this.#requests++
      const { name } = deferred
      const stored = this.#state.deferreds.get(name) ?? this.#completed.get(name)
      if (stored === undefined) {
        // A race asks whether it has a winner before it begins.
        if (!this.instance.awaitedDeferreds.has(name)) return Effect.succeed(Option.none())
        return this.#wait(name.startsWith(clockDeferred("")) ? stepName(name, 1) : name)
      }
      return this.#decoded(this.#codecs.exit(deferred.successSchema, deferred.errorSchema), stored, name, Option.some)
    })
  }

  #clock(name: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.#use(`clock/${name}`, `sleep ${name}`)) return this.#duplicate("clock", name, 1)
      if (!this.#state.clocks.has(name) && !this.#state.deferreds.has(clockDeferred(name))) this.next.add(`sleep ${name}`)
      return Effect.void
    })
  }

  #execute(
    workflow: Workflow.Any,
    { executionId, discard }: { readonly executionId: string; readonly discard: boolean },
  ): Effect.Effect<Workflow.Result<unknown, unknown> | undefined> {
    return Effect.gen({ self: this }, function* () {
      const name = `${workflow._tag}/${executionId}`
      const step = `execution ${name}`
      this.#requests++
      this.passedOver.delete(step)
      const kept = this.#state.called.get(name)
      const isCalled = this.#state.called.has(name)
      const exit = kept ?? (yield* this.#resultOf(keyOf(workflow, executionId)))
      if (exit === "none" && !isCalled) {
        if (!discard) return yield* this.#do(step)
        this.next.add(step)
        return undefined
      }
      if (discard) return undefined
      if (exit === "running" || exit === "none") return yield* this.#wait(step)
      const codec = this.#codecs.exit(workflow.successSchema, workflow.errorSchema)
      return yield* this.#decoded(codec, exit, step, (decoded) => new Workflow.Complete({ exit: decoded }))
    })
  }

  /** The result of another execution, if it has ended. */
  #resultOf(key: InstanceKey): Effect.Effect<StoredExit | "running" | "none"> {
    const read = Effect.gen({ self: this }, function* () {
      const opened = yield* this.#reader.open(key)
      this.#requests++
      if (opened === undefined) return "none"
      const { record, snapshot } = opened
      if (!isEnded(record.tag as Phase)) return "running"
      if (snapshot !== undefined) return readSnapshot(snapshot.body)
      const [last] = yield* this.#reader.events(record, record.sequence - 1, 1)
      this.#requests++
      const event = last === undefined ? undefined : readEvent(last)
      return event?._tag === "Ended" ? event.exit : "running"
    })
    return Effect.catch(read, (failure) =>
      Effect.suspend(() => {
        this.#failure = failure
        return Effect.never
      }),
    )
  }

  /** Waits until the body has ended, or nothing of it moves any more. */
  outcomeOf(fiber: Fiber.Fiber<DryOutcome>): Effect.Effect<DryOutcome, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      let outcome: DryOutcome | undefined
      let quiet = 0
      let slept = 0
      while (outcome === undefined) {
        const before = this.#requests
        const exit = fiber.pollUnsafe()
        if (this.#failure !== undefined) return yield* this.#failure
        if (this.#problem !== undefined) outcome = { _tag: "Held", problem: this.#problem }
        else if (exit !== undefined) outcome = yield* exit
        else if (this.#isWaiting && quiet >= (this.passedOver.size > 0 ? mostTurns : fewTurns)) outcome = { _tag: "Waits" }
        else if (slept >= this.#longestPause) outcome = { _tag: "Held", problem: stuckProblem(slept) }
        else if (quiet < fewTurns) yield* Effect.yieldNow
        else {
          // The code between two steps may take a while, such as one that computes a hash.
          yield* Effect.sleep(1)
          slept++
        }
        const isQuiet = this.#requests === before
        quiet = isQuiet ? quiet + 1 : 0
        if (!isQuiet) slept = 0
      }
      yield* Fiber.interrupt(fiber)
      return outcome
    })
  }
}

const fewTurns = 3

/** A branch of the body that has stored steps ahead gets more turns before it is said to pass over them. */
const mostTurns = 20

const stuckProblem = (millis: number): string =>
  `the code takes no step and does not end within ${millis} ms: it waits for something that is no step`
