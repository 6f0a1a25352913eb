import * as clients from "@detent/api/client"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { served } from "../support/served.ts"

const { withIdempotencyKey } = clients

it.live("the typed client sends a key with any change: the same again is answered, another request under the key is refused", () =>
  Effect.gen(function* () {
    const { client } = yield* served()
    const start = (id: string) => client.instances.start({ params: { machine: "tally" }, payload: { id } })
    const first = yield* start("one").pipe(withIdempotencyKey("start-1"))
    assert.deepStrictEqual(yield* start("one").pipe(withIdempotencyKey("start-1")), first)
    assert.strictEqual((yield* Effect.flip(start("two").pipe(withIdempotencyKey("start-1"))))._tag, "Unprocessable")
    assert.strictEqual((yield* Effect.flip(start("one")))._tag, "Conflict")
    const pause = client.commands.pause({ params: { queue: "mails" } })
    yield* pause.pipe(withIdempotencyKey("pause-1"))
    yield* client.commands.resume({ params: { queue: "mails" } })
    yield* pause.pipe(withIdempotencyKey("pause-1"))
    const { queues } = yield* client.commands.queues()
    assert.isFalse(queues.find(({ queue }) => queue === "mails")?.paused, "the key is that of the first pause")
    const { instances } = yield* client.instances.list({ query: {} }).pipe(withIdempotencyKey("start-1"))
    assert.lengthOf(instances, 1)
  }),
)
