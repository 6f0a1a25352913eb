/** Keeps what a worker holds: renews claims before they end, and ends executions that take too long. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import type { CommandsService } from "../store/Commands.ts"
import { commandStoreFailures, commandsLost } from "./CommandMetrics.ts"
import type { HeldCommands } from "./HeldCommands.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

/** Longer sleeps overflow the timers of the JavaScript engine. */
const longestSleep = 2 ** 31 - 1

/** How soon a store that failed is asked again. */
const retryMillis = 1000

export class ClaimRenewal {
  readonly #commands: CommandsService
  readonly #config: WorkerConfig
  readonly #clock: Clock.Clock
  readonly #load: HeldCommands
  readonly #earlier = Latch.makeUnsafe(false)
  #tickAt = Number.POSITIVE_INFINITY
  #renewAt = Number.POSITIVE_INFINITY

  constructor(commands: CommandsService, config: WorkerConfig, clock: Clock.Clock, load: HeldCommands) {
    this.#commands = commands
    this.#config = config
    this.#clock = clock
    this.#load = load
  }

  renewBy(at: number) {
    this.#renewAt = Math.min(this.#renewAt, at)
    this.tickBy(at)
  }

  tickBy(at: number) {
    if (at >= this.#tickAt) return
    this.#tickAt = at
    this.#earlier.openUnsafe()
  }

  readonly keep: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    for (;;) {
      const wait = this.#tickAt - this.#clock.currentTimeMillisUnsafe()
      if (wait > 0) {
        this.#earlier.closeUnsafe()
        yield* wait === Number.POSITIVE_INFINITY
          ? this.#earlier.await
          : Effect.raceFirst(Effect.sleep(Math.min(wait, longestSleep)), this.#earlier.await)
        continue
      }
      this.#tickAt = Number.POSITIVE_INFINITY
      const now = this.#clock.currentTimeMillisUnsafe()
      this.tickBy(this.#load.endOverdue(now))
      if (this.#renewAt <= now) yield* this.#renew
      this.tickBy(this.#renewAt)
    }
  })

  get #renew(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { name, claimMillis } = this.#config
      const held = [...this.#load.held()]
      const now = this.#clock.currentTimeMillisUnsafe()
      this.#renewAt = held.length === 0 ? Number.POSITIVE_INFINITY : now + claimMillis / 3
      const lost = new Set(yield* this.#commands.renew(name, held, claimMillis))
      for (const command of held) if (!lost.has(command.number)) command.validUntil = now + claimMillis
      // What ended meanwhile is no longer claimed, and not lost either.
      const missing = [...this.#load.held()].filter(({ number }) => lost.has(number))
      if (missing.length === 0) return
      this.#load.lose(new Set(missing.map(({ number }) => number)))
      yield* Metric.update(commandsLost, missing.length)
    }).pipe(
      Effect.catch((error) => {
        this.#renewAt = Math.min(this.#renewAt, this.#clock.currentTimeMillisUnsafe() + retryMillis)
        const told = Effect.logWarning(`a worker could not renew its claims: ${error.message}`)
        return Effect.andThen(Metric.update(commandStoreFailures, 1), told)
      }),
    )
  }
}
