import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Commands, Engine } from "@detent/durable"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as EventLog from "effect/eventlog/EventLog"
import { Sale, saleStore } from "../durable/PetSale.ts"
import { PetLog } from "../durable/PetStore.ts"

const run = promisify(execFile)
const program = (file: string) => join(import.meta.dirname, "..", file)

it("the durable program of the README charges once, however often it is run", async () => {
  const folder = mkdtempSync(join(tmpdir(), "detent-readme-"))
  try {
    const start = () => run(process.execPath, [program("readme/durable.ts"), join(folder, "data", "orders.db")])
    const first = await start()
    expect(first.stdout).toMatch(/charging 42, once for [0-9a-f]{12}\/order\/order-123\/1\/0\n/)
    expect(first.stdout).toContain("receipt: 'receipt-1'")
    const second = await start()
    expect(second.stdout).not.toContain("charging")
    expect(second.stdout).toContain("receipt: 'receipt-1'")
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it("the durable subscription of the README stores its event once, however often it is run", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "detent-readme-"))
  try {
    const start = () => run(process.execPath, [program("../docs/snippets/subscription.ts")], { cwd })
    const first = await start()
    expect(first.stdout).toBe("{ _tag: 'Active', email: 'ada@example.org', plan: 'yearly' }\n")
    expect((await start()).stdout).toBe(first.stdout)
    const listed = ["instance", "list", "--database", "sqlite:subscriptions.db", "--json"]
    const { stdout } = await run(process.execPath, [program("../packages/cli/bin/detent.mjs"), ...listed], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({ machine: "subscription", id: "ada", sequence: 1 })
  } finally {
    rmSync(cwd, { recursive: true })
  }
})

it.live("a sale becomes a domain event, and one that was published before is not published again", () =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const commands = yield* Commands
    const write = yield* EventLog.makeClient(PetLog)
    yield* write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })
    yield* write({ event: "PetCreated", payload: { pet: "p2", name: "Tom" } })
    // As if a process had died after it published the event, and before the command was completed.
    yield* write({ event: "PetSold", payload: { pet: "p2", to: "Bob" } })
    for (const [pet, to] of [
      ["p1", "Ann"],
      ["p2", "Bob"],
    ] as const) {
      const sale = yield* engine.start(Sale, pet, { pet })
      yield* sale.send({ _tag: "Buy", to })
    }
    while ((yield* commands.counts).some(({ status }) => status === "pending" || status === "processing")) yield* Effect.sleep(5)
    const statuses = (yield* commands.list({}, 10)).commands.map(({ instance, status, problem }) => [instance?.id, status, problem])
    expect(statuses).toEqual([
      ["p1", "completed", undefined],
      ["p2", "skipped", "it is sold already"],
    ])
    const entries = yield* (yield* EventLog.EventLog).entries
    expect(entries.map(({ event, primaryKey }) => `${event} ${primaryKey}`)).toEqual([
      "PetCreated p1",
      "PetCreated p2",
      "PetSold p2",
      "PetSold p1",
    ])
  }).pipe(Effect.provide(saleStore(":memory:"))),
)

it("the spans of an order reach a receiver of OTLP", async () => {
  const names: Array<string> = []
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => {
      body += String(chunk)
    })
    request.on("end", () => {
      for (const [, name = ""] of body.matchAll(/"name":"([^"]+)"/g)) names.push(name)
      response.end("{}")
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  try {
    await run(process.execPath, [program("durable/Traced.ts"), `http://127.0.0.1:${port}/v1/traces`])
    expect(names).toEqual(expect.arrayContaining(["pay", "detent.start", "detent.send", "detent.decide", "detent.commit"]))
  } finally {
    server.close()
  }
})
