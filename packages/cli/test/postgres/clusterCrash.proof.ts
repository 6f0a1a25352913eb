/**
 * Three processes of `detent` as nodes of a cluster: the one that runs an execution, a batch or an upload is killed with -9, and
 * another one finishes it. `DETENT_CRASH_ROUNDS=5` repeats each test.
 */
import { readFileSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as PgClient from "@detent/durable/PgClient"
import { type Heard, questionIn, shipModel, type Turn } from "@detent/knowledge/testing/ProviderServer"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freePort } from "../../../store/test/support/freePort.ts"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { detent, type Running, start, temporaryFolder } from "../support/Detent.ts"
import { linkPackages, project, withoutRuns } from "../support/Project.ts"
import { allCalls, seaProject } from "../support/SeaProject.ts"

const rounds = Number(process.env["DETENT_CRASH_ROUNDS"] ?? 1)

const headers = { "content-type": "application/json" }

const token = "a secret of the tests that is long enough"

type Row = Readonly<Record<string, unknown>>

interface Nodes {
  readonly query: (statement: string) => Promise<ReadonlyArray<Row>>
  /** The node that has an instance, by what the database says. */
  readonly owner: (machine: string, id: string) => Promise<Running | undefined>
  readonly all: ReadonlyArray<Running>
  /** Where the server among them answers. */
  readonly api: string
}

/** A server and two workers in one folder. */
const withNodes = (
  place: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly url: string },
  use: (nodes: Nodes) => Promise<void>,
) =>
  Effect.gen(function* () {
    const { cwd, env, url } = place
    const ports = yield* Effect.all([freePort, freePort, freePort])
    const client = yield* Layer.build(Layer.fresh(PgClient.layer({ url: Redacted.make(url), maxConnections: 2 })))
    const sql = Context.get(client, PgClient.PgClient)
    const query = (statement: string) => Effect.runPromise(sql.unsafe<Row>(statement))
    yield* Effect.promise(async () => {
      const all = ports.map((port, index) => {
        const role = index === 0 ? ["serve", "--port", "0"] : ["worker"]
        return start([...role, "--data", "data", "--cluster", `127.0.0.1:${port}`], { cwd, env })
      })
      try {
        await all[0]?.until(/http:\S+\n/)
        const api = `${/http:\S+/.exec(all[0]?.out ?? "")?.[0]}/api/v1`
        await until(async () => {
          for (const node of all) if (node.process.exitCode !== null) throw new Error(`a node ended: ${node.err}`)
          const shares = await query("select count(*)::integer as shards from detent.cluster_shards group by address").catch(() => [])
          return shares.length === 3 && shares.reduce((sum, { shards }) => sum + Number(shards), 0) === 300
        })
        const owner = async (machine: string, id: string) => {
          const [row] = await query(`select owner from detent.instances where machine = '${machine}' and id = '${id}'`)
          return all.find((node) => String(row?.["owner"]).includes(`${addressOf(node)}/`))
        }
        await use({ query, owner, all, api })
      } finally {
        await Promise.all(all.map((node) => node.stop("SIGKILL")))
      }
    })
  })

const until = async (is: () => Promise<boolean>) => {
  while (!(await is())) await sleep(50)
}

/** The first one that is not undefined. */
const found = async <A>(look: () => Promise<A | undefined>): Promise<A> => {
  for (;;) {
    const one = await look()
    if (one !== undefined) return one
    await sleep(20)
  }
}

const clusterSetting = `cluster: { address: "127.0.0.1:1", lease: "2 seconds" }`

/**
 * Nine executions of six activities, each of which notes when it is run, and when the execution has its stored result. The fourth waits
 * for a file, so that none is over when a node is killed.
 */
