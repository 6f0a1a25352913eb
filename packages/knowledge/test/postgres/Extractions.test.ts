import * as PostgresStore from "@detent/durable/PostgresStore"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import type { Chunk } from "../../src/document/Chunk.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import { folderWith, longText, passing, port, requestIn } from "../runs/Sea.ts"

const away = new ExtractionFailed({ extractor: "test", reason: "Unavailable", retryable: true, detail: "away" })

describe("a run on PostgreSQL", () => {
  it.live("that failed is resumed by one of two nodes, after its last checkpoint, and is checked when it is read", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      let broken = true
      const before = (chunk: Chunk) => Effect.suspend(() => (broken && chunk.index === 7 ? Effect.fail(away) : Effect.void))
      const url = yield* freshDatabase
      const root = yield* folderWith({ "log.txt": longText })
      const request = { ...requestIn(root, "log.txt"), config: { windowSize: 2000, overlap: 0, batchSize: 2 } }
      const node = (nodeId: string) => port({ root, nodeId, extractor: passing(asked, before), store: PostgresStore.layer({ url }) })
      const { runId } = yield* Effect.provide(
        Effect.flip(Effect.flatMap(Extractions, (extractions) => extractions.run(request))),
        node("first"),
      )
      broken = false
      const resuming = (nodeId: string) =>
        Effect.provide(
          Effect.flatMap(Extractions, (extractions) => Effect.exit(extractions.resume(runId, request))),
          node(nodeId),
        )
      const both = yield* Effect.all([resuming("second"), resuming("third")], { concurrency: 2 })
      expect(both.filter(Exit.isSuccess).map(({ value }) => value.facts)).toEqual([600])
      expect(String(both.find(Exit.isFailure)?.cause)).toMatch(/RunStatusConflict|RunStatusRefused/)
      expect(asked.filter((index) => index < 6)).toHaveLength(6)
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const sql = yield* SqlClient
        const lines = yield* Stream.runCollect(extractions.lines(runId))
        expect(lines.filter((line) => line.includes("#passed> <urn"))).toHaveLength(600)
        yield* sql`update detent.run_artifacts set packed = substring(packed from 1 for 100) where packed is not null`
        expect((yield* Effect.flip(extractions.registry(runId)))._tag).toBe("ArtifactDamaged")
      }).pipe(Effect.provide(node("fourth")))
    }),
  )
})
