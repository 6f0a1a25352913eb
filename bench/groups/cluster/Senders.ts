/** Concurrent senders. Each sends its next event when the last one is answered. */
import * as Effect from "effect/Effect"
import type { Sent } from "./Team.ts"

/** Sends until the time is over. An error counts as failed, and the sender continues. */
export const sendFor = async (
  millis: number,
  sends: ReadonlyArray<Effect.Effect<unknown, unknown>>,
  run: (effect: Effect.Effect<void>) => Promise<void>,
): Promise<Sent> => {
  let done = 0
  let failed = 0
  const cpu = process.cpuUsage()
  const start = performance.now()
  const sending = Effect.fnUntraced(function* (send: Effect.Effect<unknown, unknown>) {
    const counted = Effect.match(send, {
      onSuccess: () => {
        done++
      },
      onFailure: () => {
        failed++
      },
    })
    while (performance.now() - start < millis) yield* counted
  })
  await run(Effect.forEach(sends, sending, { concurrency: "unbounded", discard: true }))
  const elapsed = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { done, failed, millis: elapsed, cpuMicros: user + system }
}