const workshopConfig = `
import { appendFileSync, existsSync } from "node:fs"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as Workflow from "effect/workflow/Workflow"

const note = (line: string) => Effect.sync(() => appendFileSync(process.env["NOTES"] ?? "", line + "\\n"))

const mayContinue = Effect.repeat(Effect.sleep("20 millis"), { until: () => existsSync(process.env["NOTES"] + ".continue") })

const Assembly = Workflow.make("assembly", {
  payload: { order: Schema.String },
  success: Schema.String,
  idempotencyKey: ({ order }) => order,
})

const AssemblyLive = Assembly.toLayer(({ order }) =>
  Effect.gen(function* () {
    const parts: Array<string> = []
    for (let step = 0; step < 6; step++) {
      const name = order + "/" + step
      const execute = Effect.as(Effect.andThen(note("run " + name), step === 3 ? mayContinue : Effect.sleep("50 millis")), name)
      parts.push(yield* Activity.make({ name: "step-" + step, success: Schema.String, execute }))
      yield* note("stored " + name)
    }
    yield* note("done " + order + " " + parts.join(" "))
    return parts.join(" ")
  }),
)

const S = State({ New: {}, Begun: {} })
const E = Event({ Begin: {} })

const Bench = Machine.make({ name: "bench", state: S, event: E, effects: Slot.Effects({ assemble: {} }), initial: S.New() })
  .on(S.New, E.Begin, S.Begun)
  .enter(S.Begun, ({ effects }) => effects.assemble({}), { requests: ["assemble"] })
  .final(S.Begun)
  .build({ assemble: (_, { id }) => Effect.asVoid(Assembly.execute({ order: id }, { discard: true })) })

export default defineConfig({ machines: [Bench], workflows: [{ workflow: Assembly, layer: AssemblyLive }], ${clusterSetting} })
`

