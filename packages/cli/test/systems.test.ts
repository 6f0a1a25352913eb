import { existsSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, beforeAll, describe, it } from "vitest"
import { detent, detentProcess, start, temporaryFolder } from "./support/Detent.ts"
import { copyFewDocuments, lampConfig, linkPackages, project } from "./support/Project.ts"

const recorder = pathToFileURL(join(import.meta.dirname, "support/recordModules.mjs")).href

/** What is loaded only where knowledge or uploads are on. */
const ofSystems =
  /\/packages\/(?:knowledge|uploads)\/|\/node_modules\/(?:n3|oxigraph|unpdf|htmlparser2|csv-parse|rdf-validate-shacl|openai|@anthropic-ai)\//

/** A folder without a configuration. */
const bareFolder = async () => {
  const cwd = join(await temporaryFolder(), "bare")
  await mkdir(cwd, { recursive: true })
  return cwd
}

/** A folder with documents and a configuration, or none. */
const documents = async (config?: string) => {
  const cwd = await bareFolder()
  await copyFewDocuments(join(cwd, "corpus"))
  if (config !== undefined) {
    await linkPackages(cwd)
    const text = `import { defineConfig } from "@detent/workspace/Config"\nexport default defineConfig(${config})\n`
    await writeFile(join(cwd, "detent.config.ts"), text)
  }
  return cwd
}

const ask = async (server: { readonly out: string }, path: string) => {
  const url = /http:\S+/.exec(server.out)?.[0] ?? ""
  const response = await fetch(new URL(path, url))
  return { status: response.status, body: await response.json() }
}

const machineNames = async (cwd: string) => {
  const { out } = await detent(["machine", "list", "--json"], { cwd })
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => String(JSON.parse(line).name))
}

describe("a project without knowledge and uploads", () => {
  let cwd = ""
  beforeAll(async () => {
    cwd = join(await temporaryFolder(), "lamps")
    await project(cwd, lampConfig())
    await detent(["instance", "start", "lamp", "hall", "--with", '{"pin":"pin-4711"}'], { cwd })
  })

  const recorded = async (name: string) => {
    const file = join(cwd, name)
    await writeFile(file, "")
    return { file, env: { NODE_OPTIONS: `--import=${recorder}`, DETENT_TEST_MODULES: file } }
  }

  it.each([
    ["instance", "list"],
    ["machine", "list"],
    ["execution", "list"],
    ["command", "list"],
  ])("`detent %s %s` loads none of their code", async (...command) => {
    const { file, env } = await recorded("commands.txt")
    const { code, err } = await detentProcess(command, { cwd, env })
    assert.strictEqual(code, 0, err)
    const modules = (await readFile(file, "utf8")).split("\n")
    assert.isTrue(modules.some((url) => url.includes("/packages/durable/")))
    assert.deepStrictEqual(
      modules.filter((url) => ofSystems.test(url)),
      [],
    )
  })

  it("`detent serve` loads none of their code, and has neither their routes nor their machines", async () => {
    const { file, env } = await recorded("serve.txt")
    const server = start(["serve", "--port", "0"], { cwd, env })
    await server.until(/http:\S+/)
    const { body } = await ask(server, "/api/v1/machines")
    assert.deepStrictEqual(
      body.machines.map(({ name }: { readonly name: string }) => name),
      ["lamp"],
    )
    const refused = await ask(server, "/api/v1/batch")
    assert.strictEqual(refused.status, 404)
    assert.include(refused.body.detail, "knowledge is off; add `knowledge: {}` to detent.config.ts")
    await server.stop("SIGTERM")
    const modules = (await readFile(file, "utf8")).split("\n")
    assert.isTrue(modules.some((url) => url.includes("/packages/server/")))
    assert.deepStrictEqual(
      modules.filter((url) => ofSystems.test(url)),
      [],
    )
  })

  it.each([
    [["batch", "list"], "knowledge is off; add `knowledge: {}` to detent.config.ts"],
    [["graph", "stats"], "knowledge is off; add `knowledge: {}` to detent.config.ts"],
    [["upload", "list"], 'uploads are off; add `uploads: ["items"]` to detent.config.ts'],
  ] as const)("refuses `detent %s` with the next step", async (command, problem) => {
    const { code, err } = await detent(command, { cwd })
    assert.strictEqual(code, 3)
    assert.include(err, problem)
  })
})

