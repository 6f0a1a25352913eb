import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Engine, MemoryStore } from "@detent/durable"
import { openEngine } from "@detent/durable/promise"
import { Event, Machine, State } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { Bank } from "../refund/Bank.ts"
import { E, S, upcasters } from "../refund/Refund.ts"
import { refundWith as refundWithAsync } from "../refund/withAsync.ts"
import { refundWith as refundWithEffect } from "../refund/withEffect.ts"

const run = promisify(execFile)
const large = { order: "order-1", amount: 250, currency: "EUR" }
const small = { order: "order-2", amount: 20, currency: "USD" }

const styles = [
  ["Effect", refundWithEffect],
  ["async", refundWithAsync],
] as const

/** Long intervals, because the test clock advances by days: few heartbeats and sweeps run meanwhile. */
const days = Engine.layer({ lease: "6 hours", sweeper: { interval: "1 hour" } }).pipe(Layer.provide(MemoryStore.layer))

describe.each(styles)("a refund with %s handlers", (_, refundWith) => {
  it("above 100 waits for a manager, answers questions, and is paid once by a bank that fails half of the time", async () => {
    const bank = new Bank()
    const Refund = refundWith(bank)
    await using engine = await openEngine({ database: "memory", machines: [Refund] })
    const refund = await engine.start(Refund, "refund-1", large)
    expect(await refund.ask(E.GetStatus())).toBe("250 EUR wait for a manager")
    await refund.send(E.Approve({ approvedBy: "Ada" }))
    expect(await refund.awaitFinal()).toEqual(S.Refunded({ ...large, receipt: "receipt-1" }))
    expect([...bank.payments.values()]).toEqual([250])
    expect(bank.calls).toBe(2)
  })

  it("of 100 or less is paid without approval", async () => {
    const Refund = refundWith(new Bank())
    await using engine = await openEngine({ database: "memory", machines: [Refund] })
    const refund = await engine.start(Refund, "refund-2", small)
    expect(await refund.awaitFinal()).toEqual(S.Refunded({ ...small, receipt: "receipt-1" }))
    await expect(refund.send(E.Approve({ approvedBy: "Ada" }))).rejects.toMatchObject({ _tag: "MachineStopped" })
  })

  it.effect("that no manager approves within three days is rejected", () =>
    Effect.gen(function* () {
      const bank = new Bank()
      const engine = yield* Engine
      const refund = yield* engine.start(refundWith(bank), "refund-3", large)
      yield* TestClock.adjust("71 hours")
      expect((yield* refund.state)._tag).toBe("AwaitingApproval")
      yield* TestClock.adjust("1 hour")
      expect(yield* refund.state).toEqual(S.Rejected({ ...large, reason: "no manager approved it within three days" }))
      expect(bank.calls).toBe(0)
    }).pipe(Effect.provide(days)),
  )

  it("of version 1 is read by the upcaster and paid by version 2", async () => {
    const folder = mkdtempSync(join(tmpdir(), "detent-refund-"))
    const database = `sqlite:${join(folder, "refunds.db")}` as const
    try {
      const S1 = State({ AwaitingApproval: { order: Schema.String, amount: Schema.Finite }, Rejected: {} })
      const E1 = Event({ Reject: { reason: Schema.String } })
      const First = Machine.make({ name: "refund", version: 1, state: S1, event: E1, initial: S1.AwaitingApproval })
        .on(S1.AwaitingApproval, E1.Reject, S1.Rejected)
        .final(S1.Rejected)
      {
        await using engine = await openEngine({ database, machines: [First] })
        await engine.start(First, "refund-4", { order: "order-4", amount: 400 })
      }
      const Refund = refundWith(new Bank())
      await using engine = await openEngine({ database, machines: [Refund], upcasters: { refund: upcasters } })
      expect(await engine.ask(Refund, "refund-4", E.GetStatus())).toBe("400 EUR wait for a manager")
      await engine.send(Refund, "refund-4", E.Approve({ approvedBy: "Ada" }))
      const paid = await engine.waitFor(Refund, "refund-4", (state) => state._tag === "Refunded")
      expect(paid).toMatchObject({ currency: "EUR", receipt: "receipt-1" })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

it("both programs of the refund, and those of the README, finish their work when they are run again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "detent-refund-"))
  const twice = async (file: string) => {
    const start = () => run(process.execPath, [join(import.meta.dirname, "..", file), join(folder, `${file.replaceAll("/", "-")}.db`)])
    return [(await start()).stdout, (await start()).stdout] as const
  }
  try {
    for (const file of ["refund/withEffect.ts", "refund/withAsync.ts"]) {
      const [first, second] = await twice(file)
      expect(first).toContain("250 EUR wait for a manager")
      expect(first).toContain("receipt: 'receipt-1'")
      expect(second).not.toContain("wait for a manager")
      expect(second).toContain("receipt: 'receipt-1'")
    }
    const [order, orderAgain] = await twice("readme/async.ts")
    expect(order).toMatch(/charging 42 under the key [0-9a-f]{12}\/order\/order-123\/1\/0\n/)
    expect(order).toContain("receipt-1\n1 Pay\n2 Charged")
    expect(orderAgain).not.toContain("charging")
    expect(orderAgain).toContain("receipt-1\n1 Pay\n2 Charged")
    const [trip, tripAgain] = await twice("readme/asyncWorkflow.ts")
    expect(trip).toMatch(/booking a flight for Ada, once for [0-9a-f]{12}\/trip\/trip-1\/book the flight\n/)
    expect(trip).toContain("seat 12A, confirmed by Grace")
    expect(tripAgain).not.toContain("booking")
    expect(tripAgain).toContain("seat 12A, confirmed by Grace")
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it("the program of the README is killed while it charges, and charges again under the same key", async () => {
  const folder = mkdtempSync(join(tmpdir(), "detent-readme-"))
  const file = join(import.meta.dirname, "..", "readme/async.ts")
  const start = () => run(process.execPath, [file, join(folder, "orders.db")])
  try {
    const killed = spawn(process.execPath, [file, join(folder, "orders.db")])
    const ended = once(killed, "exit")
    const [line] = await once(killed.stdout, "data")
    killed.kill("SIGKILL")
    await ended
    const charging = /charging 42 under the key (\S+)/.exec(String(line))?.[0]
    expect(charging).toBeDefined()
    const { stdout } = await start()
    expect(stdout).toContain(charging)
    expect(stdout).toContain("receipt-1\n1 Pay\n2 Charged")
    expect((await start()).stdout).not.toContain("charging")
  } finally {
    rmSync(folder, { recursive: true })
  }
})
