import { execFile, spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Engine, Journal, MemoryStore } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Order, Shipment } from "../durable/Shipments.ts"

const example = join(import.meta.dirname, "..", "durable", "Shipments.ts")
const run = promisify(execFile)

describe("an order that waits for its shipments", () => {
  it.live("starts each once, though the command that starts it is executed twice", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      yield* engine.register(Shipment)
      const order = yield* engine.ensure(Order, "order-1", { parcels: ["books"] })
      // As if a process had started the shipment and was killed before the command was completed.
      yield* engine.ensure(Shipment, "order-1/books", { order: "order-1", parcel: "books" })
      yield* order.send({ _tag: "Ship" })
      expect(yield* order.awaitFinal).toEqual({ _tag: "Delivered", parcels: ["books"] })
      const { instances } = yield* Effect.flatMap(Journal, (journal) => journal.list({ machine: "shipment" }, 10))
      expect(instances.map(({ id }) => id)).toEqual(["order-1/books"])
    }).pipe(Effect.provide(Engine.layer().pipe(Layer.provideMerge(MemoryStore.layer)))),
  )

  it("continues after its process was killed, with the shipments it had", async () => {
    const folder = await mkdtemp(join(tmpdir(), "detent-shipments-"))
    try {
      const file = join(folder, "orders.db")
      const first = spawn(process.execPath, [example, file], { stdio: ["ignore", "pipe", "inherit"] })
      const killed = new Promise((resolve) => first.once("exit", (_, signal) => resolve(signal)))
      for await (const text of first.stdout) if (String(text).includes("the shipments are requested")) break
      first.kill("SIGKILL")
      expect(await killed).toBe("SIGKILL")
      const { stdout } = await run(process.execPath, [example, file])
      expect(stdout).toContain("the order is Shipping")
      expect(stdout).toContain("Delivered after 4 events, with 3 shipments")
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
