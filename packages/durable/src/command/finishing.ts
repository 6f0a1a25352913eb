/** Counts what became of commands, once the table has it. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { Finished, Verdict } from "../Commands.ts"
import { commandsCompleted, commandsFailed, commandsLost, commandsReleased, commandsRetried, commandsSkipped } from "./CommandMetrics.ts"

const counters: { readonly [K in Verdict["_tag"]]: Metric.Counter<number> } = {
  Completed: commandsCompleted,
  Skipped: commandsSkipped,
  Failed: commandsFailed,
  Retry: commandsRetried,
  Released: commandsReleased,
}

export const countFinished = (finished: ReadonlyArray<Finished>, refused: ReadonlyArray<number>): Effect.Effect<void> => {
  if (finished.length === 0) return Effect.void
  const lost = new Set(refused)
  const counts = new Map<Verdict["_tag"], number>()
  for (const { number, verdict } of finished) if (!lost.has(number)) counts.set(verdict._tag, (counts.get(verdict._tag) ?? 0) + 1)
  const counted = Effect.forEach(counts, ([tag, count]) => Metric.update(counters[tag], count), { discard: true })
  return lost.size === 0 ? counted : Effect.andThen(counted, Metric.update(commandsLost, lost.size))
}
