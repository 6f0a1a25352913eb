/** `detent worker` with batches that other processes have left. */
import { shipModel } from "@detent/knowledge/testing/ProviderServer"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assert, describe, it, onTestFinished } from "vitest"
import { detentProcess, start } from "./support/Detent.ts"
import { seaProject } from "./support/SeaProject.ts"

/** A batch whose process was killed while it waited for the model, and how the model answers from then on. */
const leftBatch = async () => {
  let mode: "hang" | "answer" | "refuse" = "hang"
  const scope = Scope.makeUnsafe()
  onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const sea = seaProject((heard) =>
    mode === "answer" ? shipModel(heard) : mode === "refuse" ? { status: 401, error: "no such key" } : "hang",
  )
  const { cwd, env, line } = await Effect.runPromise(Scope.provide(sea, scope))
  const run = start(line, { cwd, env })
  await run.until(/Extracting/)
  await run.stop("SIGKILL")
  const id = /batch-[0-9a-f]{12}/.exec(run.err)?.[0] ?? ""
  const worked = (answers: typeof mode) => {
    mode = answers
    return detentProcess(["worker", "--until-idle"], { cwd, env })
  }
  return { id, worked }
}

describe("detent worker --until-idle", () => {
  it("logs a batch that ends there", async () => {
    const { id, worked } = await leftBatch()
    const { code, err } = await worked("answer")
    assert.strictEqual(code, 0, err)
    assert.include(err, `batch ${id} is Completed: 5 documents`)
    assert.match(err, /nothing is left to do\n$/)
  })

  it("ends with 1 where a batch has failed there, with its id and the reason", async () => {
    const { id, worked } = await leftBatch()
    const { code, err } = await worked("refuse")
    assert.strictEqual(code, 1, err)
    assert.match(err, new RegExp(`batch ${id} is Failed while extracting: .*no such key`))
    assert.match(err, new RegExp(`nothing is left to do, but 1 batch failed: detent batch show ${id}\\n$`))
    const later = await worked("refuse")
    assert.strictEqual(later.code, 0, later.err)
  })
})
