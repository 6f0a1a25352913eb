/** One queue of a worker: its waiting and running commands, and when to ask the store for more. */

import type { Verdict } from "@detent/store"
import type * as Fiber from "effect/Fiber"
import type { Execution, Held } from "./Execution.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

export interface Running {
  readonly command: Held
  readonly execution: Execution
  /** Undefined while it begins. */
  fiber: Fiber.Fiber<Verdict, never> | undefined
  /** When its timeout ends it. */
  deadline: number
}

/** A request to the store that is in flight. */
export interface Asking {
  readonly limit: number
  /** Commands were announced; otherwise it is a poll. */
  readonly isAnnounced: boolean
  readonly announcements: number
}

interface Answer {
  readonly got: number
  /** Milliseconds until the store has commands that can be claimed; undefined if it knows of none. */
  readonly nextMillis: number | undefined
  /** The concurrency limit of the queue kept the store from returning more. */
  readonly isBusy: boolean
}

/** The pause after a poll that found commands; later pauses double. */
const firstPollMillis = 100

export class QueueState {
  readonly name: string
  readonly waiting: Array<Held> = []
  readonly running = new Map<number, Running>()
  readonly #config: WorkerConfig
  /** How many commands the worker should hold. */
  size: number
  /** There may be commands to claim. */
  #isHot = true
  #announcements = 0
  /** How many commands are requested in flight. */
  #asked = 0
  /** When to ask even without an announcement. */
  askAt = 0
  #isBusy = false
  #pollMillis = firstPollMillis
  #finished = 0
  #answeredAt: number

  constructor(name: string, config: WorkerConfig, now: number) {
    this.name = name
    this.#config = config
    this.size = config.concurrency
    this.#answeredAt = now
  }

  get held(): number {
    return this.waiting.length + this.running.size
  }

  /** There are commands to claim. */
  heat() {
    this.#isHot = true
    this.#announcements++
  }

  /** How many commands to ask for. */
  wants(now: number): number {
    return this.#isHot || this.askAt <= now ? this.room : 0
  }

  /** No command to claim is known, and it is not time to poll. */
  isQuiet(now: number): boolean {
    return !this.#isHot && this.askAt > now
  }

  /** How many more it can hold. */
  get room(): number {
    return Math.max(0, this.size - this.held - this.#asked)
  }

  ask(limit: number): Asking {
    this.#asked += limit
    return { limit, isAnnounced: this.#isHot, announcements: this.#announcements }
  }

  /** The request failed. */
  unask({ limit }: Asking) {
    this.#asked -= limit
  }

  /** Adds commands of a direct handoff, which does not show the rest of the queue. */
  given(asking: Asking, commands: ReadonlyArray<Held>) {
    this.unask(asking)
    this.waiting.push(...commands)
  }

  get hasRoom(): boolean {
    return this.running.size < this.#config.concurrency
  }

  finished(verdict: Verdict, now: number) {
    this.#finished++
    // The concurrency limit now allows another command. A retry is due at a known time, so the store need not be asked for it.
    if (this.#isBusy) this.#isHot = true
    if (verdict._tag === "Retry") this.askAt = Math.min(this.askAt, now + verdict.delayMillis + 1)
  }

  answered(asking: Asking, { got, nextMillis, isBusy }: Answer, now: number) {
    this.unask(asking)
    const isFull = got >= asking.limit
    const { concurrency, batchLimit, pollMillis } = this.#config
    this.size = nextSize(this.size, { finished: this.#finished, millis: now - this.#answeredAt, isFull }, concurrency, batchLimit)
    this.#finished = 0
    this.#answeredAt = now
    // A command that was announced since the request may have been stored after the store read the queue.
    this.#isHot = isFull || this.#announcements !== asking.announcements
    this.#isBusy = isBusy
    this.#pollMillis = got > 0 && !asking.isAnnounced ? firstPollMillis : Math.min(pollMillis, this.#pollMillis * 2)
    const untilPoll = pollMillis === Number.POSITIVE_INFINITY ? pollMillis : this.#pollMillis
    this.askAt = now + Math.min(untilPoll, Math.max(1, nextMillis ?? Number.POSITIVE_INFINITY))
  }
}

/** The commands that a worker holds should keep it busy for about this long. */
const aimMillis = 100

export interface Pace {
  /** Commands that ended since the last answer. */
  readonly finished: number
  readonly millis: number
  /** Whether the queue had as many commands as were asked for. */
  readonly isFull: boolean
}

/**
 * How many commands of a queue a worker holds. It claims quick ones by the hundred, so that they share one commit; of slow ones it holds no
 * more than it executes, so that other workers get the rest.
 */
export const nextSize = (size: number, { finished, millis, isFull }: Pace, least: number, most: number): number => {
  if (!isFull) return Math.max(least, Math.min(size, most))
  const wished = millis <= 0 ? size * 2 : (finished / millis) * aimMillis
  return Math.round(Math.max(least, Math.min(wished, size * 2, most)))
}
