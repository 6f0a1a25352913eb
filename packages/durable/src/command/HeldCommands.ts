/** What a worker has in hand: the queues it serves, the commands it holds, and what became of those that are over. */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { ClaimedCommand, Exchange, Verdict, Want } from "../store/Commands.ts"
import { Quarantine, suspicionOf } from "./CrashQuarantine.ts"
import { type Executable, type FindExecutable, type Held, neverEnded, tookTooLong } from "./Executable.ts"
import { type Ended, isFinal } from "./finishing.ts"
import { cut } from "./Problem.ts"
import { type Asking, QueueState, type Running } from "./QueueState.ts"
import { UnknownCommands } from "./UnknownCommands.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

/** So many are started before others in the process get their turn. */
const turnLimit = 64

interface Served {
  readonly run: QueueState
  readonly finders: Set<FindExecutable>
}

export interface WorkloadEvents {
  /** A command is over, and has to be stored. */
  readonly finished: () => void
  /** Something has to be looked at by then. */
  readonly due: (at: number) => void
}

export class HeldCommands {
  readonly #config: WorkerConfig
  readonly #clock: Clock.Clock
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #events: WorkloadEvents
  readonly #queues = new Map<string, Served>()
  readonly #unknown: UnknownCommands
  /** Over, and not stored yet. */
  finished: Array<Ended> = []
  firstFinishedAt = 0
  isStopping = false
  readonly #quarantine = new Quarantine()

  constructor(config: WorkerConfig, clock: Clock.Clock, run: (effect: Effect.Effect<void>) => void, events: WorkloadEvents) {
    this.#config = config
    this.#clock = clock
    this.#run = run
    this.#events = events
    this.#unknown = new UnknownCommands(run)
  }

