/** A row that is larger than the client reads, as a process with another limit may have stored it. */

import { PersistenceFailed } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { inject } from "vitest"
import { Journal } from "../src/contract/Journal.ts"
import * as PgClient from "../src/driver/PgClient.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { commit, freshKey } from "../testing/samples.ts"

const mebibyte = 1024 * 1024

describe("rows larger than the client reads, on PostgreSQL", () => {
  it.live("148 fail only the instance they are of, and no connection that others are given", () => {
    const client = PgClient.layer({
      url: Redacted.make(inject("postgresUrl")),
      maxMessageSize: 3 * mebibyte,
      minConnections: 1,
      maxConnections: 2,
    })
    const store = PostgresStore.layerSql({ schema: "large_rows" }).pipe(Layer.provideMerge(client))
    return Effect.gen(function* () {
      const [journal, sql, key] = [yield* Journal, yield* SqlClient, yield* freshKey]
      assert.strictEqual(journal.maxBodyBytes, mebibyte)
      const others = Array.from({ length: 20 }, (_, index) => ({ ...key, id: `${key.id}-${index}` }))
      yield* journal.commit([key, ...others].map((one) => commit(one, -1)))
      yield* sql`update large_rows.instances set origin = repeat('x', ${4 * mebibyte}) where id = ${key.id}`
      for (let round = 0; round < 3; round++) {
        assert.instanceOf(yield* Effect.flip(journal.open(key)), PersistenceFailed)
        const [other] = others
        if (other !== undefined) assert.isTrue(Option.isSome(yield* journal.open(other)), "the next read gets a sound connection")
        const mixed = yield* Effect.forEach([key, ...others], (one) => Effect.result(journal.open(one)), { concurrency: 4 })
        assert.deepStrictEqual(
          mixed.map(({ _tag }) => _tag),
          ["Failure", ...others.map(() => "Success")],
        )
      }
      const opened = yield* journal.openAll([...others, key])
      assert.deepStrictEqual(
        opened.map(({ record }) => record.status),
        [...others.map(() => "running"), "held"],
      )
      assert.match(opened.at(-1)?.record.reason ?? "", /cannot be read/)
      assert.strictEqual((yield* journal.page({ machine: key.machine }, 50)).length, 21, "lists do not read the bodies")
    }).pipe(Effect.provide(store))
  })
})
