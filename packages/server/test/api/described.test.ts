import * as api from "@detent/api"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { operationsOf, samples } from "../support/Operations.ts"
import { served } from "../support/served.ts"

const each = 12

/** Follows a live stream only to its headers. */
const ask = (url: string, init: RequestInit) =>
  Effect.promise(async () => {
    const abort = new AbortController()
    const response = await fetch(url, { ...init, signal: abort.signal })
    const type = response.headers.get("content-type") ?? ""
    const text = type.startsWith("text/event-stream") ? "" : await response.text()
    abort.abort()
    return { status: response.status, type, text }
  })

describe("the API as its own description tells it", () => {
  it.live("answers whatever is sent to any operation as described, refuses with problem details, and never fails", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ uploads: { maxFileBytes: 100_000 } })
      for (const id of ["one", "two/three"]) yield* client.instances.start({ params: { machine: "tally" }, payload: { id } })
      const answered = new Map<number, number>()
      for (const operation of operationsOf(api.openApi())) {
        for (const [kind, arbitrary] of [
          ["right", operation.right],
          ["wrong", operation.wrong],
        ] as const) {
          for (const { path, init } of yield* samples(arbitrary, each, 7)) {
            const { status, type, text } = yield* ask(`${url}${path}`, init)
            const about = `${kind}: ${init.method} ${path.slice(0, 200)} ${String(init.body).slice(0, 200)} -> ${status} ${text.slice(0, 300)}`
            answered.set(status, (answered.get(status) ?? 0) + 1)
            assert.isBelow(status, 500, about)
            if (status < 400) assert.isUndefined(operation.check(status, type, text), about)
            else {
              assert.strictEqual(type, "application/problem+json", about)
              const problem = JSON.parse(text)
              assert.isUndefined(status === 405 ? undefined : operation.check(status, type, text), about)
              assert.strictEqual(problem.status, status, about)
              assert.match(problem.type, /^urn:detent:problem:\w+$/, about)
              assert.isAbove(problem.detail.length, 10, about)
            }
          }
        }
      }
      // It was not an empty exercise: some were accepted, some not found, some refused.
      for (const status of [200, 400, 404]) assert.isAbove(answered.get(status) ?? 0, 20, JSON.stringify([...answered]))
      assert.strictEqual((yield* client.ready()).status, "ready")
    }),
  )
})
