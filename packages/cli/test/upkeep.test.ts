/** Stored instances beside changed definitions: what reading commands say of them, and that reading changes nothing. */
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { InstanceApi } from "@detent/api"
import { assert, describe, it } from "vitest"
import { decoded, detent as run, temporaryFolder } from "./support/Detent.ts"
import { project } from "./support/Project.ts"

/** A parcel. `n` is the schema of its number. */
const packConfig = (n = "Schema.Int", machines = "[Pack]") => `
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"

const S = State({ Open: { n: ${n} }, Sent: {}, Lost: {} })
const E = Event({ Send: {}, Lose: {} })
const Pack = Machine.make({ name: "pack", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Send, S.Sent)
  .on(S.Open, E.Lose, S.Lost)
  .final(S.Sent)
  .final(S.Lost, { outcome: "failure" })

export default defineConfig({ machines: ${machines} })
`

const packs = async (...ids: ReadonlyArray<string>) => {
  const cwd = join(await temporaryFolder(), "packs")
  await project(cwd, packConfig())
  const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
  for (const id of ids) await detent("instance", "start", "pack", id, "--with", '{"n":1}')
  const configure = (config: string) => writeFile(join(cwd, "detent.config.ts"), config)
  const statuses = async () => decoded(InstanceApi.InstanceListing, (await detent("instance", "list", "--json")).out)
  return { cwd, detent, configure, statuses }
}

describe("instances of a machine that is not in the configuration", () => {
  it("are found by the check before a deploy, which can be made to accept them", async () => {
    const { detent, configure } = await packs("p-1", "p-2")
    const fine = await detent("machine", "check")
    assert.strictEqual(fine.code, 0, fine.err)
    assert.match(fine.out, /^MACHINE +CHECKED +SAME +DIFFERS +HELD +FIRST REASON\npack +2 +2 +0 +0 *\n$/)
    await configure(packConfig("Schema.Int", "[]"))
    const checked = await detent("machine", "check")
    assert.strictEqual(checked.code, 1)
    assert.match(checked.out, /^pack +0 +0 +0 +0 +not in detent\.config\.ts: 2 not checked$/m)
    assert.include(
      checked.err,
      "2 of pack were not checked: add it to machines in detent.config.ts, or accept that with --allow-unregistered",
    )
    assert.strictEqual((await detent("machine", "check", "--allow-unregistered")).code, 0)
    const named = await detent("machine", "check", "pack")
    assert.strictEqual(named.code, 3)
    assert.include(named.err, "machine pack is not in detent.config.ts, although instances of it are stored; add it to machines there")
  })

  it("are shown as far as the journal knows them, and take no events", async () => {
    const { detent, configure } = await packs("p-1")
    await configure(packConfig("Schema.Int", "[]"))
    const shown = await detent("instance", "show", "p-1")
    assert.strictEqual(shown.code, 0, shown.err)
    assert.match(shown.out, /^state +Open$/m)
    const history = await detent("instance", "history", "p-1")
    for (const { err } of [shown, history])
      assert.include(err, "machine pack is not in detent.config.ts: add it to machines there to see more")
    const listed = await detent("instance", "list", "--machine", "pack")
    assert.match(listed.out, /^pack +p-1 +Open/m)
    for (const command of ["send", "ask"]) {
      const refused = await detent("instance", command, "p-1", "Send")
      assert.strictEqual(refused.code, 3)
      assert.include(refused.err, "machine pack is not in detent.config.ts")
    }
  })
})

