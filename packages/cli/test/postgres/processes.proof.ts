/**
 * A server and two workers on one PostgreSQL, without a cluster. Each of them is killed with -9 in turn while payments are charged and
 * executions wait for events: nothing is lost, and each result counts once.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { ExecutionApi, InstanceApi } from "@detent/api"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { start as begin, decoded, detent as run, temporaryFolder } from "../support/Detent.ts"
import { project } from "../support/Project.ts"

const config = `
import { appendFileSync } from "node:fs"
import { workflow } from "@detent/durable/promise"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"

const note = (line: string) => appendFileSync(process.env["NOTES"] ?? "", line + "\\n")
const S = State({ Open: {}, Charging: {}, Paid: { receipt: Schema.String } })
const E = Event({ Pay: {}, Charged: { receipt: Schema.String } })

const Payment = Machine.make({
  name: "payment", state: S, event: E, initial: S.Open(),
  effects: Slot.Effects({ charge: Slot.effect({}, { success: Schema.String }) }),
})
  .on(S.Open, E.Pay, S.Charging)
  .on(S.Charging, E.Charged, S.Paid)
  .enter(S.Charging, ({ effects }) => effects.charge({}), { requests: ["charge"] })
  .final(S.Paid)
  .commands({ charge: { onSuccess: (receipt) => E.Charged({ receipt }) } })
  .build({
    charge: async (_, { key }) => {
      await new Promise((resume) => setTimeout(resume, 100))
      note("charge " + key)
      return "receipt of " + key
    },
  })

const Trip = workflow({ name: "trip", input: {}, events: { confirmed: Schema.Struct({ by: Schema.String }) } }, async (_, durable) => {
  await durable.step("book", async () => note("book " + durable.id))
  const { by } = await durable.waitForEvent("confirmed")
  return durable.step("depart", async () => by)
})

export default defineConfig({ machines: [Payment], workflows: [Trip] })
`

const headers = { "content-type": "application/json" }

/** A request that is sent again under its key until it is answered. */
const insist = async (url: () => string, path: string, key: string, body: unknown): Promise<number> => {
  for (;;) {
    try {
      const init = { method: "POST", headers: { ...headers, "idempotency-key": key }, body: JSON.stringify(body) }
      const { status } = await fetch(`${url()}${path}`, init)
      if (status < 500) return status
    } catch {
      // The server is down: the next one answers.
    }
    await sleep(100)
  }
}

describe("a server and two workers on one PostgreSQL", () => {
  it.live("are killed with -9 in turn: all payments are charged, all executions continue, and each result counts once", () =>
    Effect.gen(function* () {
      const database = yield* freshDatabase
      yield* Effect.promise(async () => {
        const cwd = join(await temporaryFolder(), "payments")
        await project(cwd, config)
        const env = { NOTES: join(cwd, "notes.txt"), DETENT_DATABASE_URL: database }
        const start = (...args: ReadonlyArray<string>) => begin(args, { cwd, env })
        const detent = (...args: ReadonlyArray<string>) => run([...args, "--data", "server"], { cwd, env })
        const serve = async () => {
          const server = start("serve", "--port", "0", "--data", "server")
          await server.until(/http:\S+/)
          return server
        }
        let server = await serve()
        const url = () => /http:\S+/.exec(server.out)?.[0] ?? ""
        let workers = ["one", "two"].map((name) => start("worker", "--data", name))
        try {
          const ids = Array.from({ length: 30 }, (_, index) => `p-${index}`)
          const pay = async (id: string) => {
            await insist(url, "/api/v1/instances/payment", `start-${id}`, { id })
            assert.strictEqual(await insist(url, `/api/v1/instances/payment/${id}/events`, `pay-${id}`, { _tag: "Pay" }), 200)
            assert.strictEqual(await insist(url, "/api/v1/executions/trip", `trip-${id}`, { id, payload: {} }), 201)
            const confirmed = { event: "confirmed", value: { by: id } }
            assert.strictEqual(await insist(url, `/api/v1/executions/trip/${id}/events`, `confirm-${id}`, confirmed), 200)
          }
          const paying = Promise.all(ids.map(pay))
          await sleep(1500)
          await workers[0]?.stop("SIGKILL")
          await sleep(300)
          await server.stop("SIGKILL")
          server = await serve()
          await workers[1]?.stop("SIGKILL")
          workers = ["one", "two"].map((name) => start("worker", "--data", name))
          await paying
          const isAll = async () => {
            const paid = decoded(InstanceApi.InstanceListing, (await detent("instance", "list", "--state", "Paid", "--json")).out)
            const { out } = await detent("execution", "list", "trip", "--phase", "Completed", "--json")
            return paid.length === ids.length && decoded(ExecutionApi.ExecutionListing, out).length === ids.length
          }
          while (!(await isAll())) await sleep(500)
          const notes = (await readFile(env.NOTES, "utf8")).trim().split("\n")
          // Executed at least once, always under the same key.
          assert.strictEqual(new Set(notes.filter((line) => line.startsWith("charge "))).size, ids.length)
          assert.strictEqual(new Set(notes.filter((line) => line.startsWith("book "))).size, ids.length)
          for (const id of ["p-0", "p-15", "p-29"]) {
            const history = await detent("instance", "history", `payment/${id}`, "--json")
            assert.strictEqual(history.out.match(/"_tag":"Charged"/g)?.length, 1, history.out)
            const steps = await detent("instance", "history", `workflow/trip/${id}`)
            assert.strictEqual(steps.out.match(/Deferred\/event\/confirmed/g)?.length, 1, steps.out)
          }
        } finally {
          await Promise.all([server, ...workers].map((one) => one.stop("SIGKILL")))
        }
      })
    }),
  )
})
