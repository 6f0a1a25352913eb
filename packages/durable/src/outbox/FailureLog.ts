/**
 * The log of failed executions: a warning for each that is tried again, an error for each command that failed for good. A queue gets at
 * most `lineLimit` lines of a kind a second, then one with the count of the rest, so that an outage does not fill the log.
 */
import { joinLines } from "@detent/machine/internal"
import type { Verdict } from "@detent/store"
import { Wakeup } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Ended } from "./Execution.ts"

/** The most lines of one queue and kind in one period. */
export const lineLimit = 10

const periodMillis = 1000

type Failed = Extract<Verdict, { readonly _tag: "Retry" | "Failed" }>

interface Period {
  readonly queue: string
  readonly kind: Failed["_tag"]
  /** How many executions failed in this period. */
  count: number
}

export class FailureLog {
  /** The current period of each queue and kind with failures. Empty between periods. */
  readonly #periods = new Map<string, Period>()
  readonly #begun = new Wakeup()

  /** Ends each period with the count of the failures that it left out. The end of the scope ends the last period. */
  readonly start: Effect.Effect<void, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    yield* Effect.addFinalizer(() => this.#end)
    const period = Effect.andThen(Effect.andThen(this.#begun.wait(Number.POSITIVE_INFINITY), Effect.sleep(periodMillis)), this.#end)
    yield* Effect.forkScoped(Effect.forever(period))
  })

  /** Logs the failures among the commands that the store has recorded. */
  record(ended: ReadonlyArray<Ended>, refused: ReadonlyArray<number>): Effect.Effect<void> {
    const lines: Array<Effect.Effect<void>> = []
    for (const one of ended) {
      const { number, queue, verdict } = one
      if ((verdict._tag !== "Retry" && verdict._tag !== "Failed") || refused.includes(number)) continue
      const period = this.#period(queue, verdict._tag)
      if (++period.count <= lineLimit) lines.push(lineOf(one, verdict))
    }
    return lines.length === 0 ? Effect.void : Effect.all(lines, { discard: true })
  }

  #period(queue: string, kind: Failed["_tag"]): Period {
    const name = `${kind} ${queue}`
    const current = this.#periods.get(name)
    if (current !== undefined) return current
    if (this.#periods.size === 0) this.#begun.wake()
    const period: Period = { queue, kind, count: 0 }
    this.#periods.set(name, period)
    return period
  }

  get #end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const omitted = [...this.#periods.values()].filter(({ count }) => count > lineLimit)
      this.#periods.clear()
      return Effect.forEach(omitted, countOf, { discard: true })
    })
  }
}

/** The problem is the text that `DeadLetters` shows: sensitive fields are hidden in it. The error itself may have others. */
const lineOf = ({ queue, slot, key, attempts }: Ended, verdict: Failed): Effect.Effect<void> => {
  const command = `command ${key} (${slot} of queue ${queue})`
  const problem = joinLines(verdict.problem, " ")
  const line =
    verdict._tag === "Retry"
      ? Effect.logWarning(`${command} failed in attempt ${attempts} and is tried again in ${Math.ceil(verdict.delayMillis)} ms: ${problem}`)
      : Effect.logError(
          `${command} failed for good in attempt ${attempts}: ${problem}; call DeadLetters.retry or DeadLetters.skip${
            verdict.frames === undefined ? "" : `\n${verdict.frames}`
          }`,
        )
  return Effect.annotateLogs(line, { queue, slot, key })
}

const countOf = ({ queue, kind, count }: Period): Effect.Effect<void> => {
  const others = count - lineLimit
  const line =
    kind === "Retry"
      ? Effect.logWarning(`${others} more executions of queue ${queue} failed within a second and are tried again`)
      : Effect.logError(`${others} more commands of queue ${queue} failed for good within a second; see DeadLetters.list`)
  return Effect.annotateLogs(line, { queue })
}
