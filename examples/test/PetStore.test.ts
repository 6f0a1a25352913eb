import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as EventLog from "effect/eventlog/EventLog"
import { SqlClient } from "effect/sql/SqlClient"
import { PetLog, petStore } from "../durable/PetStore.ts"

const run = promisify(execFile)
const program = join(import.meta.dirname, "..", "durable", "PetStore.ts")

const inFolder = <A>(use: (filename: string) => Promise<A>) => {
  const folder = mkdtempSync(join(tmpdir(), "detent-pets-"))
  return use(join(folder, "pets.db")).finally(() => rmSync(folder, { recursive: true }))
}

const kept = `p1 is Max, 1000 g, belongs to Ann
p2 is Tom
  1 PetCreated p1
  2 PetCreated p2
  3 PetRenamed p1
  6 PetWeighed p1
  7 PetSold p1
`

describe("a pet store", () => {
  it("finds its pets again in another process, and of the weighings only the latest", () =>
    inFolder(async (filename) => {
      expect((await run(process.execPath, [program, filename])).stdout).toBe(kept)
      expect((await run(process.execPath, [program, filename])).stdout).toBe(`p1 was not sold again: NotForSale\n${kept}`)
    }))

  it("fills its table again from the events when it was dropped", () =>
    inFolder(async (filename) => {
      await run(process.execPath, [program, filename])
      const database = new DatabaseSync(filename)
      database.exec("drop table pets")
      database.close()
      expect((await run(process.execPath, [program, filename])).stdout).toBe(`p1 was not sold again: NotForSale\n${kept}`)
    }))

  it("sells to one of several buyers at once", () =>
    inFolder((filename) =>
      Effect.runPromise(
        Effect.gen(function* () {
          const write = yield* EventLog.makeClient(PetLog)
          yield* write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })
          const buyers = ["Ann", "Bob", "Eve"]
          const results = yield* Effect.all(
            buyers.map((to) => Effect.result(write({ event: "PetSold", payload: { pet: "p1", to } }))),
            { concurrency: "unbounded" },
          )
          expect(results.map(({ _tag }) => _tag)).toEqual(["Success", "Failure", "Failure"])
          expect(yield* (yield* SqlClient)`select owner from pets`).toEqual([{ owner: "Ann" }])
        }).pipe(Effect.provide(petStore(filename))),
      ),
    ))
})
