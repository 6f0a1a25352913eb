import { makeInstanceTokens, OriginInvalid, serve, Workspace } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { json, request, temporaryFolder, useServed } from "../support/served.ts"
import { Tally } from "../support/Tally.ts"

const key = "operate-0123456789abcdef"
const tokens = makeInstanceTokens(key)
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const kindOf = ({ status, text }: { readonly status: number; readonly text: string }) => [status, JSON.parse(text).type.split(":").at(-1)]
const options = { token: Redacted.make(key), origins: ["https://shop.example"] }

/** The text of a stream until it contains a word. */
const textUntil = async (stream: Response, word: string) => {
  let text = ""
  for await (const chunk of stream.body ?? []) {
    text += new TextDecoder().decode(chunk)
    if (text.includes(word)) return text
  }
  return text
}

describe("a token for one instance", () => {
  const server = useServed({ serve: options })

  const started = (id: string) =>
    Effect.gen(function* () {
      const { url, client } = yield* server
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id } })
      return { url, address: `${url}/api/v1/instances/tally/${id}` }
    })

  it.live("reads and follows its instance, and sends it the events that it names", () =>
    Effect.gen(function* () {
      const { address } = yield* started("mine")
      const token = tokens.forInstance(Tally, "mine", { read: true, events: ["Add"], expiresIn: "1 hour" })
      const state = yield* request(address, { headers: bearer(token) })
      assert.deepStrictEqual([state.status, JSON.parse(state.text).state.count], [200, 0])
      assert.strictEqual((yield* request(`${address}/legal-events`, { headers: bearer(token) })).status, 200)
      const sent = yield* request(`${address}/events`, json({ _tag: "Add", by: 2 }, bearer(token)))
      assert.deepStrictEqual([sent.status, JSON.parse(sent.text).state.count], [200, 2])
      const stream = yield* Effect.promise(() => fetch(`${address}/events`, { headers: { ...bearer(token), "last-event-id": "0" } }))
      assert.include(yield* Effect.promise(() => textUntil(stream, "Add")), "Add")
    }),
  )

  it.live("may do nothing else", () =>
    Effect.gen(function* () {
      const { url, address } = yield* started("narrow")
      yield* started("other")
      const token = tokens.forInstance(Tally, "narrow", { read: true, events: ["Add"], expiresIn: "1 hour" })
      const close = yield* request(`${address}/events`, json({ _tag: "Close" }, bearer(token)))
      assert.deepStrictEqual(kindOf(close), [403, "OutOfScope"])
      assert.include(JSON.parse(close.text).detail, "Add")
      const preview = yield* request(`${address}/events?dryRun=true`, json({ _tag: "Close" }, bearer(token)))
      assert.deepStrictEqual(kindOf(preview), [403, "OutOfScope"])
      for (const path of [
        "/api/v1/instances/tally/other",
        "/api/v1/instances",
        "/api/v1/machines",
        "/api/v1/instances/tally/narrow/history",
        "/api/v1/instances/tally/narrow/timers/x/fire",
        "/metrics",
        "/openapi.json",
        "/rpc/socket",
      ])
        assert.deepStrictEqual(kindOf(yield* request(`${url}${path}`, { headers: bearer(token) })), [403, "OutOfScope"], path)
      const fork = yield* request(`${address}/fork`, json({ id: "copy", sequence: 0 }, bearer(token)))
      assert.deepStrictEqual(kindOf(fork), [403, "OutOfScope"])
      const rpc = yield* request(`${url}/rpc`, json([], bearer(token)))
      assert.deepStrictEqual(kindOf(rpc), [403, "OutOfScope"])
      const state = yield* request(address, { headers: bearer(token) })
      assert.strictEqual(JSON.parse(state.text).sequence, 0)
    }),
  )

  it.live("only sends where it may not read, and only reads where it names no event", () =>
    Effect.gen(function* () {
      const { address } = yield* started("parts")
      const sends = tokens.forInstance(Tally, "parts", { events: ["Add"], expiresIn: "1 hour" })
      assert.deepStrictEqual(kindOf(yield* request(address, { headers: bearer(sends) })), [403, "OutOfScope"])
      assert.strictEqual((yield* request(`${address}/events`, json({ _tag: "Add", by: 1 }, bearer(sends)))).status, 200)
      const reads = tokens.forInstance(Tally, "parts", { read: true, expiresIn: "1 hour" })
      assert.strictEqual((yield* request(address, { headers: bearer(reads) })).status, 200)
      assert.deepStrictEqual(kindOf(yield* request(`${address}/events`, json({ _tag: "Add", by: 1 }, bearer(reads)))), [403, "OutOfScope"])
    }),
  )

  it.live("is refused when it has expired, was changed, or was made with another key", () =>
    Effect.gen(function* () {
      const { address } = yield* started("late")
      const past = makeInstanceTokens(key, () => Date.now() - 3_600_001)
      const expired = past.forInstance(Tally, "late", { read: true, expiresIn: "1 hour" })
      assert.deepStrictEqual(kindOf(yield* request(address, { headers: bearer(expired) })), [401, "TokenExpired"])
      const other = makeInstanceTokens("other-0123456789abcdef").forInstance(Tally, "late", { read: true, expiresIn: "1 hour" })
      assert.deepStrictEqual(kindOf(yield* request(address, { headers: bearer(other) })), [401, "TokenUnknown"])
      const [prefix, content = "", signature] = tokens.forInstance(Tally, "x", { read: true, expiresIn: "1 hour" }).split(".")
      const changed = Buffer.from(Buffer.from(content, "base64url").toString().replace('"x"', '"late"')).toString("base64url")
      const forged = `${prefix}.${changed}.${signature}`
      assert.deepStrictEqual(kindOf(yield* request(address, { headers: bearer(forged) })), [401, "TokenUnknown"])
    }),
  )

  it.live("ends its stream when it expires", () =>
    Effect.gen(function* () {
      const { address } = yield* started("stream")
      const token = tokens.forInstance(Tally, "stream", { read: true, expiresIn: "2 seconds" })
      const stream = yield* Effect.promise(() => fetch(`${address}/events`, { headers: bearer(token) }))
      assert.strictEqual(stream.status, 200)
      const ended = yield* Effect.promise(() =>
        new Response(stream.body).text().then(
          () => "ended",
          () => "closed",
        ),
      )
      assert.include(["ended", "closed"], ended)
      assert.deepStrictEqual(kindOf(yield* request(`${address}/events`, { headers: bearer(token) })), [401, "TokenExpired"])
    }),
  )

  it.live("may be sent by pages of the named web applications alone", () =>
    Effect.gen(function* () {
      const { address } = yield* started("page")
      const token = tokens.forInstance(Tally, "page", { read: true, events: ["Add"], expiresIn: "1 hour" })
      const origin = "https://shop.example"
      const preflight = yield* request(`${address}/events`, {
        method: "OPTIONS",
        headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type" },
      })
      assert.strictEqual(preflight.status, 204)
      assert.strictEqual(preflight.headers.get("access-control-allow-origin"), origin)
      assert.include(preflight.headers.get("access-control-allow-headers") ?? "", "authorization")
      const sent = yield* request(
        `${address}/events`,
        json({ _tag: "Add", by: 1 }, { ...bearer(token), origin, "sec-fetch-site": "cross-site" }),
      )
      assert.deepStrictEqual([sent.status, sent.headers.get("access-control-allow-origin")], [200, origin])
      const elsewhere = { ...bearer(token), origin: "https://evil.example" }
      assert.deepStrictEqual(kindOf(yield* request(address, { headers: elsewhere })), [403, "OtherSite"])
      assert.deepStrictEqual(kindOf(yield* request(address, { headers: { origin } })), [401, "TokenMissing"])
      const cookie = yield* Effect.promise(() => fetch(`${new URL(address).origin}/api/v1/session`, json({ token: key })))
      const session = cookie.headers.get("set-cookie")?.split(";")[0] ?? ""
      assert.deepStrictEqual(kindOf(yield* request(address, { headers: { origin, cookie: session } })), [401, "TokenMissing"])
    }),
  )
})

describe("making a token for one instance", () => {
  it.each([
    ["no key", () => makeInstanceTokens(undefined), "DETENT_TOKEN"],
    ["no permission", () => tokens.forInstance(Tally, "a", { expiresIn: "1 hour" }), "read: true"],
    ["no id", () => tokens.forInstance(Tally, "", { read: true, expiresIn: "1 hour" }), "pass its id"],
    ["an unknown event", () => tokens.forInstance(Tally, "a", { events: ["Fly" as "Add"], expiresIn: "1 hour" }), "has no event Fly"],
    ["a time that is too long", () => tokens.forInstance(Tally, "a", { read: true, expiresIn: "8 days" }), "7 days"],
    ["a negative time", () => tokens.forInstance(Tally, "a", { read: true, expiresIn: -1 }), "7 days"],
  ] as const)("refuses %s with the next step", (_, make, text) => {
    assert.throws(make, text)
  })

  it.live("refuses a web application that is not named by its origin", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const opened = Workspace.open({ data, role: "work", config: { machines: [] } })
      const error = yield* Effect.flip(Layer.build(serve({ port: 0, origins: ["https://shop.example/cart"] }).pipe(Layer.provide(opened))))
      assert.instanceOf(error, OriginInvalid)
    }),
  )
})
