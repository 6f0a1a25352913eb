import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { EntityWorkflow } from "@detent/entity"
import { spawn } from "@detent/machine"
import { assertPath, explore, formatReport, problemsIn, simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { Approval, Bank, invoices } from "../entity/Invoice.ts"

const run = promisify(execFile)
const folder = join(import.meta.dirname, "..", "entity")
const invoice = (amount: number) => ({ supplier: "Lathes & Sons", amount })

describe("the approval of invoices", () => {
  it("is the same as a JSON file and in TypeScript", () => {
    const { $schema: _, ...definition } = Effect.runSync(
      EntityWorkflow.fromJson(readFileSync(join(folder, "approval.json"), "utf8"), invoices, { file: "approval.json" }),
    ).definition
    expect(definition).toEqual(Approval.definition)
  })

  it("lets small invoices pass and keeps large ones until they are signed", () => {
    expect(simulate(Approval.machine, invoice(999), []).path).toContain("approved")
    const { path, refusals } = simulate(Approval.machine, invoice(1000), [Approval.trigger("approve")])
    expect(path).toEqual(["received", "waiting"])
    expect(refusals[0]?.error.message).toContain("isSigned does not hold")
    assertPath(Approval.machine, invoice(1000), [Approval.trigger("reject")], ["received", "waiting", "rejected"])
  })

  it.effect("gives up when the bank has failed five times, and can be tried again", () =>
    Effect.gen(function* () {
      const keys: Array<string> = []
      const bank = Layer.succeed(Bank, {
        pay: (_, __, key) => {
          keys.push(key)
          return keys.length <= 5 ? Effect.fail("closed") : Effect.succeed("p-1")
        },
      })
      yield* Effect.gen(function* () {
        const actor = yield* spawn(Approval.machine, invoice(10))
        yield* TestClock.adjust("14 seconds")
        expect((yield* actor.state)._tag).toBe("approved")
        yield* TestClock.adjust("1 second")
        const failed = yield* actor.waitFor((state) => state._tag === "failed")
        expect(failed.error).toMatchObject({ transition: "pay", processor: "pay", message: "closed", attempts: 5 })
        expect(failed.entity.payment).toBeUndefined()
        yield* actor.send(Approval.trigger("retry"))
        expect(yield* actor.awaitFinal).toMatchObject({ _tag: "paid", entity: { payment: "p-1" } })
        expect(new Set(keys.slice(0, 5)).size).toBe(1)
        expect(new Set(keys).size).toBe(2)
      }).pipe(Effect.provide(bank))
    }),
  )

  it("explored with thousands of generated states and events, has no problem", () => {
    const report = explore(Approval.machine, { starts: [invoice(1), invoice(2000)] })
    expect(problemsIn(report), formatReport(report)).toBe(0)
  })

  it("runs by itself in memory", async () => {
    const { stdout } = await run(process.execPath, [join(folder, "run.ts")])
    expect(stdout).toContain("state waiting refused event approve: isSigned does not hold")
    expect(stdout).toContain("approved: pay: the bank is closed")
    expect(stdout).toContain("paid 4200 to Lathes & Sons (approval/approval/1/0/pay)")
  })

  it("resumes where an earlier process left it, by whatever file it is given", async () => {
    const temporary = mkdtempSync(join(tmpdir(), "detent-invoices-"))
    try {
      const store = join(temporary, "invoices.db")
      const desk = async (...more: ReadonlyArray<string>) => (await run(process.execPath, [join(folder, "Desk.ts"), store, ...more])).stdout
      const first = await desk()
      expect(first).toContain("paid 12 to Pencils Ltd (approval/invoice-1/1/0/pay)")
      expect(first).toContain("invoice-2: waiting after 0 events")
      const second = await desk()
      expect(second).not.toContain("Pencils")
      expect(second).toContain("invoice-2: waiting after 1 events")
      expect(second).toContain("invoice-2: paid")
      const own = join(temporary, "own.json")
      writeFileSync(own, readFileSync(join(folder, "approval.json"), "utf8").replace('"to": "waiting"', '"to": "wating"'))
      await expect(desk(own)).rejects.toThrow(
        `${own}:9:48: transition "ask" leads to "wating", which is not a state; did you mean "waiting"?`,
      )
    } finally {
      rmSync(temporary, { recursive: true })
    }
  })
})
