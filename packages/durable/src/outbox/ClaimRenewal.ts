/** Renews the claims of a worker before they expire, and ends executions that exceed their timeout. */
import type { PersistenceFailed } from "@detent/machine"
import type { CommandsService } from "@detent/store"
import { monotonicMillis, Wakeup } from "@detent/store/internal"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { commandStoreFailures, commandsLost } from "./CommandMetrics.ts"
import type { HeldCommands } from "./HeldCommands.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

export class ClaimRenewal {
  readonly #commands: CommandsService
  readonly #config: WorkerConfig
  readonly #clock: Clock.Clock
  readonly #held: HeldCommands
  readonly #earlier = new Wakeup()
  #checkAt = Number.POSITIVE_INFINITY
  #renewAt = Number.POSITIVE_INFINITY

  constructor(commands: CommandsService, config: WorkerConfig, clock: Clock.Clock, held: HeldCommands) {
    this.#commands = commands
    this.#config = config
    this.#clock = clock
    this.#held = held
  }

  renewBy(at: number) {
    this.#renewAt = Math.min(this.#renewAt, at)
    this.checkBy(at)
  }

  /** Checks executions for their timeout no later than this. */
  checkBy(at: number) {
    if (at >= this.#checkAt) return
    this.#checkAt = at
    this.#earlier.wake()
  }

  /** One turn of the loop: waits until something is due. */
  get turn(): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#untilDue
      const now = monotonicMillis(this.#clock)
      this.#checkAt = Number.POSITIVE_INFINITY
      this.checkBy(this.#held.endOverdue(now))
      if (this.#renewAt <= now) yield* this.#renew
      this.checkBy(this.#renewAt)
    }).pipe(
      // After a failure, everything is due again once the loop has paused.
      Effect.onError(() => Effect.sync(() => this.checkBy(monotonicMillis(this.#clock)))),
    )
  }

  readonly #untilDue: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    for (;;) {
      const wait = this.#checkAt - monotonicMillis(this.#clock)
      if (wait <= 0) return
      yield* this.#earlier.wait(wait)
    }
  })

  get #renew(): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const { name, claimMillis } = this.#config
      const held = [...this.#held.held()]
      const now = monotonicMillis(this.#clock)
      const lost = new Set(yield* this.#commands.renew(name, held, claimMillis))
      this.#renewAt = held.length === 0 ? Number.POSITIVE_INFINITY : now + claimMillis / 3
      for (const command of held) if (!lost.has(command.number)) command.validUntil = now + claimMillis
      // A command that has ended meanwhile is no longer claimed, and not lost either.
      const missing = [...this.#held.held()].filter(({ number }) => lost.has(number))
      if (missing.length === 0) return
      this.#held.lose(new Set(missing.map(({ number }) => number)))
      yield* Metric.update(commandsLost, missing.length)
    }).pipe(Effect.onError(() => Metric.update(commandStoreFailures, 1)))
  }
}
