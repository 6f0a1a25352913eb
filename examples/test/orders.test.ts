import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { ActorSystem } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { Board } from "../orders/Board.ts"
import { line } from "../orders/Line.ts"
import { picture } from "../orders/Picture.ts"
import { play } from "../orders/Scenario.ts"
import { coloured, plain } from "../orders/Style.ts"
import { summary } from "../orders/Summary.ts"

/** Runs the demo for some seconds and returns its board and its lines. */
const playFor = (seconds: number) =>
  Effect.gen(function* () {
    const board = new Board()
    const lines: Array<string> = []
    const system = yield* ActorSystem
    system.inspectUnsafe((inspection) => {
      board.hear(inspection)
      lines.push(...[line(inspection, plain, 0)].filter((text) => text !== undefined))
    })
    const playing = yield* Effect.forkScoped(play, { startImmediately: true })
    yield* TestClock.adjust(seconds * 1000)
    return { board, lines, playing }
  }).pipe(Effect.provide(ActorSystem.layer))

const refusal = "order A-4: state Paid has no transition for event Cancel; it accepts Ship"

describe("the live orders", () => {
  it.effect("delivers four orders and cancels two within ten seconds", () =>
    Effect.gen(function* () {
      const { board, playing } = yield* playFor(10)
      yield* Fiber.join(playing)
      expect(board.rows.map(({ state }) => state?._tag)).toEqual([
        "Delivered",
        "Delivered",
        "Cancelled",
        "Delivered",
        "Cancelled",
        "Delivered",
      ])
      expect(Object.fromEntries(board.commands)).toEqual({ chargeCard: 4, notifyWarehouse: 4, sendEmail: 4 })
      expect(board.refusals).toEqual([refusal])
      const text = summary(board, plain)
      expect(text).toContain("Cancelled   2  A-3 (not paid within 3 seconds), A-5 (found it cheaper)")
      expect(text).toContain(refusal)
    }),
  )

  it.effect("prints each step in a line", () =>
    Effect.gen(function* () {
      const { lines } = yield* playFor(10)
      expect(lines).toContain("1.00 s  A-1  ConfirmPayment: AwaitingPayment → Paid, requests chargeCard, notifyWarehouse")
      expect(lines).toContain("3.60 s  A-3  timeout: AwaitingPayment → Cancelled (not paid within 3 seconds)")
      expect(lines).toContain(`2.90 s  A-4  Cancel is refused: ${refusal}`)
    }),
  )

  it.effect("draws a picture that fits the terminal", () =>
    Effect.gen(function* () {
      const { board } = yield* playFor(3)
      const lines = picture(board, plain, 3000, 200)
      expect(lines[2]).toBe("  A-3  Edsger     17.50 €  ██████████░░░░░░░░░░░░░░░  AwaitingPayment  cancelled in 0.6 s")
      expect(picture(board, plain, 3000, 30).every((one) => [...one].length <= 30)).toBe(true)
      expect(picture(board, coloured, 3000, 200)[2]).toContain("\x1b[33m")
    }),
  )

  it("ends with 130 when it is interrupted", async () => {
    const demo: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, "../orders/run.ts")], {
      stdio: ["ignore", "pipe", "ignore"],
    })
    const closed = once(demo, "close")
    await once(demo.stdout as NodeJS.ReadableStream, "data")
    demo.kill("SIGINT")
    expect(await closed).toEqual([130, null])
  })
})