describe("an instance that does not fit its definition", () => {
  it("is not changed by a look at it; once held, the look says how it is released", async () => {
    const { detent, configure, statuses } = await packs("p-1")
    await configure(packConfig("Schema.String"))
    const looked = await detent("instance", "show", "p-1")
    assert.strictEqual(looked.code, 0, looked.err)
    assert.match(looked.out, /^problem +its first state does not fit the definition: /m)
    assert.strictEqual(looked.err, "It cannot run: correct the definition or add upcasters\n")
    assert.deepInclude((await statuses())[0], { status: "running" })

    const refused = await detent("instance", "send", "p-1", "Send")
    assert.include(refused.err, "held at sequence 0")
    assert.deepInclude((await statuses())[0], { status: "held" })
    assert.notInclude((await detent("instance", "show", "p-1")).err, "repair")
    await configure(packConfig())
    const fitting = await detent("instance", "show", "p-1")
    assert.match(fitting.out, /^status +held$/m)
    assert.include(fitting.err, "It fits the definition again: the next start of `detent worker`")
    assert.deepInclude((await statuses())[0], { status: "held" })
    await detent("worker", "--until-idle")
    assert.deepInclude((await statuses())[0], { status: "running" })
  })
})

describe("instances that have ended", () => {
  it("in failure are listed by the status that is printed, in pages too", async () => {
    const { detent } = await packs("p-1", "p-2", "p-3", "p-4")
    await detent("instance", "send", "p-1", "Send")
    for (const id of ["p-2", "p-3"]) await detent("instance", "send", id, "Lose")
    const failed = await detent("instance", "list", "--status", "failed")
    assert.match(failed.out, /^pack +p-2 +Lost +failed.*\npack +p-3 +Lost +failed.*\n$/m)
    assert.notInclude(failed.out, "p-1")
    const first = await detent("instance", "list", "--status", "failed", "--limit", "1", "--json")
    const cursor = /--after (\S+)/.exec(first.err)?.[1] ?? ""
    const second = await detent("instance", "list", "--status", "failed", "--limit", "1", "--json", "--after", cursor)
    const ids = [first, second].flatMap(({ out }) => decoded(InstanceApi.InstanceListing, out)).map(({ id }) => id)
    assert.deepStrictEqual(ids, ["p-2", "p-3"])
  })

  it("are counted and purged once the user agrees", async () => {
    const { detent, statuses } = await packs("p-1", "p-2")
    await detent("instance", "send", "p-1", "Send")
    const purge = (...args: ReadonlyArray<string>) => detent("instance", "purge", "pack", ...args)
    assert.strictEqual((await purge("--ended-before", "30days")).out, "0 instances were removed\n")
    assert.strictEqual((await purge("--ended-before", "0 seconds", "--dry-run")).out, "1 instance would be removed\n")
    assert.strictEqual((await purge("--ended-before", "0seconds")).code, 4)
    const purged = await purge("--ended-before", "0seconds", "--yes", "--json")
    assert.deepStrictEqual(JSON.parse(purged.out), { machine: "pack", count: 1, dryRun: false })
    assert.deepStrictEqual(
      (await statuses()).map(({ id }) => id),
      ["p-2"],
    )
    const [missing, wrong] = [await purge(), await purge("--ended-before", "soon")]
    assert.deepStrictEqual([missing.code, wrong.code], [2, 2])
    assert.include(missing.err, "--ended-before is missing; write a whole number and a unit, such as 30days")
    assert.include(wrong.err, "--ended-before soon is not a duration")
  })
})

describe("a SQLite database that is not there", () => {
  it("is not created by commands that read", async () => {
    const { cwd, detent } = await packs()
    for (const words of [
      ["instance", "list"],
      ["instance", "show", "p-1"],
      ["machine", "check"],
      ["machine", "list"],
    ]) {
      const refused = await detent(...words, "--database", "sqlite:typo.db")
      assert.strictEqual(refused.code, 3)
      assert.include(refused.err, "there is no SQLite database typo.db; correct --database")
    }
    const env = { DETENT_DATABASE_URL: "sqlite:typo.db" }
    assert.include((await run(["instance", "list"], { cwd, env })).err, "correct DETENT_DATABASE_URL")
    assert.isFalse(existsSync(join(cwd, "typo.db")))
  })
})
