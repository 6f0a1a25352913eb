import * as clients from "@detent/api/client"
import { Engine } from "@detent/durable"
import { defineConfig, Workspace } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { openEvents } from "../support/eventStream.ts"
import { request, served } from "../support/served.ts"
import { Tally } from "../support/Tally.ts"

const start = (id: string) => ({ params: { machine: "tally" }, payload: { id } })

describe("the live stream of everything", () => {
  it.live("names what changed, with the counts by state, and holds to the topics asked for", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const all = yield* openEvents(`${url}/api/v1/live`)
      const counts = yield* openEvents(`${url}/api/v1/live?topics=counts,node`)
      assert.strictEqual(all.response.headers["content-type"], "text/event-stream")
      yield* client.instances.start(start("one"))
      yield* all.until(({ event, data }) => event === "changed" && data.id === "one" && data.sequence === 0)
      yield* client.instances.send({ params: { machine: "tally", id: "one" }, headers: {}, payload: { _tag: "Pause" } })
      const paused = yield* all.until(({ event, data }) => event === "changed" && data.sequence === 1)
      assert.deepStrictEqual(paused.data, { machine: "tally", id: "one", state: "Paused", status: "running", sequence: 1 })
      const counted = yield* counts.until(({ event, data }) => event === "counts" && data.machines.tally?.Paused === 1)
      assert.deepStrictEqual(counted.data.machines, { tally: { Paused: 1 } })
      assert.isFalse(counts.events.some(({ event }) => event === "changed"))
      yield* counts.until(({ event }) => event === "beat")
      yield* all.until(({ event }) => event === "queue")
    }),
  )

  it.live("says that many changed where more than 200 did at once", () =>
    Effect.gen(function* () {
      const { context, url } = yield* served()
      const { until } = yield* openEvents(`${url}/api/v1/live?topics=changed,counts`)
      yield* Effect.provideContext(
        Effect.flatMap(Engine, (engine) =>
          engine.startAll(
            Tally,
            Array.from({ length: 700 }, (_, index) => ({ id: `many-${index}`, input: undefined })),
          ),
        ),
        context,
      )
      yield* until(({ event }) => event === "many")
      yield* until(({ event, data }) => event === "counts" && data.machines.tally?.Open === 700)
    }),
  )

  it.live("tells of changes by other processes on the same file", () =>
    Effect.gen(function* () {
      const { data, url } = yield* served()
      const { until } = yield* openEvents(`${url}/api/v1/live?topics=changed`)
      const other = yield* Layer.build(Workspace.open({ data, role: "work", config: defineConfig({ machines: [Tally] }) }))
      yield* Effect.flatMap(Context.get(other, Engine).start(Tally, "elsewhere"), () => Effect.void)
      yield* until(({ event, data: changed }) => event === "changed" && changed.id === "elsewhere")
    }),
  )

  it.live("refuses topics that there are not, and callers without a token", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { token: Redacted.make("operate-0123456789abcdef") } })
      const headers = { authorization: "Bearer operate-0123456789abcdef" }
      assert.strictEqual((yield* request(`${url}/api/v1/live?topics=weather`, { headers })).status, 400)
      assert.strictEqual((yield* request(`${url}/api/v1/live`)).status, 401)
      const client = yield* clients.makeClient({ url, token: Redacted.make("operate-0123456789abcdef") })
      assert.strictEqual((yield* client.session.get()).role, "operate")
    }),
  )
})
