import * as clients from "@detent/api/client"
import { BatchId } from "@detent/knowledge"
import { defineConfig, Server, serve, Workspace } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { request, served, temporaryFolder } from "../support/served.ts"
import { Tally } from "../support/Tally.ts"

/** A server of a project that has only machines of its own. */
const plain = Effect.gen(function* () {
  const home = Workspace.open({ data: yield* temporaryFolder, role: "work", config: defineConfig({ machines: [Tally] }) })
  const context = yield* Layer.build(Layer.provide(serve({ port: 0 }), home))
  return Context.get(context, Server).url
})

const pathsOf = (url: string) =>
  Effect.map(request(`${url}/openapi.json`), ({ text }) => Object.keys((JSON.parse(text) as { readonly paths: object }).paths))

describe("a server whose systems are off", () => {
  it.live("has no routes of theirs, and says how to turn them on", () =>
    Effect.gen(function* () {
      const url = yield* plain
      const paths = yield* pathsOf(url)
      assert.include(paths, "/api/v1/machines")
      assert.deepStrictEqual(
        paths.filter((path) => /\/(batch|knowledge|uploads|items)/.test(path)),
        [],
      )
      for (const path of ["/api/v1/batch", "/api/v1/batch/batch-000000000000", "/api/v1/knowledge/people"]) {
        const { status, text } = yield* request(`${url}${path}`)
        assert.strictEqual(status, 404, path)
        assert.include(text, "knowledge is off; add `knowledge: {}` to detent.config.ts, and restart the server")
      }
      for (const path of ["/api/v1/uploads", "/api/v1/upload-kinds", "/api/v1/upload-kinds/Items/items"]) {
        const { status, text } = yield* request(`${url}${path}`)
        assert.strictEqual(status, 404, path)
        assert.include(text, "uploads are off; add")
      }
      const other = yield* request(`${url}/api/v1/batches`)
      assert.include(other.text, "RouteNotFound")
      const rpc = yield* clients.makeRpcClient({ url })
      const batchId = BatchId.make("batch-000000000000")
      for (const call of [rpc.batch_getStatus({ batchId }), Stream.runDrain(rpc.batch_streamProgress({ batchId }))]) {
        const refused = yield* Effect.flip(call)
        assert.strictEqual(refused._tag, "NotFound")
        assert.include(refused.message, "knowledge is off; add")
      }
    }),
  )

  it.live("lists only machines of the project, and names no system", () =>
    Effect.gen(function* () {
      const url = yield* plain
      const { machines } = JSON.parse((yield* request(`${url}/api/v1/machines`)).text) as { machines: Array<{ name: string }> }
      assert.deepStrictEqual(
        machines.map(({ name }) => name),
        ["tally"],
      )
      assert.deepInclude(JSON.parse((yield* request(`${url}/health/ready`)).text), { systems: [] })
      assert.deepInclude(JSON.parse((yield* request(`${url}/health/live`)).text), { systems: [] })
    }),
  )
})

describe("a server whose systems are on", () => {
  it.live("has their routes and names them", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const paths = yield* pathsOf(url)
      assert.includeMembers(paths, ["/api/v1/batch", "/api/v1/uploads", "/api/v1/knowledge/{namespace}", "/api/v1/executions"])
      assert.deepInclude(JSON.parse((yield* request(`${url}/health/ready`)).text), { systems: ["knowledge", "uploads"] })
      assert.strictEqual((yield* request(`${url}/api/v1/batch`)).status, 200)
      assert.strictEqual((yield* request(`${url}/api/v1/uploads`)).status, 200)
    }),
  )
})

describe("limits of a configuration", () => {
  it.live("hold for the server", () =>
    Effect.gen(function* () {
      const config = defineConfig({ machines: [Tally], limits: { http: { bodyBytes: 64 } } })
      const { url } = yield* served({ config })
      const body = JSON.stringify({ id: "x".repeat(100) })
      const answer = yield* request(`${url}/api/v1/instances/tally`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      })
      assert.strictEqual(answer.status, 413)
      assert.include(answer.text, "64")
    }),
  )
})
