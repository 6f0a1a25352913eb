/**
 * A world without real time: processes whose fibers and sleeps are all run by hand, one after the other, in an order that
 * depends on nothing but the seed. A process can be killed between any two of its steps, frozen, and have a wrong clock.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as References from "effect/References"
import { Scheduler } from "effect/Scheduler"
import { Chance } from "./Chance.ts"

/** More steps than this without time passing is a loop that never ends. */
const stepLimit = 200_000

/** More steps than this in one schedule: time passes, but nothing comes to rest. A sound one takes fewer than 10,000. */
const totalLimit = 40_000

interface Sleeper {
  readonly at: number
  readonly order: number
  readonly process: Process
  readonly wake: () => void
  cancelled: boolean
}

export class World {
  now = 1_000_000
  readonly chance: Chance
  /** Turns with everything that happens: tells what came before what. */
  moment = 0
  /** What happened, so that a schedule that failed can be understood. */
  readonly story: Array<string> = []
  #ready: Array<readonly [Process, () => void]> = []
  #sleepers: Array<Sleeper> = []
  #order = 0

  constructor(seed: number) {
    this.chance = new Chance(seed)
  }

  tell(who: string, what: string) {
    this.story.push(`${this.now - 1_000_000} ${who}: ${what}`)
  }

  process(name: string): Process {
    return new Process(this, name)
  }

  /** To be done when all that was added before has had a turn. */
  soon(process: Process, task: () => void) {
    this.#ready.push([process, task])
  }

  /** In whole milliseconds, as real timers and clocks have them. */
  after(process: Process, millis: number, wake: () => void): () => void {
    const sleeper: Sleeper = { at: this.now + Math.max(0, Math.ceil(millis)), order: this.#order++, process, wake, cancelled: false }
    let index = this.#sleepers.length
    while (index > 0 && (this.#sleepers[index - 1] as Sleeper).at <= sleeper.at) index--
    // Latest first: the next to wake is at the end.
    this.#sleepers.splice(index, 0, sleeper)
    return () => {
      sleeper.cancelled = true
    }
  }

  /** Steps since the world began. */
  #steps = 0

  /** Lets everything happen that needs no time. */
  settle() {
    for (let step = 0; this.#ready.length > 0; step++) {
      if (step > stepLimit) throw new Error("a fiber turns round and round without time passing")
      if (++this.#steps > totalLimit) throw new Error("the engines never come to rest")
      const batch = this.#ready
      this.#ready = []
      for (const [process, task] of batch) process.step(task)
    }
  }

  /** Lets time pass. */
  advance(millis: number) {
    const until = this.now + millis
    this.settle()
    for (let next = this.#sleepers.at(-1); next !== undefined && next.at <= until; next = this.#sleepers.at(-1)) {
      this.#sleepers.pop()
      if (next.cancelled) continue
      this.now = Math.max(this.now, next.at)
      next.process.step(next.wake)
      this.settle()
    }
    this.now = until
  }
}

export class Process {
  readonly name: string
  readonly #world: World
  #alive = true
  #frozen: Array<() => void> | undefined
  /** How far its clock is off. */
  skew = 0
  /** What its fibers run with. */
  readonly context: Context.Context<never>

  constructor(world: World, name: string) {
    this.#world = world
    this.name = name
    const random = new Chance(world.chance.between(0, 2 ** 31))
    const schedule = (task: () => void) => world.soon(this, task)
    this.context = Context.make(Clock.Clock, this.#clock()).pipe(
      Context.add(Scheduler, {
        executionMode: "async",
        shouldYield: (fiber) => fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
        makeDispatcher: () => ({ scheduleTask: schedule, flush: () => undefined }),
      }),
      Context.add(Random.Random, {
        nextDoubleUnsafe: () => random.next(),
        nextIntUnsafe: () => random.between(0, 2 ** 31 - 1),
      }),
      Context.add(References.CurrentLoggers, new Set()),
    ) as Context.Context<never>
  }

  get isAlive(): boolean {
    return this.#alive
  }

  get isFrozen(): boolean {
    return this.#frozen !== undefined
  }

  get isUp(): boolean {
    return this.#alive && this.#frozen === undefined
  }

  /** As with kill -9: not one more of its steps is taken. */
  kill() {
    this.#alive = false
  }

  freeze() {
    this.#frozen ??= []
  }

  thaw() {
    const held = this.#frozen ?? []
    this.#frozen = undefined
    for (const task of held) this.#world.soon(this, task)
  }

  /** Takes a step now, or when it is thawed, or never. */
  step(task: () => void) {
    if (!this.#alive) return
    if (this.#frozen !== undefined) this.#frozen.push(task)
    else {
      this.#world.moment++
      task()
    }
  }

  /** In so many milliseconds, if it still lives. */
  soon(millis: number, task: () => void) {
    this.#world.after(this, millis, task)
  }

  /** Runs an Effect in this process and tells how it ended, unless the process dies before. */
  run<A, E>(effect: Effect.Effect<A, E>, ended: (exit: Exit.Exit<A, E>) => void): void {
    this.#world.soon(this, () => {
      const fiber: Fiber.Fiber<A, E> = Effect.runForkWith(this.context)(effect)
      fiber.addObserver(ended)
    })
  }

  #clock(): Clock.Clock {
    const millis = () => this.#world.now + this.skew
    const nanos = () => BigInt(Math.round(millis() * 1_000_000))
    return {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.callback<void>((resume) => {
          const cancel = this.#world.after(this, Duration.toMillis(duration), () => resume(Effect.void))
          return Effect.sync(cancel)
        }),
    }
  }
}
