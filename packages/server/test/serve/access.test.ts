import { request as nodeRequest } from "node:http"
import * as clients from "@detent/api/client"
import { serve, TokenNeeded, TokenWeak, Workspace } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, request, served, temporaryFolder } from "../support/served.ts"

const operate = "operate-0123456789abcdef"
const read = "read-0123456789abcdef"
const tokens = { token: Redacted.make(operate), readToken: Redacted.make(read) }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const problemOf = ({ status, type, text }: { readonly status: number; readonly type: string; readonly text: string }) => {
  assert.strictEqual(type, "application/problem+json")
  const problem = JSON.parse(text)
  assert.strictEqual(problem.status, status)
  assert.isAbove(problem.detail.length, 10)
  return [status, problem.type.replace("urn:detent:problem:", "")]
}

/** With headers that fetch does not let one set. */
const raw = (url: string, headers: Record<string, string>, method = "GET") =>
  Effect.promise(
    () =>
      new Promise<{ status: number; type: string; text: string }>((resolve, reject) => {
        const sent = nodeRequest(url, { headers, method }, (response) => {
          let text = ""
          response.on("data", (chunk) => {
            text += chunk
          })
          response.on("end", () => resolve({ status: response.statusCode ?? 0, type: response.headers["content-type"] ?? "", text }))
        })
        sent.on("error", reject).end()
      }),
  )

describe("a server with tokens", () => {
  it.live("lets a token of the role read look, and one of the role operate do everything", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served({ serve: tokens })
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const looked = yield* request(`${url}/api/v1/instances/tally/one`, { headers: bearer(read) })
      assert.strictEqual(looked.status, 200)
      const refused = yield* request(`${url}/api/v1/instances/tally/one/events`, json({ _tag: "Close" }, bearer(read)))
      assert.deepStrictEqual(problemOf(refused), [403, "RoleMissing"])
      const asked = yield* request(`${url}/api/v1/knowledge/coast/sparql`, {
        method: "POST",
        headers: { "content-type": "application/sparql-query", ...bearer(read) },
        body: "ASK {}",
      })
      assert.deepStrictEqual(problemOf(asked), [404, "GraphNotFound"])
    }),
  )

  it.live.each([
    ["no token", {}, "TokenMissing"],
    ["an unknown token", bearer("operate-0123456789abcdeF"), "TokenUnknown"],
    ["a beginning of the token", bearer("operate-0123"), "TokenUnknown"],
    ["another scheme", { authorization: `Basic ${operate}` }, "TokenUnknown"],
    ["a token in a header of its own", { "x-api-key": operate }, "TokenMissing"],
    ["a token in a cookie", { cookie: `token=${operate}` }, "TokenMissing"],
    ["a capability it made up", { "x-detent-capability": "operate" }, "TokenMissing"],
  ] as const)("refuses %s", ([, headers, kind]) =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      for (const path of [
        "/api/v1/instances",
        "/api/v1/instances/tally/one",
        "/metrics",
        "/docs",
        "/openapi.json",
        "/nothing",
        "/rpc/socket",
      ]) {
        const answer = yield* request(`${url}${path}`, { headers: headers as Record<string, string> })
        assert.deepStrictEqual(problemOf(answer), [401, kind], path)
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/)
      }
    }),
  )

  it.live.each(["token", "access_token", "api_key", "Authorization"])("refuses a token in the address, as %s", (name) =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      const answer = yield* request(`${url}/api/v1/instances?${name}=${operate}`, { headers: bearer(operate) })
      assert.deepStrictEqual(problemOf(answer), [400, "TokenInAddress"])
      assert.notInclude(answer.text, operate)
    }),
  )

  it.live("answers health without one", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      assert.strictEqual((yield* request(`${url}/health/live`)).status, 200)
      assert.strictEqual((yield* request(`${url}/health/ready`)).status, 200)
    }),
  )

  it.live("never logs a token, whatever goes wrong", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))])
      yield* Effect.gen(function* () {
        const { url } = yield* served({ serve: tokens })
        yield* request(`${url}/api/v1/instances?token=${operate}`)
        yield* request(`${url}/api/v1/instances/tally/one/events`, { ...json({}), body: "{", headers: bearer(operate) })
        yield* request(`${url}/api/v1/instances/tally/none`, { headers: bearer(operate) })
        yield* Effect.logInfo("and this is logged")
      }).pipe(Effect.provide(logger))
      assert.include(lines.join(), "and this is logged")
      assert.notInclude(lines.join(), operate)
    }),
  )

  it.live.each(["http", "socket"] as const)("holds procedures to the same roles over %s, also against headers a caller adds", (protocol) =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: tokens })
      const make = protocol === "http" ? clients.makeRpcClient : clients.makeRpcSocketClient
      const reader = yield* make({ url, token: tokens.readToken })
      const start = { folder: corpusFolder, manifest: smallManifest as never }
      assert.strictEqual((yield* Effect.flip(reader.batch_start(start))).message.includes("operate"), true)
      const forged = { headers: { "x-detent-capability": "operate", authorization: `Bearer ${operate}` } }
      assert.strictEqual((yield* Effect.flip(reader.batch_start(start, forged)))._tag, "Forbidden")
      const unknown = yield* Effect.flip(reader.batch_getStatus({ batchId: "batch-000000000000" as never }))
      assert.strictEqual(unknown._tag, "NotFound")
    }),
  )
})

describe("a server without tokens", () => {
  it.live("does not start where others could reach it", () =>
    Effect.gen(function* () {
      const home = Workspace.open({ data: yield* temporaryFolder, role: "observe" })
      for (const host of ["0.0.0.0", "::", "192.168.1.7"]) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provide(serve({ host, port: 0 }), home))))
        assert.instanceOf(error, TokenNeeded)
        assert.include(error.message, "DETENT_TOKEN")
      }
      const weak = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provide(serve({ port: 0, token: Redacted.make("hunter2") }), home))))
      assert.instanceOf(weak, TokenWeak)
      assert.notInclude(weak.message, "hunter2")
    }),
  )

  it.live("refuses pages of other sites and names that were made to point here", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const { host } = new URL(url)
      const of = (headers: Record<string, string>, method = "POST") => raw(`${url}/api/v1/queues/q/pause`, headers, method)
      assert.deepStrictEqual(problemOf(yield* of({ origin: "https://evil.example" })), [403, "OtherSite"])
      assert.deepStrictEqual(problemOf(yield* of({ origin: "null" })), [403, "OtherSite"])
      assert.deepStrictEqual(problemOf(yield* of({ "sec-fetch-site": "cross-site" })), [403, "OtherSite"])
      assert.deepStrictEqual(problemOf(yield* of({ host: "evil.example" })), [421, "OtherName"])
      assert.strictEqual((yield* of({ origin: `http://${host}`, host })).status, 204)
    }),
  )
})
