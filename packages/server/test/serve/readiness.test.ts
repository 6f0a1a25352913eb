import { forkLoop } from "@detent/durable"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { within } from "../../../store/test/support/patience.ts"
import { request, served } from "../support/served.ts"

describe("readiness", () => {
  it.live("147 names a background loop that is down for seconds, and is given again when the loop works again", () =>
    Effect.gen(function* () {
      const { url, context } = yield* served()
      let isBroken = true
      const turn = Effect.suspend(() =>
        isBroken ? Effect.die(new Error("connecting to postgres://detent:swordfish@db/orders\n failed")) : Effect.sleep("100 millis"),
      )
      yield* Effect.provide(forkLoop("the sweep of orders", turn), context)
      const ready = request(`${url}/health/ready`)
      const until = (status: number) =>
        Effect.repeat(ready, { until: (answer) => answer.status === status, schedule: Schedule.spaced("200 millis") }).pipe(
          within("20 seconds"),
        )
      // A loop that has just failed may recover by itself.
      assert.strictEqual((yield* ready).status, 200)

      const down = yield* until(503)
      const { type, detail } = JSON.parse(down.text)
      assert.strictEqual(type, "urn:detent:problem:NotReady")
      assert.match(detail, /^the sweep of orders has been down for \d+ s \(\d+ attempts failed\): connecting to \(address\) failed; /)
      assert.notInclude(down.text, "swordfish")
      assert.strictEqual((yield* request(`${url}/health/live`)).status, 200)
      assert.match((yield* request(`${url}/metrics`)).text, /^detent_loops_down 1$/m)

      isBroken = false
      yield* until(200)
      assert.match((yield* request(`${url}/metrics`)).text, /^detent_loops_down 0$/m)
    }),
  )
})
