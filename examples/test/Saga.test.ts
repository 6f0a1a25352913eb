import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { DurableWorkflow, MemoryStore } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { Companies, SoldOut, Trip, tripLayer } from "../durable/Saga.ts"

const run = promisify(execFile)

/** Companies that record their calls. */
const noting = (soldOut: string | undefined) => {
  const asked: Array<string> = []
  const companies = Layer.succeed(Companies, {
    book: (what) =>
      Effect.suspend(() => {
        asked.push(`book ${what}`)
        return what === soldOut ? Effect.fail(new SoldOut({ what })) : Effect.succeed(`${what}-1`)
      }),
    cancel: (booking) => Effect.sync(() => asked.push(`cancel ${booking}`)),
  })
  const layer = tripLayer.pipe(
    Layer.provide(companies),
    Layer.provideMerge(DurableWorkflow.layer()),
    Layer.provideMerge(Layer.fresh(MemoryStore.layer)),
  )
  return { asked, layer }
}

/** Advances the clock until an execution has this phase. */
const untilPhase = (phase: string) =>
  Effect.gen(function* () {
    while (((yield* DurableWorkflow.count(Trip)).get(phase) ?? 0) === 0) {
      yield* TestClock.adjust("500 millis")
      yield* TestClock.withLive(Effect.sleep(1))
    }
  })

describe("a trip in three bookings", () => {
  it.effect("is booked", () => {
    const { asked, layer } = noting(undefined)
    return Effect.gen(function* () {
      yield* Trip.execute({ traveller: "Ada" }, { discard: true })
      yield* untilPhase("Completed")
      expect(yield* Trip.execute({ traveller: "Ada" })).toEqual(["flight-1", "hotel-1", "car-1"])
      expect(asked).toEqual(["book flight", "book hotel", "book car"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("fails when there is no car: each booking is cancelled once, the last one first", () => {
    const { asked, layer } = noting("car")
    return Effect.gen(function* () {
      yield* Trip.execute({ traveller: "Ada" }, { discard: true })
      yield* untilPhase("Failed")
      expect(yield* Effect.flip(Trip.execute({ traveller: "Ada" }))).toEqual(new SoldOut({ what: "car" }))
      expect(asked).toEqual(["book flight", "book hotel", "book car", "cancel hotel-1", "cancel flight-1"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is cancelled by the traveller", () => {
    const { asked, layer } = noting(undefined)
    return Effect.gen(function* () {
      const trip = yield* Trip.execute({ traveller: "Ada" }, { discard: true })
      yield* untilPhase("Suspended")
      yield* Trip.interrupt(trip)
      yield* untilPhase("Interrupted")
      expect(asked).toEqual(["book flight", "book hotel", "cancel hotel-1", "cancel flight-1"])
    }).pipe(Effect.provide(layer))
  })

  it("resumes after its process was killed, and prints its history", async () => {
    const folder = mkdtempSync(join(tmpdir(), "detent-saga-"))
    try {
      const program = join(import.meta.dirname, "..", "durable", "Saga.ts")
      const start = () => run(process.execPath, [program, join(folder, "trips.db")], { timeout: 20_000 })
      // Killed while the trip waits for the day before, after two bookings.
      const first = execFile(process.execPath, [program, join(folder, "trips.db")])
      let printed = ""
      await new Promise<void>((resolve) =>
        first.stdout?.on("data", (text) => {
          printed += text
          if (printed.includes("booked a hotel")) resolve()
        }),
      )
      await new Promise((resolve) => setTimeout(resolve, 300))
      first.kill("SIGKILL")
      const { stdout } = await start()
      expect(stdout).not.toContain("booked")
      expect(stdout.match(/cancelled/g)).toHaveLength(2)
      expect(stdout).toContain("there is no car: the trip is off")
      expect(stdout).toContain("Compensated/book hotel")
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
