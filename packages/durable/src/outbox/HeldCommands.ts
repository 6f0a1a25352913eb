/** The commands that a worker holds: waiting, being executed, or ended but not yet recorded. */
import { explain, framesOf } from "@detent/machine/internal"
import type { ClaimedCommand, Exchange, Verdict, Want } from "@detent/store"
import { monotonicMillis } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { CrashQuarantine, suspicionOf } from "./CrashQuarantine.ts"
import { cut, type Ended, type Execution, type FindExecution, type Held, isFinal, neverEnded, tookTooLong } from "./Execution.ts"
import { type Asking, QueueState, type Running } from "./QueueState.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

/** Yields to the event loop after this many commands were started. */
const turnLimit = 64

/** How long a command without a handler in this process is left to other workers; doubled each time. */
const firstUnknownMillis = 5_000
const longestUnknownMillis = 300_000

interface Served {
  readonly queue: QueueState
  readonly finders: Set<FindExecution>
}

export interface HeldEvents {
  /** A command has ended, and the store has to record it. */
  readonly ended: () => void
  /** An execution has to be checked for its timeout by then. */
  readonly due: (at: number) => void
}

/** The verdict on a command whose execution failed outside of its handler. */
const defectOf = (what: string, error: unknown): Verdict => {
  const frames = framesOf(error)
  return { _tag: "Failed", problem: cut(`${what}: ${explain(error)}`), ...(frames === undefined ? {} : { frames }) }
}

export class HeldCommands {
  readonly #config: WorkerConfig
  readonly #clock: Clock.Clock
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #events: HeldEvents
  readonly #queues = new Map<string, Served>()
  readonly #quarantine = new CrashQuarantine()
  /** Slots of queues that were logged as unknown. */
  readonly #logged = new Set<string>()
  /** Ended, and not recorded yet. */
  ended: Array<Ended> = []
  firstEndedAt = 0
  /** Once the worker stops, no command begins. */
  isStopping = false

  constructor(config: WorkerConfig, clock: Clock.Clock, run: (effect: Effect.Effect<void>) => void, events: HeldEvents) {
    this.#config = config
    this.#clock = clock
    this.#run = run
    this.#events = events
  }

