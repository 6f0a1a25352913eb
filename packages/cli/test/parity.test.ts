import { cp } from "node:fs/promises"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { detent as run, temporaryFolder } from "./support/Detent.ts"
import { bothSystems, corpus, lampConfig, project } from "./support/Project.ts"

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "lamps")
  await project(cwd, lampConfig("Schema.Int", bothSystems))
  await cp(corpus, join(cwd, "corpus"), { recursive: true })
})

describe("what the API can do, the command line can", { timeout: 120_000 }, () => {
  it("forks an instance, and pauses and resumes a queue", async () => {
    await detent("instance", "start", "lamp", "hall", "--with", '{"pin":"4711"}')
    await detent("instance", "send", "hall", "Switch", "--with", '{"level":3}')
    const forked = await detent("instance", "fork", "hall", "attic", "--through", "0", "--json")
    assert.deepStrictEqual(JSON.parse(forked.out), { machine: "lamp", id: "attic", state: { _tag: "Off", pin: "•••" } })
    const [queue] = (await detent("queue", "list", "--json")).out.split("\n")
    const { queue: name } = JSON.parse(queue ?? "")
    assert.deepInclude(JSON.parse((await detent("queue", "pause", name, "--json")).out), { queue: name, paused: true })
    assert.deepInclude(JSON.parse((await detent("queue", "resume", name, "--json")).out), { queue: name, paused: false })
    const misspelt = await detent("queue", "pause", "lmap")
    assert.include(misspelt.err, `no command is in the queue lmap; queues with commands: ${name}`)
    const [requested] = (await detent("command", "list", "--json")).out.split("\n")
    const { key } = JSON.parse(requested ?? "")
    const shown = await detent("command", "show", key)
    assert.match(shown.out, new RegExp(`^command +${key}$`, "m"))
    assert.strictEqual((await detent("command", "show", "lamp/none/1/0")).code, 3)
  })

  it("lists timers that were given up, and finds no stored item where there is none", async () => {
    assert.strictEqual((await detent("timer", "list")).err, "no timer was given up\n")
    const none = await detent("timer", "revive", "lamp/hall", "too long")
    assert.strictEqual(none.code, 3)
    assert.include(none.err, "see `detent timer list`")
    assert.strictEqual((await detent("upload", "search", "database")).err, "no stored item fits\n")
    assert.strictEqual((await detent("upload", "cancel", "batch-none", "--yes")).code, 3)
    assert.strictEqual((await detent("batch", "withdraw", "batch-3f9c2a71b0d4", "--yes")).code, 3)
  })

  it.each([
    ["batch", "run", "corpus"],
    ["upload", "run", "detent.config.ts"],
    ["instance", "send", "hall", "Switch"],
  ])("refuses a --key for `detent %s %s` that no header of a request can hold", async (...command) => {
    const { code, err } = await detent(...command, "--key", "clé")
    assert.strictEqual(code, 2, err)
    assert.include(err, "--key does not fit; it has 1 to 200 visible ASCII characters")
  })
})
