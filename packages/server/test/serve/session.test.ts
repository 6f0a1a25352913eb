import { request as nodeRequest } from "node:http"
import { isAbsolute } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { cookieName, SessionCookies, sessionMillis } from "../../src/serve/Sessions.ts"
import { json, request, served } from "../support/served.ts"

const operate = "operate-0123456789abcdef"
const read = "read-0123456789abcdef"
const tokens = { token: Redacted.make(operate), readToken: Redacted.make(read) }
const both = { operate: tokens.token, read: tokens.readToken }

const nameOf = ({ status, text }: { readonly status: number; readonly text: string }) => [
  status,
  JSON.parse(text).type.replace("urn:detent:problem:", ""),
]

/** Opens a session as a page does, and returns what the browser would send from then on. */
const opened = (url: string, token: string, headers: Record<string, string> = {}) =>
  Effect.map(request(`${url}/api/v1/session`, json({ token }, { origin: url, ...headers })), (answer) => {
    const cookie = answer.headers.get("set-cookie") ?? ""
    return { answer, cookie, headers: { cookie: cookie.split(";")[0] ?? "", origin: url } }
  })

describe("the session of a browser", () => {
  it.live("is opened with a token, by a cookie that no script reads, and shows role and server", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      const { answer, cookie, headers } = yield* opened(url, read)
      const { port } = new URL(url)
      assert.match(
        cookie,
        new RegExp(`^detent-${port}=read\\.[0-9a-z]+\\.\\.[\\w-]{43}; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict$`),
      )
      assert.notInclude(cookie, read)
      const shown = JSON.parse((yield* request(`${url}/api/v1/session`, { headers })).text)
      assert.deepStrictEqual(shown, JSON.parse(answer.text))
      assert.deepInclude(shown, { role: "read", observes: false, database: "Sqlite", version: "0.1.0", systems: ["knowledge", "uploads"] })
      assert.isTrue(shown.needsToken)
      assert.isTrue(isAbsolute(shown.data), "the folder is not the default one, nor below that of this process")
      assert.match(shown.node, /^[0-9a-f]{16}\/1$/)
      assert.isAbove(shown.expiresAt, Date.now() + sessionMillis - 60_000)
    }),
  )

  it.live("is refused for another token, and none is shown without one", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      const { answer, cookie } = yield* opened(url, "operate-0123456789abcdeF")
      assert.deepStrictEqual(nameOf(answer), [401, "TokenUnknown"])
      assert.strictEqual(cookie, "")
      assert.deepStrictEqual(nameOf(yield* request(`${url}/api/v1/session`)), [401, "TokenMissing"])
      assert.deepStrictEqual(nameOf(yield* request(`${url}/api/v1/session`, json({}))), [401, "TokenUnknown"])
    }),
  )

  it.live("is for TLS only where the page came over TLS", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      const secure = url.replace("http:", "https:")
      assert.include((yield* opened(url, read, { origin: secure })).cookie, "; Secure")
      assert.include((yield* opened(url, read, { "x-forwarded-proto": "https" })).cookie, "; Secure")
    }),
  )

  it.live("may do what its role may, and changes things only from the server's own page", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served({ serve: tokens })
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const events = `${url}/api/v1/instances/tally/one/events`
      const reader = yield* opened(url, read)
      const operator = yield* opened(url, operate)
      const send = (headers: Record<string, string>) => request(events, json({ _tag: "Add", by: 1 }, headers))
      assert.strictEqual((yield* request(`${url}/api/v1/instances/tally/one`, { headers: reader.headers })).status, 200)
      assert.deepStrictEqual(nameOf(yield* send(reader.headers)), [403, "RoleMissing"])
      assert.strictEqual((yield* send(operator.headers)).status, 200)
      const { cookie } = operator.headers
      assert.deepStrictEqual(nameOf(yield* send({ cookie })), [403, "OriginMissing"])
      assert.deepStrictEqual(nameOf(yield* send({ cookie, origin: "http://127.0.0.1:1" })), [403, "OtherSite"])
      assert.deepStrictEqual(nameOf(yield* send({ ...operator.headers, "content-type": "text/plain" })), [415, "UnsupportedType"])
      const state = JSON.parse((yield* request(`${url}/api/v1/instances/tally/one`, { headers: operator.headers })).text).state
      assert.strictEqual(state.count, 1)
    }),
  )

  it.live("is not used by pages on other ports of the host, nor for procedures", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      const { headers } = yield* opened(url, operate)
      const raw = (path: string, more: Record<string, string>) => rawRequest(`${url}${path}`, { ...headers, ...more })
      assert.deepStrictEqual(nameOf(yield* raw("/api/v1/machines", { "sec-fetch-site": "same-site" })), [403, "OtherSite"])
      assert.strictEqual((yield* raw("/api/v1/machines", { "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" })).status, 200)
      assert.strictEqual((yield* raw("/api/v1/machines", { "sec-fetch-site": "same-origin" })).status, 200)
      assert.deepStrictEqual(nameOf(yield* request(`${url}/rpc`, json([], headers))), [401, "TokenMissing"])
    }),
  )

  it.live("ends, and needs no token where the server has none", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      const { headers } = yield* opened(url, operate)
      const ended = yield* request(`${url}/api/v1/session`, { method: "DELETE", headers })
      assert.strictEqual(ended.status, 204)
      assert.match(ended.headers.get("set-cookie") ?? "", /^detent-\d+=; Max-Age=0;/)
      const open = yield* served()
      const shown = yield* request(`${open.url}/api/v1/session`, json({}))
      assert.deepInclude(JSON.parse(shown.text), { role: "operate" })
      assert.isNull(shown.headers.get("set-cookie"))
    }),
  )
})

