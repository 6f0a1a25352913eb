/** A deployment that stored instances do not fit: what operators see of it, without a caller that opens one of them. */
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { request, served, temporaryFolder } from "../support/served.ts"

const S = State({ Open: { count: Schema.Int } })
const E1 = Event({ Add: {} })
const E2 = Event({ Add: { by: Schema.Int } })

const before = Machine.make({ name: "order", state: S, event: E1, initial: S.Open({ count: 0 }) }).on(S.Open, E1.Add, S.Open, ({ state }) =>
  S.Open({ count: state.count + 1 }),
)
const after = Machine.make({ name: "order", state: S, event: E2, initial: S.Open({ count: 0 }) }).on(
  S.Open,
  E2.Add,
  S.Open,
  ({ state, event }) => S.Open({ count: state.count + event.by }),
)

const deployed = (home: { readonly data: string; readonly database?: string }) =>
  Effect.gen(function* () {
    const ids = Array.from({ length: 70 }, (_, index) => `o-${index}`)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { client } = yield* served({ ...home, config: defineConfig({ machines: [before] }) })
        for (const id of ids) {
          yield* client.instances.start({ params: { machine: "order" }, payload: { id } })
          yield* client.instances.send({ params: { machine: "order", id }, payload: { _tag: "Add" }, headers: {} })
        }
      }),
    )
    const { client, url } = yield* served({ ...home, config: defineConfig({ machines: [after] }) })
    const ready = yield* Effect.repeat(Effect.delay(client.ready(), "200 millis"), {
      until: ({ instancesChecked: isChecked }) => isChecked,
    })
    assert.deepInclude(ready, { status: "ready", instancesHeld: ids.length, instancesChecked: true })
    assert.match((yield* request(`${url}/metrics`)).text, /^detent_instances_held\{machine="order"\} 70$/m)
    const { machines } = yield* client.machines.list()
    assert.strictEqual(machines.find(({ name }) => name === "order")?.held, ids.length)
    const { instances } = yield* client.instances.list({ query: { status: "held", limit: 1000 } })
    assert.lengthOf(instances, ids.length)
    for (const { reason } of instances) assert.match(reason ?? "", /by/)
  })

describe("a deployment that stored instances do not fit is reported by readiness, metrics and lists", () => {
  it.live("on SQLite", () => Effect.flatMap(temporaryFolder, (data) => deployed({ data })))

  it.live("on PostgreSQL", () =>
    Effect.gen(function* () {
      yield* deployed({ data: yield* temporaryFolder, database: yield* freshDatabase })
    }),
  )
})
