import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { json, request, temporaryFolder } from "../support/served.ts"

const program = join(import.meta.dirname, "serving.ts")

it.live("the program in the README serves, and what the README sends is answered", () =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.map(temporaryFolder, (cwd) =>
        spawn(process.execPath, [program], { cwd, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, PORT: "0" } }),
      ),
      (started) =>
        Effect.promise(async () => {
          started.kill("SIGTERM")
          const [code] = await once(started, "exit")
          assert.strictEqual(code, 0)
        }),
    )
    const [line] = yield* Effect.promise(() => once(child.stdout, "data"))
    const url = /http:\S+/.exec(String(line))?.[0] ?? ""
    const started = yield* request(`${url}/api/v1/instances/order`, json({ id: "order-1" }))
    assert.strictEqual(started.status, 201, started.text)
    const paid = yield* request(`${url}/api/v1/instances/order/order-1/events`, json({ _tag: "Pay" }, { "idempotency-key": "payment-77" }))
    assert.deepStrictEqual(JSON.parse(paid.text).state, { _tag: "Paid" })
  }),
)
