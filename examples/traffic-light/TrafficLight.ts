/**
 * A traffic light: a machine that runs by itself. Every state has a timeout, and none is final.
 *
 * Run it: `npx node examples/traffic-light/TrafficLight.ts` (two cycles, a hundred times faster than on the street)
 */
import { Event, Machine, State, spawn } from "@detent/machine"
import * as Effect from "effect/Effect"

export const S = State({ Red: {}, Green: {}, Yellow: {} })

export const E = Event({ EmergencyOverride: {} })

export const TrafficLight = Machine.make({ name: "traffic-light", state: S, event: E, initial: S.Red() })
  .timeout(S.Red, "30 seconds", S.Green)
  .timeout(S.Green, "25 seconds", S.Yellow)
  .timeout(S.Yellow, "4 seconds", S.Red)
  .on([S.Green, S.Yellow], E.EmergencyOverride, S.Red)
  // `reenter`, because a plain transition to the same state does not restart its timer: a second ambulance must get the
  // full thirty seconds, not the rest of the first.
  .reenter(S.Red, E.EmergencyOverride)

const lamps = S.$match({ Red: () => "🔴", Green: () => "🟢", Yellow: () => "🟡" })

const main = Effect.gen(function* () {
  // A definition is immutable: this is a second machine with three new timeouts.
  const quick = TrafficLight.timeout(S.Red, "300 millis", S.Green, { override: true })
    .timeout(S.Green, "250 millis", S.Yellow, { override: true })
    .timeout(S.Yellow, "40 millis", S.Red, { override: true })
  const light = yield* spawn(quick)
  const start = Date.now()
  light.subscribe((state) => console.log(`${String(Date.now() - start).padStart(4)} ms  ${lamps(state)} ${state._tag}`))
  yield* Effect.sleep("1300 millis")
  console.log("         🚑 EmergencyOverride")
  yield* light.send(E.EmergencyOverride())
  yield* Effect.sleep("500 millis")
})

if (import.meta.main) await Effect.runPromise(Effect.scoped(main))