const rawRequest = (url: string, headers: Record<string, string>) =>
  Effect.promise(
    () =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        nodeRequest(url, { headers }, (response) => {
          let text = ""
          response.setEncoding("utf8")
          response.on("data", (chunk) => {
            text += chunk
          })
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
        })
          .on("error", reject)
          .end()
      }),
  )

describe("the cookie of a session", () => {
  const host = "localhost:4400"
  const sent = (value: string, name = cookieName(host)) => ({ headers: { host, cookie: `other=1; ${name}=${value}; last=2` } })

  it("is accepted by every server with the same token until it expires, and by none with another", () => {
    let now = 1_000_000
    const one = new SessionCookies(both, () => now)
    const { value } = one.begin("operate") ?? { value: "" }
    const expected = { role: "operate", expiresAt: 1_000_000 + sessionMillis }
    assert.deepStrictEqual(one.of(sent(value)), expected)
    assert.deepStrictEqual(new SessionCookies(both, () => now).of(sent(value)), expected)
    const changed = { ...both, operate: Redacted.make("operate-fedcba9876543210") }
    assert.isUndefined(new SessionCookies(changed, () => now).of(sent(value)))
    assert.isUndefined(one.of(sent(value, cookieName("localhost:4401"))))
    now += sessionMillis
    assert.isUndefined(one.of(sent(value)))
  })

  it("cannot be given another role, expiry or signature", () => {
    const cookies = new SessionCookies(both, () => 1_000_000)
    const [role, expiry = "", , signature = ""] = cookies.begin("read")?.value.split(".") ?? []
    assert.strictEqual(role, "read")
    for (const forged of [
      `operate.${expiry}..${signature}`,
      `read.${expiry}z..${signature}`,
      `read.${expiry}.${"A".repeat(43)}.${signature}`,
      `read.${expiry}..${"A".repeat(43)}`,
      `read.${expiry}.${signature}`,
      `read.${expiry}..`,
      `read.${expiry}`,
      "",
    ])
      assert.isUndefined(cookies.of(sent(forged)), forged)
    assert.deepInclude(cookies.of(sent(`read.${expiry}..${signature}`)), { role: "read" })
  })

  it("is renewed in its second half", () => {
    let now = 0
    const cookies = new SessionCookies(both, () => now)
    const session = cookies.begin("read")
    assert.isFalse(session !== undefined && cookies.isAging(session))
    now = sessionMillis / 2 + 1
    assert.isTrue(session !== undefined && cookies.isAging(session))
  })
})
