/** Commands that nobody here knows: whoever runs another version may. */
import * as Effect from "effect/Effect"
import type { ClaimedCommand, Verdict } from "../store/Commands.ts"

/** How long one is left to others; doubled each time. */
const firstMillis = 5_000
const longestMillis = 300_000

export class UnknownCommands {
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #told = new Set<string>()

  constructor(run: (effect: Effect.Effect<void>) => void) {
    this.#run = run
  }

  leave({ queue, slot, claim }: ClaimedCommand): Verdict {
    if (!this.#told.has(`${queue} ${slot}`)) {
      this.#told.add(`${queue} ${slot}`)
      this.#run(Effect.logWarning(`command ${slot} of queue ${queue} is not known here and left to other workers`))
    }
    return { _tag: "Released", delayMillis: Math.min(longestMillis, firstMillis * 2 ** Math.min(20, claim - 1)) }
  }
}
