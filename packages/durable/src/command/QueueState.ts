/** What a worker has of one queue: commands that wait to be executed, and those that are. */
import type * as Fiber from "effect/Fiber"
import type { Verdict } from "../store/Commands.ts"
import { nextSize } from "./BatchSize.ts"
import type { Executable, Held } from "./Executable.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

export interface Running {
  readonly command: Held
  readonly executable: Executable
  /** Undefined for the moment in which it begins. */
  fiber: Fiber.Fiber<Verdict, never> | undefined
  /** When it has taken too long. */
  deadline: number
}

/** A question to the store that is on its way. */
export interface Asking {
  readonly limit: number
  /** Somebody said that there is something; otherwise it is only time to look. */
  readonly isTold: boolean
  readonly announcements: number
}

/** What came of it. */
interface Answer {
  readonly got: number
  /** When the store has something in sight. */
  readonly nextMillis: number | undefined
  /** It had more, but for the limit on how many are executed at once. */
  readonly isBusy: boolean
}

/** After commands were found that nobody told of, the next look comes soon; then less and less often. */
const firstPollMillis = 100

export class QueueState {
  readonly name: string
  readonly waiting: Array<Held> = []
  readonly running = new Map<number, Running>()
  readonly #config: WorkerConfig
  /** How many it should hold. */
  size: number
  /** There may be something to claim. */
  #isHot = true
  /** How often it was told so. */
  #announcements = 0
  /** How many are being asked for. */
  #asked = 0
  /** When to look in any case. */
  askAt = 0
  #isBusy = false
  #pollMillis = firstPollMillis
  #finished = 0
  #lookedAt: number

  constructor(name: string, config: WorkerConfig, now: number) {
    this.name = name
    this.#config = config
    this.size = config.concurrency
    this.#lookedAt = now
  }

  get held(): number {
    return this.waiting.length + this.running.size
  }

  /** Somebody says that there is something to claim. */
  heat() {
    this.#isHot = true
    this.#announcements++
  }

  /** How many to ask for. */
  wants(now: number): number {
    return this.#isHot || this.askAt <= now ? this.room : 0
  }

  /** Nothing is known that could be claimed, and it is not time to look. */
  isQuiet(now: number): boolean {
    return !this.#isHot && this.askAt > now
  }

  /** How many more it would take. */
  get room(): number {
    return Math.max(0, this.size - this.held - this.#asked)
  }

  /** So many are asked for from now on. */
  ask(limit: number): Asking {
    this.#asked += limit
    return { limit, isTold: this.#isHot, announcements: this.#announcements }
  }

  /** There was no answer. */
  unask({ limit }: Asking) {
    this.#asked -= limit
  }

  /** Commands came without a look at what else there is. */
  given(asking: Asking, commands: ReadonlyArray<Held>) {
    this.unask(asking)
    this.waiting.push(...commands)
  }

  get hasRoom(): boolean {
    return this.running.size < this.#config.concurrency
  }

  finished(verdict: Verdict, now: number) {
    this.#finished++
    // There is room for another, and the store need not be asked when this one is due again.
    if (this.#isBusy) this.#isHot = true
    if (verdict._tag === "Retry") this.askAt = Math.min(this.askAt, now + verdict.delayMillis + 1)
  }

  answered(asking: Asking, { got, nextMillis, isBusy }: Answer, now: number) {
    this.unask(asking)
    const isFull = got >= asking.limit
    const { concurrency, batchLimit, pollMillis } = this.#config
    this.size = nextSize(this.size, { finished: this.#finished, millis: now - this.#lookedAt, isFull }, concurrency, batchLimit)
    this.#finished = 0
    this.#lookedAt = now
    // What was announced since may have been stored after the store looked.
    this.#isHot = isFull || this.#announcements !== asking.announcements
    this.#isBusy = isBusy
    this.#pollMillis = got > 0 && !asking.isTold ? firstPollMillis : Math.min(pollMillis, this.#pollMillis * 2)
    const untilPoll = pollMillis === Number.POSITIVE_INFINITY ? pollMillis : this.#pollMillis
    this.askAt = now + Math.min(untilPoll, Math.max(1, nextMillis ?? Number.POSITIVE_INFINITY))
  }
}
