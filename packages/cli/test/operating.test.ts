/** Commands that change something, alone and beside a server. */
import { cp, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { BatchApi, CommandApi, InstanceApi, MachineApi, UploadApi } from "@detent/api"
import { writeItemFile } from "@detent/uploads/generate"
import { assert, describe, it, onTestFinished } from "vitest"
import { decoded, detent as run, start, temporaryFolder } from "./support/Detent.ts"
import { corpus, lampConfig, project } from "./support/Project.ts"

/** A job whose mail cannot be sent, and that can be stopped meanwhile. */
const jobConfig = `
import { Event, Machine, RetryPolicy, reply, Slot, State, stay } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const S = State({ Mailing: { n: Schema.Int }, Mailed: {}, Stopped: {} })
const E = Event({ Begin: {}, Done: {}, Stop: {}, GetNumber: Event.reply({ plus: Schema.Int }, Schema.Int) })
const effects = Slot.Effects({ mail: {} })
const Job = Machine.make({ name: "job", state: S, event: E, effects, initial: S.Mailing })
  .on(S.Mailing, E.Begin, stay, ({ effects }) => {
    effects.mail({})
    return stay
  })
  .on(S.Mailing, E.GetNumber, stay, ({ state, event }) => reply(state.n + event.plus))
  .on(S.Mailing, E.Done, S.Mailed)
  .on(S.Mailing, E.Stop, S.Stopped)
  .final(S.Mailed, S.Stopped)
  .commands({ mail: { retry: RetryPolicy.none, onSuccess: () => E.Done() } })
  .build({ mail: () => Effect.fail(new Error("the post office is closed")) })

export default defineConfig({ machines: [Job] })
`

const workspace = async (config: string) => {
  const cwd = join(await temporaryFolder(), "operated")
  await project(cwd, config)
  return { cwd, detent: (...args: ReadonlyArray<string>) => run(args, { cwd }) }
}

describe("detent instance ask", () => {
  it("prints the answer and journals nothing; an event that is not a question is not sent", async () => {
    const { detent } = await workspace(jobConfig)
    await detent("instance", "start", "job", "j", "--with", '{"n":40}')
    const asked = await detent("instance", "ask", "j", "GetNumber", "--with", '{"plus":2}')
    assert.deepStrictEqual([asked.code, asked.out], [0, "42\n"], asked.err)
    const refused = await detent("instance", "ask", "j", "Stop")
    assert.strictEqual(refused.code, 2)
    assert.include(refused.err, "Stop is not a question of job; its questions are GetNumber")
    assert.include((await detent("instance", "history", "j")).err, "it began as Mailing; no events since")
  })
})

describe("detent command retry --force", () => {
  it("executes a command again whose instance has ended, which is refused without", async () => {
    const { detent } = await workspace(jobConfig)
    await detent("instance", "start", "job", "j", "--with", '{"n":1}')
    await detent("instance", "send", "j", "Begin")
    await detent("worker", "--until-idle")
    await detent("instance", "send", "j", "Stop")
    const failed = decoded(CommandApi.StoredCommand, (await detent("command", "list", "--status", "failed", "--json")).out)
    const key = failed[0]?.key ?? ""
    const refused = await detent("command", "retry", key)
    assert.strictEqual(refused.code, 4, refused.err)
    const tried = await detent("command", "retry", key, "--dry-run")
    assert.deepStrictEqual([tried.code, tried.err], [4, refused.err])
    assert.strictEqual((await detent("command", "retry", key, "--dry-run", "--force")).code, 0)
    assert.match((await detent("command", "retry", "--all", "--yes")).err, /1 command not retried, .*--force includes them/)
    assert.strictEqual((await detent("command", "retry", key, "--force")).code, 0)
    const pending = decoded(CommandApi.StoredCommand, (await detent("command", "list", "--json")).out)
    assert.deepInclude(pending[0], { key, status: "pending", round: 1 })
  })
})

/** The mail is tried three times, and fails each time for another reason. */
const threeTries = jobConfig
  .replace("RetryPolicy.none", 'RetryPolicy.fixed({ maxAttempts: 3, delay: "1 millis" })')
  .replace("const Job =", "let calls = 0\nconst Job =")
  .replace(
    'Effect.fail(new Error("the post office is closed"))',
    'Effect.suspend(() => Effect.fail(new Error("call " + ++calls + " was not answered")))',
  )

describe("detent command list", () => {
  it("shows the errors of earlier tries beside the problem", async () => {
    const { detent } = await workspace(threeTries)
    await detent("instance", "start", "job", "j", "--with", '{"n":1}')
    await detent("instance", "send", "j", "Begin")
    await detent("worker", "--until-idle")
    const { out } = await detent("command", "list")
    assert.match(out, /PROBLEM +EARLIER PROBLEMS\n/)
    assert.match(out, /call 3 was not answered +try 1: .*call 1 was not answered; try 2: .*call 2 was not answered\n/)
    assert.include((await detent("command", "list", "--instance", "j", "--latest")).out, "call 3 was not answered")
    assert.strictEqual((await detent("command", "list", "--instance", "j", "--sequence", "7", "--before", "1000")).out, "")
    const wrong = await detent("command", "list", "--latest")
    assert.deepStrictEqual([wrong.code, wrong.err.includes("name it with --instance")], [2, true])
  })
})

describe("a change under --key", () => {
  it.each(["alone", "beside a server"])("is made once, %s, and another under the key is refused", async (way) => {
    const { cwd, detent } = await workspace(jobConfig)
    if (way === "beside a server") {
      const server = start(["dev", "--port", "0"], { cwd })
      onTestFinished(async () => {
        await server.stop("SIGKILL")
      })
      await server.until(/http:\/\/127\.0\.0\.1:\d+\n/)
    }
    const begin = (id: string, key: string) => detent("instance", "start", "job", id, "--with", '{"n":1}', "--key", key)
    const first = await begin("a", "start-1")
    assert.strictEqual(first.code, 0, first.err)
    assert.deepStrictEqual(await begin("a", "start-1"), first)
    const other = await begin("b", "start-1")
    assert.include(other.err, "key start-1 belongs to a request with other content")
    const fork = () => detent("instance", "fork", "a", "c", "--through", "0", "--key", "fork-1")
    assert.strictEqual((await fork()).code, 0)
    assert.strictEqual((await fork()).code, 0)
    await detent("queue", "pause", "job", "--key", "pause-1")
    await detent("queue", "resume", "job", "--key", "resume-1")
    assert.strictEqual((await detent("queue", "pause", "job", "--key", "pause-1")).out, "job is not paused\n")
    const wrong = await detent("queue", "pause", "job", "--key", "with space")
    assert.strictEqual(wrong.code, 2, wrong.err)
  })
})

describe("beside a server", () => {
  it("one that ended is purged by the server", async () => {
    const { cwd, detent } = await workspace(jobConfig)
    const server = start(["dev", "--port", "0"], { cwd })
    onTestFinished(async () => {
      await server.stop("SIGKILL")
    })
    await server.until(/http:\/\/127\.0\.0\.1:\d+\n/)
    await detent("instance", "start", "job", "j", "--with", '{"n":1}')
    await detent("instance", "send", "j", "Stop")
    const purged = await detent("instance", "purge", "job", "--ended-before", "0seconds", "--yes")
    assert.deepStrictEqual([purged.code, purged.out], [0, "1 instance was removed\n"], purged.err)
    assert.strictEqual((await fetch(`${server.out.trim()}/api/v1/instances/job/j`)).status, 404)
  })

  it("a held instance is repaired by the server", async () => {
    const { cwd, detent } = await workspace(lampConfig())
    await detent("instance", "start", "lamp", "hall", "--with", '{"pin":"pin-4711"}')
    await detent("instance", "send", "hall", "Switch", "--with", '{"level":3}')
    await writeFile(join(cwd, "detent.config.ts"), lampConfig('Schema.Literals(["dim", "bright"])'))
    const server = start(["dev", "--port", "0"], { cwd })
    onTestFinished(async () => {
      await server.stop("SIGKILL")
    })
    await server.until(/http:\/\/127\.0\.0\.1:\d+\n/)
    const url = server.out.trim()
    assert.include((await detent("instance", "send", "hall", "Rest")).err, "held at sequence 1")
    const repaired = await detent("instance", "repair", "hall", "1", "Switch", "--with", '{"level":"dim"}', "--yes")
    assert.strictEqual(repaired.code, 0, repaired.err)
    const { state, status } = await (await fetch(`${url}/api/v1/instances/lamp/hall`)).json()
    assert.deepInclude({ ...state, status }, { _tag: "On", level: "dim", status: "running" })
    const again = await detent("instance", "repair", "hall", "1", "Switch", "--with", '{"level":"dim"}', "--yes")
    assert.strictEqual(again.code, 4)
    assert.include(again.err, "is not held")
  })
})

describe("batches and executions", () => {
  it("an execution is listed, shown and has a history; the facts of a batch are withdrawn once the user agrees", async () => {
    const cwd = await temporaryFolder()
    const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
    for (const name of ["ada-sol.txt", "books.json"]) await cp(join(corpus, "documents", name), join(cwd, "few", name))
    const setting = ["--ontology", join(corpus, "ontology.ttl"), "--examples", join(corpus, "examples.jsonl"), "--namespace", "few"]
    const ran = await detent("batch", "run", "few", ...setting, "--json")
    assert.strictEqual(ran.code, 0, ran.err)
    const id = decoded(BatchApi.BatchStatus, ran.out)[0]?.batchId ?? ""

    const listed = await detent("instance", "list", "--machine", "workflow/extraction", "--json")
    const execution = decoded(InstanceApi.InstanceListing, listed.out)[0]
    const known = decoded(MachineApi.MachineListing, (await detent("machine", "list", "--json")).out)
    const states = known.find(({ name }) => name === "workflow/extraction")?.states
    assert.include(states ?? [], execution?.state ?? "")
    const shown = await detent("instance", "show", execution?.id ?? "")
    assert.strictEqual(shown.code, 0, shown.err)
    assert.match(shown.out, /^machine +workflow\/extraction\n/)
    assert.match(shown.out, /^status +final$/m, shown.out)
    assert.strictEqual(shown.err, "")
    const history = await detent("instance", "history", `workflow/extraction/${execution?.id}`)
    assert.strictEqual(history.code, 0, history.err)
    assert.match(history.out, /^# +AT +EVENT/)

    assert.strictEqual((await detent("batch", "withdraw", id)).code, 4)
    const triples = async () => JSON.parse((await detent("graph", "stats", "--namespace", "few", "--json")).out).triples
    assert.isAbove(await triples(), 0)
    const withdrawn = await detent("batch", "withdraw", id, "--yes")
    assert.strictEqual(withdrawn.code, 0, withdrawn.err)
    assert.match(withdrawn.out, new RegExp(`^few is at version \\S+, without ${id}\n$`))
    assert.strictEqual(decoded(BatchApi.BatchStatus, (await detent("batch", "show", id, "--json")).out)[0]?.inGraph, 0)
    assert.match(
      (await detent("batch", "show", id)).out,
      /^triples +\d+ from this batch; \d+ in the graph when it ended; 0 from this batch now$/m,
    )
    assert.strictEqual(await triples(), 0)
  })
})

describe("an upload that is not complete", () => {
  it("is cancelled once the user agrees", async () => {
    const cwd = await temporaryFolder()
    const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
    await writeItemFile(join(cwd, "large.jsonl"), { items: 15_000, seed: 5, layout: "lines", firstId: 100_000 })
    const killed = start(["upload", "run", "large.jsonl"], { cwd })
    await killed.until("storing, ")
    await killed.stop("SIGKILL")
    const upload = /detent upload retry (\S+)/.exec(killed.err)?.[1] ?? ""
    assert.strictEqual((await detent("upload", "cancel", upload)).code, 4)
    const cancelled = await detent("upload", "cancel", upload, "--yes", "--json")
    assert.strictEqual(cancelled.code, 0, cancelled.err)
    assert.deepInclude(decoded(UploadApi.UploadStatus, cancelled.out)[0], { state: "failed", isResting: true })
  })

  it("has a refused item corrected", async () => {
    const cwd = await temporaryFolder()
    const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
    const statuses = (out: string) => decoded(UploadApi.UploadStatus, out)
    const item = (id: number) => ({ id, type: "story", by: "ada", time: 1_700_000_000, title: `story ${id}` })
    await writeFile(join(cwd, "items.json"), JSON.stringify([item(1), { ...item(2), id: undefined }]))
    const ran = await detent("upload", "run", "items.json", "--json")
    const upload = statuses(ran.out).at(-1)?.batchId ?? ""
    const shown = JSON.parse((await detent("upload", "show", upload, "--items", "failed", "--json")).out)
    const index = String(shown.listed[0].index)
    assert.strictEqual((await detent("upload", "correct", upload, index)).code, 2)
    const corrected = await detent("upload", "correct", upload, index, "--with", JSON.stringify(item(2)))
    assert.deepStrictEqual([corrected.code, corrected.out], [0, `item ${index} of ${upload} has new content\n`], corrected.err)
    const retried = await detent("upload", "retry", upload, "--json")
    assert.strictEqual(retried.code, 0, retried.err)
    assert.deepInclude(statuses(retried.out).at(-1)?.items, { total: 2, stored: 2, failed: 0 })
  })
})
