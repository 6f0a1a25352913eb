import { execFile } from "node:child_process"
import { createHash, createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { assert, beforeAll, describe, it } from "vitest"
import { libraries } from "../src/init/ProjectChoices.ts"
import { bin, detent, detentProcess, start, temporaryFolder } from "./support/Detent.ts"
import { linkPackages } from "./support/Project.ts"

let folder = ""
const tools = join(dirname(bin), "../../../node_modules/.bin")
const toolsFirst = `${tools}:${process.env["PATH"]}`
const run = promisify(execFile)

beforeAll(async () => {
  folder = await temporaryFolder()
})

/** A script of the project, as npm runs it: with the project's own tools first in the path. */
const script = (cwd: string, name: string) => {
  const { scripts } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"))
  return run("sh", ["-c", scripts[name]], { cwd, env: { ...process.env, PATH: toolsFirst } })
}

const made = async (template: string) => {
  const { code, out, err } = await detent(["init", `my ${template}`, "--template", template, "--json"], { cwd: folder })
  assert.strictEqual(code, 0, err)
  assert.match(err, /uses the folders of the clone in \S+, so it works on this machine only\..*npm run pack/)
  const cwd = join(folder, `my ${template}`)
  return { cwd, files: JSON.parse(out).files as ReadonlyArray<string> }
}

describe("detent init", () => {
  it("installs the versions that the repository is tested with", () => {
    const read = (path: string) => JSON.parse(readFileSync(join(dirname(bin), path), "utf8"))
    const { devDependencies, engines } = read("../templates/order/package.json")
    const tested = read("../../../package.json").devDependencies
    for (const name of ["typescript", "@types/node"]) assert.strictEqual(devDependencies[name], tested[name])
    for (const [name, { version }] of Object.entries(libraries)) assert.strictEqual(version, tested[name])
    assert.strictEqual(read("../templates/order/package.json").dependencies.effect, tested.effect)
    assert.strictEqual(engines.node, read("../package.json").engines.node)
  })

  it("makes an order that resumes from start to start, with a test of its own", async () => {
    const { cwd, files } = await made("order")
    // From a clone the project depends on the clone, so there is nothing to download.
    await run("npm", ["install", "--offline", "--no-audit", "--no-fund"], { cwd })
    // The clone's own Node comes first for npx and npm's scripts, however old that of the host is.
    const [own, ofClone] = await Promise.all([join(cwd, "node_modules/.bin"), tools].map((path) => run(join(path, "node"), ["--version"])))
    assert.strictEqual(own?.stdout, ofClone?.stdout)
    assert.includeMembers([...files], [".gitignore", "README.md", "detent.config.ts", "package.json", "src/Order.ts"])
    assert.strictEqual(JSON.parse(readFileSync(join(cwd, "package.json"), "utf8")).name, "my-order")
    const first = (await script(cwd, "start")).stdout
    assert.include(first, "order-1: Placed → Paid")
    assert.include(first, "order-5: Paid → Shipped")
    assert.strictEqual(first.match(/^mail: /gm)?.length, 5)
    const second = (await script(cwd, "start")).stdout
    assert.include(second, "order-1: Shipped")
    assert.notMatch(second, /→|mail/)
    assert.strictEqual((await detent(["command", "list", "--status", "pending", "--json"], { cwd })).out, "")
    assert.match((await detent(["instance", "history", "order-1"], { cwd })).out, /Ship +Paid +Shipped/)
    assert.include((await script(cwd, "test")).stdout, "pass 4")
    const checked = await detent(["machine", "check", "order", "--ended", "--json"], { cwd })
    assert.deepInclude(JSON.parse(checked.out), { checked: 5, ended: 5, same: 5 })
    const lines = readFileSync(join(dirname(bin), "../README.md"), "utf8").match(/^detent instance (start|send) (?!.*--dry-run).*$/gm) ?? []
    assert.isAbove(lines.length, 2)
    for (const line of lines) await run("sh", ["-c", `node_modules/.bin/${line}`], { cwd, env: { ...process.env, PATH: toolsFirst } })
  })

  it.each([
    ["effect", "effect"],
    ["async", "zod"],
    ["async", "valibot"],
    ["effect", "arktype"],
  ] as const)(
    "makes an order in the style %s with schemas of %s, which resumes, and whose types and tests hold",
    async (style, schemas) => {
      const name = `order-${style}-${schemas}`
      const { code, err } = await detent(["init", name, "--style", style, "--schemas", schemas, "--database", "sqlite"], { cwd: folder })
      assert.strictEqual(code, 0, err)
      const cwd = join(folder, name)
      await run("npm", ["install", "--offline", "--no-audit", "--no-fund"], { cwd })
      assert.include((await script(cwd, "test")).stdout, "pass 4")
      const first = (await script(cwd, "start")).stdout
      assert.include(first, "order-5: Paid → Shipped")
      assert.strictEqual(first.match(/^mail: /gm)?.length, 5)
      assert.notMatch((await script(cwd, "start")).stdout, /→|mail/)
      assert.strictEqual(readFileSync(join(cwd, "src/start.ts"), "utf8").includes("Effect.gen"), style === "effect")
      assert.strictEqual(readFileSync(join(cwd, "src/Order.ts"), "utf8").includes("Schema."), schemas === "effect")
    },
  )

  it("makes an order on PostgreSQL that says what is missing without its address", async () => {
    const { code, err } = await detent(["init", "order-pg", "--database", "postgres"], { cwd: folder })
    assert.strictEqual(code, 0, err)
    const cwd = join(folder, "order-pg")
    await run("npm", ["install", "--offline", "--no-audit", "--no-fund"], { cwd })
    assert.include((await script(cwd, "check")).stdout, "")
    assert.include(readFileSync(join(cwd, ".env"), "utf8"), "DETENT_DATABASE_URL=postgres://")
    const failed = await run("node", ["src/start.ts"], { cwd, env: { ...process.env, PATH: toolsFirst } }).then(
      () => "",
      ({ stderr }) => stderr as string,
    )
    assert.include(failed, "DETENT_DATABASE_URL is not set; use `npm start`")
  })

  it("makes an order whose server has a page, a webhook and a schedule", async () => {
    const cwd = join(folder, "my order")
    const server = start(["serve", "--port", "0"], { cwd, env: { PAYMENTS_SECRET: "a-secret-for-development" } })
    await server.until(/http:\/\/127\.0\.0\.1:\d+/)
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(server.out)?.[0]
    const json = { "content-type": "application/json" }
    const body = JSON.stringify({ id: "payment-1", order: "order-70" })
    const signature = createHmac("sha256", "a-secret-for-development").update(body).digest("hex")
    const started = { id: "order-70", input: { item: "lamp", total: 42 } }
    await fetch(`${url}/api/v1/instances/order`, { method: "POST", headers: json, body: JSON.stringify(started) })
    const delivered = await fetch(`${url}/webhooks/payments`, { method: "POST", headers: { ...json, "x-signature": signature }, body })
    assert.strictEqual(delivered.status, 200, await delivered.text())
    const state = await (await fetch(`${url}/api/v1/instances/order/order-70`)).json()
    assert.deepInclude(state.state, { _tag: "Paid", transactionId: "payment-1" })
    const schedules = (await detent(["schedule", "list", "--json"], { cwd })).out
    assert.include(schedules, "nightly-report")
    await server.stop("SIGTERM")
  })

  it("asks for nothing that the template does not have", async () => {
    const refused = await detent(["init", "docs", "--template", "documents", "--style", "effect"], { cwd: folder })
    assert.strictEqual(refused.code, 4)
    assert.include(refused.err, "--style is for the template order")
  })

  it("makes a folder of documents that becomes a graph", async () => {
    const { cwd } = await made("documents")
    await linkPackages(cwd)
    assert.match((await script(cwd, "start")).stdout, /state +Completed/)
    assert.strictEqual(JSON.parse((await detent(["graph", "stats", "--json"], { cwd })).out).namespace, "coast")
  })

  it("makes files of items that are uploaded", async () => {
    const { cwd } = await made("uploads")
    await linkPackages(cwd)
    assert.match((await script(cwd, "start")).stdout, /1000 stored, 0 refused/)
    assert.strictEqual((await detent(["upload", "run", "mixed.jsonl"], { cwd })).code, 5)
  })

  it("says so where the Node on the path is too old for a project with packages of its own", async () => {
    const packages = join(folder, "packed")
    await mkdir(packages)
    const integrity = `sha512-${createHash("sha512").update("").digest("base64")}`
    const names = ["cli", "durable", "machine", "server", "workspace"]
    for (const name of names) await writeFile(join(packages, `${name}.tgz`), "")
    const entries = names.map((name) => [`@detent/${name}`, { version: "0.1.0", file: `${name}.tgz`, integrity, dependencies: [] }])
    await writeFile(join(packages, "detent-packages.json"), JSON.stringify({ node: ">=22.19", packages: Object.fromEntries(entries) }))
    const noted = async (name: string, version: string) => {
      const host = join(folder, `host-${name}`)
      await mkdir(host)
      await writeFile(join(host, "node"), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 })
      // npx puts the tools of the clone first in the path. A shell in the project does not have them.
      const env = { PATH: `${tools}:${host}:${process.env["PATH"]}` }
      const { code, err } = await detentProcess(["init", name, "--packages", packages], { cwd: folder, env })
      assert.strictEqual(code, 0, err)
      return err
    }
    const old = await noted("old", "v20.11.0")
    assert.include(old, `The project needs Node 22.19 or later, and the one on your PATH is 20.11.0. Put a newer one first: export PATH="`)
    assert.isBelow(old.indexOf("export PATH"), old.indexOf("npm install && npm start"))
    assert.notInclude(await noted("new", "v22.19.0"), "export PATH")
  })

  it("does not touch a folder that is not empty, and knows its templates", async () => {
    await mkdir(join(folder, "taken"))
    await writeFile(join(folder, "taken/mine.txt"), "mine")
    assert.strictEqual((await detent(["init", "taken"], { cwd: folder })).code, 4)
    assert.strictEqual((await detent(["init", "--template", "oder"], { cwd: folder })).code, 2)
    const nowhere = await detent(["init", "/proc/nothing/order"], { cwd: folder })
    assert.strictEqual(nowhere.code, 2)
    assert.include(nowhere.err, "the folder /proc/nothing/order cannot be created")
  })
})
