/** Counts what became of commands, and says which are dead letters, once the table has it. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { ClaimedCommand, Finished, Verdict } from "../store/Commands.ts"
import { commandsCompleted, commandsFailed, commandsLost, commandsReleased, commandsRetried, commandsSkipped } from "./CommandMetrics.ts"

const counters: { readonly [K in Verdict["_tag"]]: Metric.Counter<number> } = {
  Completed: commandsCompleted,
  Skipped: commandsSkipped,
  Failed: commandsFailed,
  Retry: commandsRetried,
  Released: commandsReleased,
}

/** What became of a command, and which one it was. */
export type Ended = Finished & Pick<ClaimedCommand, "queue" | "slot" | "key" | "instance" | "ordered">

/** Whether a command with this verdict is over, so that an ordered one lets the next of its instance begin. */
export const isFinal = ({ _tag }: Verdict): boolean => _tag === "Completed" || _tag === "Skipped" || _tag === "Failed"

export const tellFinished = (finished: ReadonlyArray<Ended>, refused: ReadonlyArray<number>): Effect.Effect<void> => {
  if (finished.length === 0) return Effect.void
  const lost = new Set(refused)
  const counts = new Map<Verdict["_tag"], number>()
  for (const { number, verdict } of finished) if (!lost.has(number)) counts.set(verdict._tag, (counts.get(verdict._tag) ?? 0) + 1)
  const counted = Effect.forEach(counts, ([tag, count]) => Metric.update(counters[tag], count), { discard: true })
  const dead = finished.filter(({ number, verdict }) => verdict._tag === "Failed" && !lost.has(number))
  const told = dead.length === 0 ? counted : Effect.andThen(counted, Effect.forEach(dead, logDead, { discard: true }))
  return lost.size === 0 ? told : Effect.andThen(told, Metric.update(commandsLost, lost.size))
}

/** Without the problem, which may quote what nobody else is to read: it is kept with the command. */
const logDead = ({ queue, slot, key }: Ended): Effect.Effect<void> =>
  Effect.annotateLogs(
    Effect.logWarning(
      `command ${key} (${slot} of queue ${queue}) failed for good; DeadLetters.get tells why, DeadLetters.retry or .skip is next`,
    ),
    { queue, slot, key },
  )