describe("a folder without a configuration", () => {
  it("knows a batch after `detent batch run`, in every command and server that follows", async () => {
    const cwd = await documents()
    assert.deepStrictEqual(await machineNames(cwd), [])
    const run = await detent(["batch", "run", "corpus", "--json"], { cwd })
    assert.strictEqual(run.code, 0, run.err)
    assert.deepStrictEqual(await machineNames(cwd), ["batch", "workflow/extraction"])
    const server = start(["serve", "--port", "0"], { cwd })
    await server.until(/http:\S+/)
    const { body } = await ask(server, "/api/v1/batch")
    assert.strictEqual(body.batches.length, 1)
    assert.deepInclude((await ask(server, "/health/ready")).body, { systems: ["knowledge"] })
    await server.stop("SIGTERM")
  })

  it("runs a batch beside a server that has knowledge off", async () => {
    const cwd = await documents()
    const server = start(["serve", "--port", "0"], { cwd })
    await server.until(/http:\S+/)
    const run = await detent(["batch", "run", "corpus"], { cwd })
    assert.strictEqual(run.code, 0, run.err)
    const detached = await detent(["batch", "run", "corpus", "--detach"], { cwd })
    assert.strictEqual(detached.code, 3)
    assert.include(detached.err, "knowledge is off")
    await server.stop("SIGTERM")
  })
})

describe("a configuration with knowledge", () => {
  it("gives batches to the server", async () => {
    const cwd = await documents("{ knowledge: {} }")
    const server = start(["serve", "--port", "0"], { cwd })
    await server.until(/http:\S+/)
    const run = await detent(["batch", "run", "corpus", "--detach", "--json"], { cwd })
    assert.strictEqual(run.code, 0, run.err)
    assert.strictEqual((await ask(server, "/api/v1/batch")).body.batches.length, 1)
    await server.stop("SIGTERM")
  })
})

describe("workflows of a project", () => {
  const config = `
import { workflow } from "@detent/durable/promise"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"

const Nightly = workflow({ name: "nightly", input: { day: Schema.String }, events: { go: Schema.String } }, async ({ day }, durable) => {
  await durable.step("prepare", async () => day)
  return durable.waitForEvent("go")
})
/** Starts an execution with the process. */
const Begin = Layer.effectDiscard(
  Effect.gen(function* () {
    const engine = yield* WorkflowEngine
    yield* engine.execute(Nightly.definition, { executionId: "monday", payload: { day: "monday" }, discard: true })
  }),
)
export default defineConfig({ workflows: [Nightly], layers: process.argv.includes("serve") ? Begin : Layer.empty })
`

  it("run in `detent serve`, and are listed, shown and interrupted by the command line", async () => {
    const cwd = join(await temporaryFolder(), "nightly")
    await project(cwd, config)
    const server = start(["serve", "--port", "0"], { cwd })
    await server.until(/http:\S+/)
    const shown = async () => JSON.parse((await detent(["execution", "show", "nightly/monday", "--json"], { cwd })).out)
    for (let view = await shown(); view.phase !== "Suspended"; view = await shown()) assert.notStrictEqual(view.ended, true)
    assert.include(
      (await shown()).history.map(({ event }: { readonly event: string }) => event),
      "Activity/prepare",
    )
    const listed = await detent(["execution", "list"], { cwd })
    assert.include(listed.out, "nightly/monday")
    assert.deepStrictEqual(await machineNames(cwd), ["workflow/nightly"])
    const refused = await detent(["execution", "interrupt", "nightly/monday", "--no-input"], { cwd })
    assert.strictEqual(refused.code, 4)
    const interrupted = await detent(["execution", "interrupt", "nightly/monday", "--yes"], { cwd })
    assert.strictEqual(interrupted.code, 0, interrupted.err)
    for (let view = await shown(); !view.ended; view = await shown()) assert.notStrictEqual(view.phase, "Completed")
    assert.strictEqual((await shown()).phase, "Interrupted")
    const missing = await detent(["execution", "show", "nightly/tuesday"], { cwd })
    assert.strictEqual(missing.code, 3)
    assert.include(missing.err, "detent execution list")
    await server.stop("SIGTERM")
  })
})

describe("DETENT_DATABASE_URL", () => {
  it.each([
    ["machine", "list"],
    ["machine", "show", "lamp"],
    ["machine", "check"],
    ["machine", "diagram", "lamp"],
  ])("does not make `detent %s %s` create the database that it names", async (...command) => {
    const cwd = join(await temporaryFolder(), "lamps")
    await project(cwd, lampConfig())
    const { code, err } = await detent(command, { cwd, env: { DETENT_DATABASE_URL: "sqlite:missing.db" } })
    assert.strictEqual(code, 3)
    assert.include(err, "correct DETENT_DATABASE_URL")
    assert.isFalse(existsSync(join(cwd, "missing.db")))
  })
})
