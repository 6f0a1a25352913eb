/** What must not pass by the limits and the roles. */
import { connect } from "node:net"
import * as clients from "@detent/api/client"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Tracer from "effect/Tracer"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, request, served } from "../support/served.ts"

const operate = "operate-0123456789abcdef"
const read = "read-0123456789abcdef"

/** The first line of the answer to a request for a live stream, which stays open until the scope ends. */
const opened = (url: string, path: string, headers = "") =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ line: string; end: () => void }>((resolve, reject) => {
          const { hostname, port, host } = new URL(url)
          const socket = connect(Number(port), hostname, () => socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n`))
          socket.once("data", (chunk) => resolve({ line: String(chunk).split("\r\n")[0] ?? "", end: () => socket.destroy() }))
          socket.once("error", reject)
        }),
    ),
    ({ end }) => Effect.sync(end),
  )

describe("the limit of live streams", () => {
  it.live.each([
    ["a parameter of the path", "/events;x", ""],
    ["an encoded letter", "/%65vents", ""],
    ["a capital letter", "/Events", ""],
    ["slashes at its end", "/events///", ""],
    [
      "an upgrade",
      "/events",
      "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    ],
  ] as const)("holds for a stream asked for with %s", ([, end, headers]) =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ serve: { limits: { streams: 1 } } })
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const first = yield* opened(url, "/api/v1/instances/tally/one/events")
      assert.include(first.line, "200")
      const second = yield* opened(url, `/api/v1/instances/tally/one${end}`, headers)
      assert.match(second.line, /^HTTP\/1.1 (503|400|404) /)
    }),
  )
})

describe("the role of a request", () => {
  it.live("is in none of its headers: no tracer sees it, and it cannot be sent with a message", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          const attribute = span.attribute.bind(span)
          span.attribute = (name, value) => {
            seen.push(`${name}=${String(value)}`)
            attribute(name, value)
          }
          return span
        },
      })
      const tokens = { token: Redacted.make(operate), readToken: Redacted.make(read) }
      const { url } = yield* Effect.provideService(served({ serve: tokens }), Tracer.Tracer, tracer)
      const answer = yield* request(`${url}/api/v1/machines`, { headers: { authorization: `Bearer ${operate}` } })
      assert.strictEqual(answer.status, 200)
      assert.isTrue(seen.some((one) => one.includes("/api/v1/machines")))
      // Statements name columns, and have no values in them.
      const isStatement = (one: string) => one.startsWith("db.query.text=")
      const secrets = seen.filter((one) => (/capability|role/i.test(one) && !isStatement(one)) || one.includes(operate))
      assert.deepStrictEqual(secrets, [])

      const headers = [
        ...new Set(seen.flatMap((one) => /^http\.request\.header\.([^=]+)=(.*)$/.exec(one)?.slice(1, 3).join("\n") ?? [])),
      ].map((one) => one.split("\n"))
      const message = {
        _tag: "Request",
        id: "1",
        tag: "batch_start",
        payload: { folder: corpusFolder, manifest: smallManifest },
        headers,
      }
      const sent = yield* request(`${url}/rpc`, {
        ...json(message, { authorization: `Bearer ${read}` }),
        body: `${JSON.stringify(message)}\n`,
      })
      assert.include(sent.text, "RoleMissing")
    }),
  )

  it.live("of a read token starts no batch over HTTP or WebSocket, and of an operate token does", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { token: Redacted.make(operate), readToken: Redacted.make(read) } })
      const payload = { folder: corpusFolder, manifest: smallManifest as never }
      for (const make of [clients.makeRpcClient, clients.makeRpcSocketClient]) {
        const reader = yield* make({ url, token: Redacted.make(read) })
        assert.strictEqual((yield* Effect.flip(reader.batch_start(payload)))._tag, "Forbidden")
        const operator = yield* make({ url, token: Redacted.make(operate) })
        assert.match((yield* operator.batch_start(payload)).batchId, /^batch-/)
      }
    }),
  )
})