  /** Returns how to stop serving. */
  serve(queue: string, find: FindExecutable): () => void {
    let served = this.#queues.get(queue)
    if (served === undefined) {
      served = { run: new QueueState(queue, this.#config, this.#now()), finders: new Set() }
      this.#queues.set(queue, served)
    }
    const { run, finders } = served
    finders.add(find)
    run.heat()
    return () => {
      finders.delete(find)
    }
  }

  #now(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }

  serves(queue: string): boolean {
    return this.#queues.has(queue)
  }

  /** There may be something in these queues; without queues, in any. */
  heat(queues: ReadonlySet<string> | undefined) {
    for (const [name, { run }] of this.#queues) if (queues?.has(name) ?? true) run.heat()
  }

  wants(now: number): ReadonlyArray<Want> {
    if (this.isStopping || this.#quarantine.isClosed) return []
    const wants: Array<Want> = []
    for (const { run, finders } of this.#queues.values()) {
      const limit = finders.size === 0 ? 0 : run.wants(now)
      if (limit > 0) wants.push({ queue: run.name, limit })
    }
    return wants
  }

  /** Keeps room for so many of a queue, and tells how they are given to it; undefined where there is none, or others come first. */
  reserve(queue: string, count: number): ((commands: ReadonlyArray<ClaimedCommand>, validUntil: number) => void) | undefined {
    const served = this.#queues.get(queue)
    if (this.isStopping || this.#quarantine.isClosed || served === undefined || served.finders.size === 0) return undefined
    const { run } = served
    // Others may have waited longer, or be more urgent.
    if (!run.isQuiet(this.#now()) || run.room < count) return undefined
    const asking = run.ask(count)
    return (commands, validUntil) => {
      run.given(
        asking,
        commands.map((command) => ({ ...command, validUntil })),
      )
      this.#pumpAll()
    }
  }

  /** Whether it is running out of commands of one of these queues. */
  isShort(wants: ReadonlyArray<Want>): boolean {
    return wants.some(({ queue, limit }) => limit >= (this.#queues.get(queue)?.run.size ?? 0) / 2)
  }

  /** When the store should be asked by itself. */
  askAt(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { run } of this.#queues.values()) if (run.size > run.held) next = Math.min(next, run.askAt)
    return next
  }

  get heldCount(): number {
    let held = this.#quarantine.waiting === undefined ? 0 : 1
    for (const { run } of this.#queues.values()) held += run.held
    return held
  }

  get runningCount(): number {
    let running = 0
    for (const { run } of this.#queues.values()) running += run.running.size
    return running
  }

  /** Everything this worker has claimed and not told the store the end of. */
  *held(): Iterable<Held> {
    if (this.#quarantine.waiting !== undefined) yield this.#quarantine.waiting.command
    for (const { run } of this.#queues.values()) {
      yield* run.waiting
      for (const { command } of run.running.values()) yield command
    }
  }

  /** These are being asked for. */
  ask(wants: ReadonlyArray<Want>): ReadonlyMap<QueueState, Asking> {
    const asking = new Map<QueueState, Asking>()
    for (const { queue, limit } of wants) {
      const run = this.#queues.get(queue)?.run
      if (run !== undefined) asking.set(run, run.ask(limit))
    }
    return asking
  }

  /** The store answered; `validUntil` is reckoned from before it was asked: by its clock the claims end no sooner. */
  take(asking: ReadonlyMap<QueueState, Asking>, { claimed, next, busy }: Exchange, validUntil: number) {
    const now = this.#now()
    for (const command of claimed) this.#queues.get(command.queue)?.run.waiting.push({ ...command, validUntil })
    for (const [run, asked] of asking) {
      const { name } = run
      const got = claimed.filter(({ queue }) => queue === name).length
      run.answered(asked, { got, nextMillis: next.get(name), isBusy: busy.has(name) }, now)
    }
    this.#pumpAll()
    this.#tryOut()
  }

  /** Begins what can begin; what must not is handed back. */
  #pumpAll() {
    if (this.isStopping) return this.handBackWaiting()
    if (this.#quarantine.isClosed) return this.#handBackOthers()
    for (const { run } of this.#queues.values()) if (run.waiting.length > 0) this.#pump(run)
  }

  #pump(run: QueueState): void {
    for (let started = 0; run.hasRoom && !this.isStopping; started++) {
      if (started === turnLimit) {
        const later = Effect.sync(() => this.#pump(run))
        this.#run(Effect.andThen(Effect.yieldNow, later))
        return
      }
      const command = run.waiting.shift()
      if (command === undefined) return
      this.#start(run, command)
    }
  }

  #start(run: QueueState, command: Held) {
    // This process may have slept: then others may have executed it.
    if (command.validUntil <= this.#now()) return this.#finish(run, command, { _tag: "Released", delayMillis: 0 })
    const executable = this.#find(command)
    if (executable === undefined) return this.#finish(run, command, this.#unknown.leave(command))
    const suspicion = suspicionOf(command.attempts, executable.maxAttempts)
    if (suspicion === "suspect") return this.#isolate(run, command)
    this.#begin(run, command, executable, suspicion === "guilty")
  }

  #begin(run: QueueState, command: Held, executable: Executable, isGuilty: boolean) {
    const { execute, conclude, timeoutMillis } = executable
    const running: Running = { command, executable, fiber: undefined, deadline: this.#now() + timeoutMillis }
    // It may do a great deal before it first waits, a stop of this worker included.
    run.running.set(command.number, running)
    this.#events.due(running.deadline)
    this.#watch(run, running, isGuilty ? conclude(neverEnded(command.attempts - 1)) : execute)
  }

  /** One after the other: another suspect comes again, with all that has not begun. */
  #isolate(run: QueueState, command: Held) {
    if (this.#quarantine.isClosed) return this.#finish(run, command, { _tag: "Released", delayMillis: 0 })
    this.#quarantine.isolate(run, command)
    this.#handBackOthers()
    this.#tryOut()
  }

  #tryOut() {
    const suspect = this.isStopping ? undefined : this.#quarantine.release(this.finished)
    if (suspect === undefined) return
    const { run, command } = suspect
    const executable = command.validUntil <= this.#now() ? undefined : this.#find(command)
    if (executable === undefined) this.#finish(run, command, { _tag: "Released", delayMillis: 0 })
    else this.#begin(run, command, executable, false)
  }

  #watch(run: QueueState, running: Running, execution: Executable["execute"]) {
    const { command, executable } = running
    const fiber = executable.run(execution)
    if (run.running.get(command.number) !== running) return fiber.interruptUnsafe()
    running.fiber = fiber
    this.#follow(run, running, fiber)
  }

  #find(command: Held): Executable | undefined {
    for (const find of this.#queues.get(command.queue)?.finders ?? []) {
      const executable = find(command)
      if (executable !== undefined) return executable
    }
    return undefined
  }

  #follow(run: QueueState, running: Running, fiber: NonNullable<Running["fiber"]>) {
    const { command } = running
    fiber.addObserver((exit) => {
      // Somebody else has it, or it has been judged already.
      if (run.running.get(command.number) !== running || running.fiber !== fiber) return
      run.running.delete(command.number)
      if (exit._tag === "Success") this.#finish(run, command, exit.value)
      else if (Cause.hasInterruptsOnly(exit.cause)) this.#finish(run, command, { _tag: "Released", delayMillis: 1000 })
      else this.#finish(run, command, { _tag: "Failed", problem: cut(Cause.pretty(exit.cause)) })
      if (run.waiting.length > 0) this.#pump(run)
    })
  }

  #finish(run: QueueState, { number, claim, queue, slot, key, instance, ordered }: ClaimedCommand, verdict: Verdict) {
    run.finished(verdict, this.#now())
    // The exchange that stores its end also claims the command that waited for it.
    if (ordered && isFinal(verdict)) run.heat()
    if (this.#quarantine.ended(number)) this.heat(undefined)
    if (this.finished.length === 0) this.firstFinishedAt = this.#now()
    this.finished.push({ number, claim, verdict, queue, slot, key, instance, ordered })
    this.#events.finished()
  }

  /** Others have these by now: whatever is still done here would not be stored. */
  lose(numbers: ReadonlySet<number>) {
    for (const number of numbers) this.#quarantine.ended(number)
    for (const { run } of this.#queues.values()) {
      const kept = run.waiting.filter(({ number }) => !numbers.has(number))
      run.waiting.splice(0, run.waiting.length, ...kept)
      for (const number of numbers) {
        const running = run.running.get(number)
        run.running.delete(number)
        running?.fiber?.interruptUnsafe()
      }
    }
    this.#pumpAll()
  }

  /** Judges executions that have taken too long, whether or not they can be stopped. Returns when the next one will have. */
  endOverdue(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { run } of this.#queues.values()) {
      for (const running of run.running.values()) {
        if (running.deadline <= now) this.#end(run, running)
        next = Math.min(next, running.deadline)
      }
    }
    return next
  }

  #end(run: QueueState, running: Running) {
    const { executable, fiber } = running
    running.deadline = Number.POSITIVE_INFINITY
    this.#watch(run, running, executable.conclude(tookTooLong(executable.timeoutMillis)))
    fiber?.interruptUnsafe()
  }

  /** Hands back what has not begun. */
  handBackWaiting() {
    const suspect = this.#quarantine.waiting
    if (suspect !== undefined) this.#finish(suspect.run, suspect.command, { _tag: "Released", delayMillis: 0 })
    this.#handBackOthers()
  }

  #handBackOthers() {
    for (const { run } of this.#queues.values()) {
      for (const command of run.waiting.splice(0)) this.#finish(run, command, { _tag: "Released", delayMillis: 0 })
    }
  }

  /** Hands back what has not ended. */
  handBackRunning() {
    for (const { run } of this.#queues.values()) {
      const late = [...run.running.values()]
      run.running.clear()
      for (const { command, fiber } of late) {
        this.#finish(run, command, { _tag: "Released", delayMillis: 0 })
        fiber?.interruptUnsafe()
      }
    }
  }
}
