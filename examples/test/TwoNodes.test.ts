import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll } from "vitest"
import { type PostgresServer, startPostgres } from "../../packages/store/test/support/PostgresServer.ts"
import { bothAtOnce, S } from "../durable/TwoNodes.ts"

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

describe("two nodes on one PostgreSQL", () => {
  it.live("share an account without losing or doubling a payment", () =>
    Effect.gen(function* () {
      const { state, sequence } = yield* bothAtOnce(server.url, "account-1", 20)
      expect(state).toEqual(S.Open({ balance: 20 * 1 + 20 * 10 }))
      expect(sequence).toBe(40)
    }),
  )
})