describe.each(Array.from({ length: rounds }, (_, index) => index + 1))("a node of three that is killed (%i)", () => {
  it.live("while it runs executions: another finishes them, and runs no activity again whose result is stored", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const cwd = join(yield* Effect.promise(temporaryFolder), "workshop")
      yield* Effect.promise(() => project(cwd, workshopConfig))
      const notes = join(cwd, "notes")
      yield* Effect.promise(() => writeFile(notes, ""))
      const env = { DETENT_DATABASE_URL: url, DETENT_CLUSTER_TOKEN: token, NOTES: notes }
      const read = () =>
        readFileSync(notes, "utf8")
          .split("\n")
          .slice(0, -1)
          .map((line) => line.split(" "))
      const orders = Array.from({ length: 9 }, (_, index) => `o-${index}`)
      yield* withNodes({ cwd, env, url }, async ({ query, all, api }) => {
        const post = async (path: string, body: object) => {
          const answer = await fetch(`${api}/instances/bench${path}`, { method: "POST", headers, body: JSON.stringify(body) })
          assert.isTrue(answer.ok, await answer.text())
        }
        await Promise.all(orders.map((id) => post("", { id })))
        await Promise.all(orders.map((id) => post(`/${id}/events`, { _tag: "Begin" })))
        const owners = async () => await query("select id, owner from detent.instances where machine = 'workflow/assembly' and needs_owner")
        const storedIn = (lines: ReturnType<typeof read>) =>
          new Set(lines.flatMap(([what, name = ""]) => (what === "stored" ? [name] : [])))
        await until(async () => storedIn(read()).size === 3 * orders.length)
        const running = await owners()
        const [victim] = all.filter((node) => running.some(({ owner }) => String(owner).includes(addressOf(node))))
        assert.isDefined(victim)
        await victim?.stop("SIGKILL")
        const before = read()
        const stored = storedIn(before)
        await writeFile(`${notes}.continue`, "")
        await until(async () => {
          const ended = await query("select id from detent.instances where machine = 'workflow/assembly' and status = 'final'")
          return ended.length === orders.length
        })
        const after = read().slice(before.length)
        assert.deepStrictEqual(
          after.filter(([what, name = ""]) => what === "run" && stored.has(name)),
          [],
        )
        const results = new Map(read().flatMap(([what, order = "", ...parts]) => (what === "done" ? [[order, parts.join(" ")]] : [])))
        for (const order of orders)
          assert.strictEqual(results.get(order), Array.from({ length: 6 }, (_, step) => `${order}/${step}`).join(" "))
      })
    }),
  )

  it.live("while it runs a batch: another completes it with the same graph, and asks no question again that was answered and stored", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      let asked = 0
      let isKilled = false
      // From the fourth question on it takes its time, until the node that asks is killed.
      const slowly = (heard: Heard): Turn => ({ afterMillis: ++asked >= 4 && !isKilled ? 5000 : 50, turn: shipModel(heard) })
      const { server, cwd, env: keys, line } = yield* seaProject(slowly)
      yield* Effect.promise(() => linkPackages(cwd))
      const config = `import { defineConfig } from "@detent/workspace/Config"\nexport default defineConfig({ machines: [], knowledge: {}, ${clusterSetting} })\n`
      yield* Effect.promise(() => writeFile(join(cwd, "detent.config.ts"), config))
      const env = { ...keys, DETENT_DATABASE_URL: url, DETENT_CLUSTER_TOKEN: token }
      const graphIn = async (data: string) => withoutRuns(await readFile(join(cwd, data, "canonical/sea/entities.ttl"), "utf8"))
      yield* withNodes({ cwd, env, url }, async ({ owner, query }) => {
        const begun = await detent([...line, "--data", "data", "--detach", "--json"], { cwd, env })
        assert.strictEqual(begun.code, 0, begun.err)
        const batchId = String(JSON.parse(begun.out).batchId)
        const question = (heard: Heard) => `${questionIn(heard).asks} ${questionIn(heard).text}`
        await until(async () => server.heard.length >= 4)
        const victim = await found(() => owner("batch", batchId))
        await victim.stop("SIGKILL")
        isKilled = true
        // With one document at a time, a question is asked when the answer to the one before is stored.
        const known = server.heard.length
        const stored = new Set(server.heard.slice(0, known - 1).map(question))
        assert.isBelow(known, allCalls, "some is not asked yet")
        await until(async () => {
          const [batch] = await query(`select status, tag from detent.instances where machine = 'batch' and id = '${batchId}'`)
          return batch?.["status"] === "final"
        })
        const shown = await detent(["batch", "show", batchId, "--data", "data", "--json"], { cwd, env })
        assert.deepInclude(JSON.parse(shown.out), { state: "Completed", isTerminal: true })
        const again = server.heard.slice(known).map(question)
        assert.deepStrictEqual(
          again.filter((one) => stored.has(one)),
          [],
        )
        assert.strictEqual(new Set(server.heard.map(question)).size, allCalls)
      })
      const undisturbed = yield* Effect.promise(() => detent([...line, "--data", "undisturbed"], { cwd, env: keys }))
      assert.strictEqual(undisturbed.code, 0, undisturbed.err)
      const [graph, expected] = yield* Effect.promise(() => Promise.all([graphIn("data"), graphIn("undisturbed")]))
      assert.strictEqual(graph, expected)
    }),
  )

  it.live("while it uploads: another stores what is missing, every item once", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const cwd = join(yield* Effect.promise(temporaryFolder), "news")
      const config = `import { defineConfig } from "@detent/workspace/Config"\nexport default defineConfig({ machines: [], uploads: ["items"], ${clusterSetting} })\n`
      yield* Effect.promise(() => project(cwd, config))
      const path = join(cwd, "items.ndjson")
      const bad = { not_json: 0.01, missing_id: 0.03, duplicate: 0.02 }
      const { good } = yield* Effect.promise(() => writeItemFile(path, { items: 15_000, layout: "lines", bad, seed: 7 }))
      const env = { DETENT_DATABASE_URL: url, DETENT_CLUSTER_TOKEN: token }
      yield* withNodes({ cwd, env, url }, async ({ owner, query }) => {
        const begun = await detent(["upload", "run", path, "--data", "data", "--detach", "--json"], { cwd, env })
        assert.strictEqual(begun.code, 0, begun.err)
        const batchId = String(JSON.parse(begun.out).batchId)
        const batch = async () =>
          (await query(`select status, tag from detent.instances where machine = 'UploadBatch' and id = '${batchId}'`))[0]
        await until(async () => {
          const [row] = await query(`select next_index from detent.upload_batches where batch_id = '${batchId}'`)
          return Number(row?.["next_index"] ?? 0) > 3000
        })
        const victim = await found(() => owner("UploadBatch", batchId))
        await victim.stop("SIGKILL")
        assert.notStrictEqual((await batch())?.["status"], "final", "it is not over")
        await until(async () => ["completed", "partially_completed", "failed"].includes(String((await batch())?.["tag"])))
        assert.strictEqual((await batch())?.["tag"], "partially_completed")
        const [counted] = await query(`
            select (select count(*)::integer from detent.upload_items) as items,
              (select count(distinct id)::integer from detent.upload_items) as "differentItems",
              (select count(*)::integer from detent.upload_entries) as entries,
              (select count(*)::integer from detent.upload_entries where state = 'stored') as stored,
              (select count(*)::integer from detent.instances where machine = 'UploadItem') as instances,
              (select count(*)::integer from detent.instances where machine = 'UploadItem' and tag = 'stored') as "storedInstances"`)
        assert.deepStrictEqual(counted, {
          items: good,
          differentItems: good,
          entries: 15_000,
          stored: good,
          instances: 15_000,
          storedInstances: good,
        })
        const [batchRow] = await query(`select stored::integer, failed::integer, next_index::integer from detent.upload_batches`)
        assert.deepStrictEqual(batchRow, { stored: good, failed: 15_000 - good, next_index: 15_000 })
      })
    }),
  )
})

/** The address that a node was started with. */
const addressOf = (node: Running): string => node.process.spawnargs.find((word) => /^127\.0\.0\.1:\d+$/.test(word)) ?? "nowhere"