  /** Executes the commands of a queue for which this finder has a handler, until the returned function is called. */
  serve(name: string, find: FindExecution): () => void {
    let served = this.#queues.get(name)
    if (served === undefined) {
      served = { queue: new QueueState(name, this.#config, this.#now()), finders: new Set() }
      this.#queues.set(name, served)
    }
    const { queue, finders } = served
    finders.add(find)
    queue.heat()
    return () => {
      finders.delete(find)
    }
  }

  #now(): number {
    return monotonicMillis(this.#clock)
  }

  queues(): ReadonlyArray<string> {
    return [...this.#queues.keys()]
  }

  serves(queue: string): boolean {
    return this.#queues.has(queue)
  }

  /** There may be commands in these queues; undefined: in any. */
  heat(queues: ReadonlySet<string> | undefined) {
    for (const [name, { queue }] of this.#queues) if (queues?.has(name) ?? true) queue.heat()
  }

  /** Sorted by queue name: stores lock queues with limits in this order, so that workers do not deadlock. */
  wants(now: number): ReadonlyArray<Want> {
    if (this.isStopping || this.#quarantine.isClosed) return []
    const wants: Array<Want> = []
    for (const { queue, finders } of this.#queues.values()) {
      const limit = finders.size === 0 ? 0 : queue.wants(now)
      if (limit > 0) wants.push({ queue: queue.name, limit })
    }
    return wants.sort((left, right) => (left.queue < right.queue ? -1 : 1))
  }

  /**
   * Reserves room for commands that a caller is about to store, and returns the handoff. Undefined if there is no room, or if other
   * commands of the queue may come first.
   */
  reserve(name: string, count: number): ((commands: ReadonlyArray<ClaimedCommand>, validUntil: number) => void) | undefined {
    const served = this.#queues.get(name)
    if (this.isStopping || this.#quarantine.isClosed || served === undefined || served.finders.size === 0) return undefined
    const { queue } = served
    if (!queue.isQuiet(this.#now()) || queue.room < count) return undefined
    const asking = queue.ask(count)
    return (commands, validUntil) => {
      queue.given(
        asking,
        commands.map((command) => ({ ...command, validUntil })),
      )
      this.#startAll()
    }
  }

  /** Whether the worker is running out of commands of one of these queues. */
  isShort(wants: ReadonlyArray<Want>): boolean {
    return wants.some(({ queue, limit }) => limit >= (this.#queues.get(queue)?.queue.size ?? 0) / 2)
  }

  /** When to ask the store even without an announcement. */
  askAt(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { queue } of this.#queues.values()) if (queue.size > queue.held) next = Math.min(next, queue.askAt)
    return next
  }

  get heldCount(): number {
    let held = this.#quarantine.waiting === undefined ? 0 : 1
    for (const { queue } of this.#queues.values()) held += queue.held
    return held
  }

  /** Whether each remaining command waits for an instance that has postponed its event. */
  get areAllPostponed(): boolean {
    for (const { queue } of this.#queues.values()) {
      if (queue.held > queue.running.size) return false
      for (const { execution } of queue.running.values()) if (execution.isPostponed?.() !== true) return false
    }
    return this.#quarantine.waiting === undefined
  }

  /** Whether the store has nothing more to claim from any queue that has a finder. */
  areAllQuiet(now: number): boolean {
    for (const { queue, finders } of this.#queues.values()) if (finders.size > 0 && !queue.isQuiet(now)) return false
    return true
  }

  get runningCount(): number {
    let running = 0
    for (const { queue } of this.#queues.values()) running += queue.running.size
    return running
  }

  /** All commands that are claimed and have not ended. */
  *held(): Iterable<Held> {
    if (this.#quarantine.waiting !== undefined) yield this.#quarantine.waiting.command
    for (const { queue } of this.#queues.values()) {
      yield* queue.waiting
      for (const { command } of queue.running.values()) yield command
    }
  }

  ask(wants: ReadonlyArray<Want>): ReadonlyMap<QueueState, Asking> {
    const asking = new Map<QueueState, Asking>()
    for (const want of wants) {
      const queue = this.#queues.get(want.queue)?.queue
      if (queue !== undefined) asking.set(queue, queue.ask(want.limit))
    }
    return asking
  }

  /** The store did not answer. */
  unask(asking: ReadonlyMap<QueueState, Asking>) {
    for (const [queue, asked] of asking) queue.unask(asked)
  }

  /** `validUntil` counts from before the request was sent: by the store's clock the claims do not expire earlier. */
  take(asking: ReadonlyMap<QueueState, Asking>, { claimed, next, busy }: Exchange, validUntil: number) {
    const now = this.#now()
    for (const command of claimed) this.#queues.get(command.queue)?.queue.waiting.push({ ...command, validUntil })
    for (const [queue, asked] of asking) {
      const { name } = queue
      const got = claimed.filter((command) => command.queue === name).length
      queue.answered(asked, { got, nextMillis: next.get(name), isBusy: busy.has(name) }, now)
    }
    this.#startAll()
    this.#trySuspect()
  }

  /** Starts the commands that can begin; hands back those that must not. */
  #startAll() {
    if (this.isStopping) return this.handBackWaiting()
    if (this.#quarantine.isClosed) return this.#handBackOthers()
    for (const { queue } of this.#queues.values()) if (queue.waiting.length > 0) this.#startWaiting(queue)
  }

  #startWaiting(queue: QueueState): void {
    for (let started = 0; queue.hasRoom && !this.isStopping; started++) {
      if (started === turnLimit) {
        const later = Effect.sync(() => this.#startWaiting(queue))
        this.#run(Effect.andThen(Effect.yieldNow, later))
        return
      }
      const command = queue.waiting.shift()
      if (command === undefined) return
      this.#start(queue, command)
    }
  }

  #start(queue: QueueState, command: Held) {
    // This process may have been suspended, and another may have claimed and executed the command meanwhile.
    if (command.validUntil <= this.#now()) return this.#end(queue, command, { _tag: "Released", delayMillis: 0 })
    const execution = this.#find(queue, command)
    if (execution === "ended") return
    const suspicion = suspicionOf(command.attempts, execution.maxAttempts)
    if (suspicion === "suspect") return this.#isolate(queue, command)
    this.#begin(queue, command, execution, suspicion === "guilty")
  }

  /** Ends a command that this process cannot execute. */
  #find(queue: QueueState, command: Held): Execution | "ended" {
    try {
      for (const find of this.#queues.get(queue.name)?.finders ?? []) {
        const execution = find(command)
        if (execution !== undefined) return execution
      }
      this.#end(queue, command, this.#leaveUnknown(command))
    } catch (cause) {
      this.#end(queue, command, defectOf("its execution could not be prepared", cause))
    }
    return "ended"
  }

  /** A worker of another version may have a handler for the command. */
  #leaveUnknown({ queue, slot, claim }: Held): Verdict {
    if (!this.#logged.has(`${queue} ${slot}`)) {
      this.#logged.add(`${queue} ${slot}`)
      this.#run(Effect.logWarning(`command ${slot} of queue ${queue} has no handler in this process and is left to other workers`))
    }
    return { _tag: "Released", delayMillis: Math.min(longestUnknownMillis, firstUnknownMillis * 2 ** Math.min(20, claim - 1)) }
  }

  #begin(queue: QueueState, command: Held, execution: Execution, isGuilty: boolean) {
    const { execute, conclude, timeoutMillis } = execution
    const running: Running = { command, execution, fiber: undefined, deadline: this.#now() + timeoutMillis }
    // Registered before it starts: it may end, or stop this worker, before its fiber first waits.
    queue.running.set(command.number, running)
    this.#events.due(running.deadline)
    this.#watch(queue, running, isGuilty ? conclude(neverEnded(command.attempts - 1)) : execute)
  }

  /** One suspect at a time: another one is handed back and claimed again later. */
  #isolate(queue: QueueState, command: Held) {
    if (this.#quarantine.isClosed) return this.#end(queue, command, { _tag: "Released", delayMillis: 0 })
    this.#quarantine.isolate(queue, command)
    this.#handBackOthers()
    this.#trySuspect()
  }

  #trySuspect() {
    const suspect = this.isStopping ? undefined : this.#quarantine.release(this.ended)
    if (suspect === undefined) return
    const { queue, command } = suspect
    if (command.validUntil <= this.#now()) return this.#end(queue, command, { _tag: "Released", delayMillis: 0 })
    const execution = this.#find(queue, command)
    if (execution !== "ended") this.#begin(queue, command, execution, false)
  }

  #watch(queue: QueueState, running: Running, effect: Execution["execute"]) {
    const { command, execution } = running
    const fiber = execution.run(effect)
    if (queue.running.get(command.number) !== running) return fiber.interruptUnsafe()
    running.fiber = fiber
    fiber.addObserver((exit) => {
      // Another worker has claimed the command, or its timeout has replaced its fiber.
      if (queue.running.get(command.number) !== running || running.fiber !== fiber) return
      queue.running.delete(command.number)
      if (exit._tag === "Success") this.#end(queue, command, exit.value)
      else if (Cause.hasInterruptsOnly(exit.cause)) this.#end(queue, command, { _tag: "Released", delayMillis: 1000 })
      else this.#end(queue, command, defectOf("its execution failed", Cause.squash(exit.cause)))
      if (queue.waiting.length > 0) this.#startWaiting(queue)
    })
  }

  #end(queue: QueueState, { number, claim, slot, key, attempts, instance, ordered }: ClaimedCommand, verdict: Verdict) {
    queue.finished(verdict, this.#now())
    // The exchange that records its end also claims the command that waited for it.
    if (ordered && isFinal(verdict)) queue.heat()
    if (this.#quarantine.ended(number)) this.heat(undefined)
    if (this.ended.length === 0) this.firstEndedAt = this.#now()
    this.ended.push({ number, claim, verdict, queue: queue.name, slot, key, attempts, instance, ordered })
    this.#events.ended()
  }

  /** Drops commands that other workers have claimed: the store would refuse a result of this worker. */
  lose(numbers: ReadonlySet<number>) {
    for (const number of numbers) this.#quarantine.ended(number)
    for (const { queue } of this.#queues.values()) {
      const kept = queue.waiting.filter(({ number }) => !numbers.has(number))
      queue.waiting.splice(0, queue.waiting.length, ...kept)
      for (const number of numbers) {
        const running = queue.running.get(number)
        queue.running.delete(number)
        running?.fiber?.interruptUnsafe()
      }
    }
    this.#startAll()
  }

  /** Ends executions that have taken too long, whether or not they can be interrupted. Returns the next deadline. */
  endOverdue(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { queue } of this.#queues.values()) {
      for (const running of queue.running.values()) {
        if (running.deadline <= now) this.#timeOut(queue, running)
        next = Math.min(next, running.deadline)
      }
    }
    return next
  }

  #timeOut(queue: QueueState, running: Running) {
    const { execution, fiber } = running
    running.deadline = Number.POSITIVE_INFINITY
    this.#watch(queue, running, execution.conclude(tookTooLong(execution.timeoutMillis)))
    fiber?.interruptUnsafe()
  }

  /** Hands back commands that have not begun. */
  handBackWaiting() {
    const suspect = this.#quarantine.waiting
    if (suspect !== undefined) this.#end(suspect.queue, suspect.command, { _tag: "Released", delayMillis: 0 })
    this.#handBackOthers()
  }

  #handBackOthers() {
    for (const { queue } of this.#queues.values()) {
      for (const command of queue.waiting.splice(0)) this.#end(queue, command, { _tag: "Released", delayMillis: 0 })
    }
  }

  /** Hands back commands that have not ended. Returns the fibers of the handlers that this interrupts. */
  handBackRunning(): ReadonlyArray<Fiber.Fiber<unknown, unknown>> {
    const interrupted: Array<Fiber.Fiber<unknown, unknown>> = []
    for (const { queue } of this.#queues.values()) {
      const late = [...queue.running.values()]
      queue.running.clear()
      for (const { command, fiber } of late) {
        this.#end(queue, command, { _tag: "Released", delayMillis: 0 })
        if (fiber === undefined) continue
        fiber.interruptUnsafe()
        interrupted.push(fiber)
      }
    }
    return interrupted
  }
}
