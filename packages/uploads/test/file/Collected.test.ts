import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { CollectionLimit, collecting } from "../../src/file/Collected.ts"

it.effect("files that are read together share one limit, and a file that exceeds it keeps nothing", () =>
  Effect.gen(function* () {
    const limit = new CollectionLimit(100)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const one = yield* collecting<string>(limit)
        const other = yield* collecting<string>(limit)
        one.add("a", 60)
        other.add("b", 30)
        other.add("c", 30)
        other.add("d", 1)
        one.add("e", 40)
        expect({ parts: one.parts, bytes: one.bytes }).toEqual({ parts: ["a", "e"], bytes: 100 })
        expect({ parts: other.parts, bytes: other.bytes }).toEqual({ parts: undefined, bytes: 0 })
        expect(limit.used).toBe(100)
      }),
    )
    expect(limit.used).toBe(0)
  }),
)
