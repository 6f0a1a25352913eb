/** The ids under which nodes send events to each other are forgotten after an hour; those that senders chose are not. */
import { Engine, type EngineService, Placement } from "@detent/durable"
import { Event, Machine, State, stay } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import { freePort } from "../../durable/test/support/freePort.ts"
import { freshDatabase } from "../../durable/test/support/Postgres.ts"
import { makeDeliveryIds } from "../src/DeliveryIds.ts"
import { layerNode } from "./support/nodes.ts"

const S = State({ Open: {} })
const E = Event({ Note: { text: Schema.String } })
const Notebook = Machine.make({ name: "notebook", state: S, event: E, initial: S.Open() }).on(S.Open, E.Note, stay)

const hour = 60 * 60 * 1000

const startNode = (url: string) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(layerNode(url, `127.0.0.1:${yield* freePort}`))
    const engine = Context.get(context, Engine)
    yield* engine.register(Notebook)
    return { engine, context, placement: Context.get(context, Placement) }
  })

/** An id of an instance that a node does not have. */
const elsewhere = ({ placement }: { readonly placement: Context.Service.Shape<typeof Placement> }): string => {
  for (let number = 0; ; number++)
    if (placement.routing?.isLocal({ machine: Notebook.name, id: `n-${number}` }) === false) return `n-${number}`
}

describe("ids of deliveries", () => {
  it.live(
    "are forgotten when the event is an hour old and was stored a while ago; the sender's own ids stay",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const [sender, owner] = yield* Effect.all([startNode(url), startNode(url)], { concurrency: 2 })
        const held = (node: typeof sender) => node.placement.routing?.shards().held.length ?? 0
        yield* Effect.repeat(Effect.sleep(50), { until: () => held(sender) > 0 && held(sender) + held(owner) === 300 && held(owner) > 0 })
        const id = elsewhere(sender)
        const note = (engine: EngineService, text: string, options?: { readonly id: string }) =>
          Effect.flatMap(engine.ensure(Notebook, id), (notebook) => notebook.send(E.Note({ text }), options))
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          const ids = yield* makeDeliveryIds("detent")
          const dedupeIds = Effect.map(
            sql<{
              readonly sequence: number
              readonly dedupe_id: string | null
            }>`select sequence, dedupe_id from detent.events order by sequence`,
            (rows) => rows.map(({ dedupe_id }) => dedupe_id?.replace(/^(@delivery\/).*/, "$1") ?? "none"),
          )
          /** A moment after all that was stored until now: it waits for transactions in other databases of the server as well. */
          const laterMoment = Effect.gen(function* () {
            const [last] = yield* sql<{ readonly id: string }>`select pg_current_xact_id()::text as id`
            const ended = sql<{
              readonly ended: boolean
            }>`select pg_snapshot_xmin(pg_current_snapshot()) > ${last?.id}::xid8 as ended`
            yield* Effect.repeat(Effect.delay(ended, 20), { until: ([row]) => row?.ended === true })
            return yield* ids.moment
          })
          yield* note(sender.engine, "old")
          yield* note(sender.engine, "old, under an id of its sender", { id: "mine" })
          yield* note(sender.engine, "young")
          const moment = yield* ids.moment
          yield* note(sender.engine, "stored late, by a clock that is behind")
          assert.deepStrictEqual(yield* dedupeIds, ["@delivery/", "mine", "@delivery/", "@delivery/"])
          yield* sql`update detent.events set at = at - ${2 * hour} where sequence = 4`
          // A row that is updated counts as stored anew.
          const forgetting = (before: string) => ids.forget(hour, before)
          assert.strictEqual(yield* forgetting(moment), 0, "none is an hour old and stored before the moment")
          yield* sql`update detent.events set at = at - ${2 * hour} where sequence in (1, 2)`
          const later = yield* laterMoment
          assert.strictEqual(yield* forgetting(moment), 0, "their rows are younger than the moment")
          yield* sql`update detent.events set at = at - ${2 * hour} where sequence = 4`
          assert.strictEqual(
            yield* forgetting(later),
            1,
            "the first: the second has its sender's id, the fourth is younger than the moment",
          )
          assert.deepStrictEqual(yield* dedupeIds, ["none", "mine", "@delivery/", "@delivery/"])
          assert.strictEqual(yield* forgetting(yield* laterMoment), 1, "the fourth, after another moment")
          assert.deepStrictEqual(yield* dedupeIds, ["none", "mine", "@delivery/", "none"])
          // An id that stays still answers.
          yield* note(owner.engine, "old, under an id of its sender", { id: "mine" })
          assert.lengthOf(yield* dedupeIds, 4)
        }).pipe(Effect.provide(sender.context))
      }),
    60_000,
  )
})
