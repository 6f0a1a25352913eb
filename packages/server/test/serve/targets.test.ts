/** A request is the same request however its target is written. */
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { json, request, served, useServed } from "../support/served.ts"

const operate = "operate-0123456789abcdef"
const read = "read-0123456789abcdef"

/** The first bytes of the answer to a request whose target is written as it is. The connection closes with the scope. */
const sent = (url: string, method: string, target: string, headers = "", body = "") =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<{ readonly text: string; readonly end: () => void }>((resolve, reject) => {
            const { host, port } = new URL(url)
            const socket = connect(Number(port), "127.0.0.1", () =>
              socket.write(`${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`),
            )
            socket.once("data", (data) => resolve({ text: String(data), end: () => socket.destroy() }))
            socket.once("error", reject)
          }),
      ),
      ({ end }) => Effect.sync(end),
    ),
    ({ text }) => ({ text, status: Number(text.split(" ")[1]) }),
  )

describe("the limit of live streams", () => {
  it.live("holds for a stream asked for with an absolute target", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { limits: { streams: 1 } } })
      assert.strictEqual((yield* sent(url, "GET", "/api/v1/live")).status, 200)
      for (const target of [
        `${url}/api/v1/live`,
        `${url.toUpperCase()}/api//v1/live/`,
        "//api/v1/live",
        "/api/v1/%6cive",
        "/api/v1/live/?topics=counts",
      ])
        assert.strictEqual((yield* sent(url, "GET", target)).status, 503, target)
    }),
  )
})

describe("a session", () => {
  const shared = useServed({ serve: { token: Redacted.make(operate), readToken: Redacted.make(read) } })

  const entered = (url: string, token: string) =>
    Effect.map(request(`${url}/api/v1/session`, json({ token })), ({ headers }) => headers.get("set-cookie")?.split(";")[0] ?? "")

  it.live.each(["/rpc", "//rpc", "/RPC", "/rpc/", "/%72pc", "/rpc;x", "/.//rpc"])("calls no procedures at %s", (target) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const cookie = yield* entered(url, operate)
      const body = `${JSON.stringify({ _tag: "Request", id: "1", tag: "batch_getStatus", payload: { batchId: "batch-000000000000" }, headers: [] })}\n`
      const headers = `cookie: ${cookie}\r\norigin: ${url}\r\ncontent-type: application/json\r\n`
      const answer = yield* sent(url, "POST", target, headers, body)
      assert.include([401, 404], answer.status, answer.text)
    }),
  )

  it.live("of an absolute target belongs to the host of the target", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const cookie = yield* entered(url, read)
      assert.strictEqual((yield* sent(url, "GET", `${url}/api/v1/machines`, `cookie: ${cookie}\r\n`)).status, 200)
      const elsewhere = yield* sent(url, "GET", "http://elsewhere.test:1/api/v1/machines", `cookie: ${cookie}\r\norigin: ${url}\r\n`)
      assert.strictEqual(elsewhere.status, 403)
    }),
  )

  it.live("counts although another cookie of its name comes first", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const cookie = yield* entered(url, read)
      const [name] = cookie.split("=")
      for (const first of ["", "read.0.x", `operate.zzzzzzzz.${"A".repeat(43)}`, "%"]) {
        const answer = yield* request(`${url}/api/v1/machines`, { headers: { cookie: `${name}=${first}; other=1;${cookie}` } })
        assert.strictEqual(answer.status, 200, first)
      }
      const none = yield* request(`${url}/api/v1/machines`, { headers: { cookie: `${name}=read.zzzzzzzz.${"A".repeat(43)}` } })
      assert.strictEqual(none.status, 401)
    }),
  )
})

describe("a target that is no path", () => {
  const shared = useServed()

  it.live.each(["*", "health/live"])("is refused: %s", (target) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      assert.strictEqual((yield* sent(url, "OPTIONS", target)).status, 400)
    }),
  )
})

describe("every answer", () => {
  const shared = useServed({ serve: { token: Redacted.make(operate) } })

  it.live.each([
    ["/health/live", 200],
    ["/api/v1/machines", 200],
    ["/api/v1/machines/tally/diagram/svg", 200],
    ["/api/v1/machines/none", 404],
    ["/nothing", 404],
    ["/metrics", 200],
    ["/openapi.json", 200],
    ["/docs", 200],
  ])("is neither cached nor anything else than it says, and runs nothing of others: %s", ([path, status]) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const { headers, ...answer } = yield* request(`${url}${path}`, { headers: { authorization: `Bearer ${operate}` } })
      assert.strictEqual(answer.status, status, answer.text.slice(0, 200))
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      assert.match(headers.get("cache-control") ?? "", /^no-(store|cache)$/)
      const policy = headers.get("content-security-policy") ?? ""
      assert.include(policy, "default-src 'none'")
      assert.include(policy, "frame-ancestors 'none'")
      assert.notMatch(policy, /script-src[^;]*unsafe|https?:|\*/)
    }),
  )

  it.live("that refuses a connection has them too", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const refused = yield* request(`${url}/api/v1/machines`)
      const upgrade = yield* sent(url, "GET", "/rpc/socket", "connection: Upgrade\r\nupgrade: websocket\r\n")
      assert.deepStrictEqual([refused.status, upgrade.status], [401, 401])
      assert.strictEqual(refused.headers.get("x-content-type-options"), "nosniff")
      assert.include(upgrade.text.toLowerCase(), "x-content-type-options: nosniff")
    }),
  )
})
