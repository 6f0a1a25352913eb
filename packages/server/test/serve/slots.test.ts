/** Requests of strangers take the slots of strangers only, and for a short time. */
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { json, request, served } from "../support/served.ts"

const operate = "operate-0123456789abcdef"
const known = { headers: { authorization: `Bearer ${operate}` } }

/** Connections that send a text and then nothing. They close with the scope. Each reports the first line of its answer. */
const holding = (url: string, count: number, text: string) =>
  Effect.forEach(
    Array.from({ length: count }),
    () =>
      Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<{ readonly line: Promise<string>; readonly end: () => void }>((resolve, reject) => {
              const socket = connect(Number(new URL(url).port), "127.0.0.1")
              const line = new Promise<string>((answered) => {
                socket.once("data", (data) => answered(String(data).split("\r\n")[0] ?? ""))
                socket.once("close", () => answered("closed"))
              })
              socket.once("error", reject)
              socket.write(text, () => resolve({ line, end: () => socket.destroy() }))
            }),
        ),
        ({ end }) => Effect.sync(end),
      ),
    { concurrency: "unbounded" },
  )

const bodyless = (method: string, path: string, more = "") =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 900\r\n${more}\r\n`

const limits = { requests: 3, unauthenticatedRequests: 5, unauthenticatedTimeout: "3 seconds", requestTimeout: "60 seconds" } as const

const assertServes = (url: string) =>
  Effect.gen(function* () {
    for (const path of ["/health/live", "/health/ready"]) assert.strictEqual((yield* request(`${url}${path}`)).status, 200, path)
    assert.strictEqual((yield* request(`${url}/api/v1/machines`, known)).status, 200)
  })

describe("requests without a token whose body does not arrive", () => {
  it.live("leave health and known clients their slots, and strangers get theirs back soon", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { limits, token: Redacted.make(operate) } })
      const lines = yield* holding(url, 30, bodyless("POST", "/api/v1/session"))
      yield* assertServes(url)
      const entering = request(`${url}/api/v1/session`, json({ token: operate }))
      assert.strictEqual((yield* entering).status, 503)
      const answers = yield* Effect.promise(() => Promise.all(lines.map(({ line }) => line)))
      const counted = (status: string) => answers.filter((line) => line.startsWith(`HTTP/1.1 ${status}`)).length
      assert.deepStrictEqual([counted("503"), counted("408")], [25, 5], answers.join("\n"))
      assert.strictEqual((yield* entering).status, 200)
    }),
  )

  it.live.each([
    ["for health", bodyless("GET", "/health/live")],
    ["posted to health", bodyless("POST", "/health/live")],
    ["for data", bodyless("POST", "/api/v1/batch")],
    ["of procedures", bodyless("POST", "/rpc")],
    ["of activities", bodyless("POST", "/activities/extraction", "authorization: Bearer aa.bb.cc\r\n")],
  ] as const)("take no slot of others: %s", ([, text]) =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { limits, token: Redacted.make(operate) } })
      yield* holding(url, 200, text)
      yield* assertServes(url)
    }),
  )

  it.live("leave health its slots also on a server without tokens", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { limits } })
      yield* holding(url, 200, bodyless("POST", "/api/v1/instances/tally"))
      for (const path of ["/health/live", "/health/ready"]) assert.strictEqual((yield* request(`${url}${path}`)).status, 200, path)
    }),
  )
})
