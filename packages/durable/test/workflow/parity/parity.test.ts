/** The same programs on Effect's engine (`SingleRunner`, SQLite) and on ours. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as References from "effect/References"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { within } from "../../../../store/test/support/patience.ts"
import { readDeeds } from "./Deeds.ts"
import { type EngineName, engineOn } from "./Engines.ts"
import { programs } from "./Programs.ts"

const quiet = Layer.succeed(References.MinimumLogLevel, "None")

const run = async (engine: EngineName, folder: string) => {
  const runtime = ManagedRuntime.make(engineOn(engine, folder).pipe(Layer.provideMerge(quiet)))
  const results = await runtime.runPromise(
    Effect.forEach(programs, (program) => Effect.exit(within("40 seconds")(program.drive)), { concurrency: "unbounded" }),
  )
  await runtime.dispose()
  return programs.map(({ name }, index) => ({ result: results[index], deeds: readDeeds(join(folder, "deeds"), name) }))
}

describe("a program gives the same result on Effect's engine and on ours", () => {
  const folders = { detent: mkdtempSync(join(tmpdir(), "detent-parity-")), effect: mkdtempSync(join(tmpdir(), "effect-parity-")) }
  const ran: Partial<Record<EngineName, Awaited<ReturnType<typeof run>>>> = {}
  beforeAll(async () => {
    ran.detent = await run("detent", folders.detent)
    ran.effect = await run("effect", folders.effect)
  })
  afterAll(() => {
    for (const folder of Object.values(folders)) rmSync(folder, { recursive: true, force: true })
  })

  for (const [index, program] of programs.entries()) {
    it(`${program.name}`, () => {
      for (const engine of ["detent", "effect"] as const) {
        const { result, deeds } = ran[engine]?.[index] ?? { result: undefined, deeds: [] }
        expect([engine, result]).toEqual([engine, expect.objectContaining({ _tag: "Success", value: program.result })])
        expect([engine, deeds.toSorted()]).toEqual([engine, program.deeds.toSorted()])
      }
    })
  }
})
