import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { eventOf } from "../../src/serve/page/assets/asking.mjs"
import { Latest, type Listing } from "../../src/serve/page/assets/latest.mjs"

const now = 1_800_000_000_000
const wanted = 20

/** Many may have changed in the same millisecond, and anything between now and years ago. */
const Burst = Schema.Struct({
  size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 250 })),
  magnitude: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 36 })),
  share: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
})

const listing = (id: string, updatedAt: number): Listing => ({
  machine: "tally",
  id,
  state: "Open",
  status: "running",
  sequence: 0,
  version: 1,
  startedAt: updatedAt,
  updatedAt,
})

const storeOf = (bursts: ReadonlyArray<typeof Burst.Type>) => {
  const instances = bursts.flatMap(({ size, magnitude, share }, burst) =>
    Array.from({ length: size }, (_, index) => listing(`${burst}-${index}`, now - Math.floor(2 ** (magnitude + share)))),
  )
  let asked = 0
  return {
    add: (one: Listing) => void instances.push(one),
    newest: () =>
      instances
        .map(({ updatedAt }) => updatedAt)
        .sort((a, b) => b - a)
        .slice(0, wanted),
    asked: () => asked,
    /** As the server does it: oldest change first. */
    ask: async (path: string) => {
      asked++
      const query = new URL(path, "http://localhost").searchParams
      const after = Number(query.get("updatedAfter") ?? -1)
      const limit = Number(query.get("limit"))
      const found = instances.filter(({ updatedAt }) => updatedAt > after).sort((a, b) => a.updatedAt - b.updatedAt)
      return { instances: found.slice(0, limit), ...(found.length > limit ? { next: "more" } : {}) }
    },
  }
}

describe("the latest instances", () => {
  it.effect.prop("are found, whenever and how many at once they changed, and what changes after that", [Schema.Array(Burst)], ([bursts]) =>
    Effect.promise(async () => {
      const store = storeOf(bursts)
      const latest = new Latest(store.ask, wanted)
      const times = async () => (await latest.look(now)).map(({ updatedAt }) => updatedAt)
      assert.deepStrictEqual(await times(), store.newest())
      const first = store.asked()
      assert.isAtMost(first, 60)
      assert.deepStrictEqual(await times(), store.newest())
      if (store.newest().length > 0) assert.isAtMost(store.asked() - first, 2)
      store.add(listing("new", now + 1))
      assert.deepStrictEqual(await times(), store.newest())
    }),
  )
})

describe("a server-sent event", () => {
  it("is read from its lines, and a comment is none", () => {
    assert.deepStrictEqual(eventOf('id: 7\nevent: status\ndata: {"a":1}'), { event: "status", data: '{"a":1}' })
    assert.deepStrictEqual(eventOf("data: one\ndata: two"), { event: "message", data: "one\ntwo" })
    assert.isUndefined(eventOf(": open"))
  })
})
