import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { bin, detentProcess as detent, Running, startInTerminal, temporaryFolder } from "./support/Detent.ts"
import { lampConfig, project } from "./support/Project.ts"

let folder = ""

beforeAll(async () => {
  folder = await temporaryFolder()
})

/** All files that are loaded before a command runs. */
const loaded = (file: string, found = new Set<string>()): ReadonlySet<string> => {
  if (found.has(file)) return found
  found.add(file)
  for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(/^import .* from "([^"]+)"$/gm))
    if (specifier.startsWith(".")) loaded(resolve(dirname(file), specifier), found)
    else assert.match(specifier, /^node:/, `${file} loads ${specifier}`)
  return found
}

describe("the detent command", () => {
  it("explains itself without loading anything but plain JavaScript of its own", async () => {
    for (const file of loaded(join(dirname(bin), "command.mjs"))) assert.match(file, /\.mjs$/)
    const { code, out, err } = await detent(["--help"])
    assert.strictEqual(code, 0)
    assert.strictEqual(err, "")
    assert.include(out, "detent init --template order")
    assert.notInclude(out, "\x1b")
  })

  it("tells its version", async () => {
    const { version } = JSON.parse(readFileSync(join(dirname(bin), "../package.json"), "utf8"))
    assert.strictEqual((await detent(["--version"])).out, `detent ${version}\n`)
  })

  it("ends with 2 and the next step when it is used wrongly, with nothing on stdout", async () => {
    const { code, out, err } = await detent(["batch", "rum"])
    assert.strictEqual(code, 2)
    assert.strictEqual(out, "")
    assert.include(err, "did you mean batch run?")
    assert.include(err, "detent batch --help")
    assert.strictEqual((await detent(["help", "nothing"])).code, 2)
    const alone = await detent(["batch"])
    assert.strictEqual(alone.code, 2)
    assert.include(alone.err, "batch run SOURCE")
  })

  it("ends with 3 where there is nothing, and makes nothing", async () => {
    const { code, err } = await detent(["instance", "list"], { cwd: folder })
    assert.strictEqual(code, 3)
    assert.include(err, "detent dev --demo")
    const json = await detent(["batch", "list", "--json"], { cwd: folder })
    assert.strictEqual(json.out, "")
    assert.deepInclude(JSON.parse(json.err).error, { tag: "NothingFound", exitCode: 3 })
  })

  it("refuses a database it does not know without repeating its address", async () => {
    const { code, err } = await detent(["machine", "list", "--database", "mysql://root:secret@localhost/x"], { cwd: folder })
    assert.strictEqual(code, 2)
    assert.include(err, "postgres://")
    assert.notInclude(err, "secret")
  })

  it("does not wait for a folder that cannot be made", async () => {
    for (const data of ["/dev/null/home", "/proc/home"]) {
      const { code, err } = await detent(["machine", "list", "--data", data], { cwd: folder })
      assert.strictEqual(code, 2)
      assert.include(err, "choose another with --data")
    }
  })

  it("says what is wrong with the configuration", async () => {
    const cwd = join(folder, "misconfigured")
    mkdirSync(cwd)
    writeFileSync(join(cwd, "detent.config.ts"), "export default { machines: 7 }")
    const { code, err } = await detent(["machine", "list"], { cwd })
    assert.strictEqual(code, 2)
    assert.include(err, "defineConfig({ machines: [...] })")
  })

  it("names the Node it needs in one line, and where a clone has it, before anything of it is imported", async () => {
    const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } })`
    const { code, out, err } = await new Running(process.execPath, ["--import", `data:text/javascript,${older}`, bin, "--help"]).ended
    assert.strictEqual(code, 1)
    assert.strictEqual(out, "")
    assert.match(err, /^Detent needs Node 22\.19 or later; this is 20\.20\.2\. [^\n]+\n$/)
    const named = /A newer one is in (\S+node_modules\/\.bin): put that folder first in PATH/.exec(err)?.[1] ?? ""
    assert.isTrue(existsSync(join(named, "node")), err)
    assert.deepStrictEqual([...loaded(bin)], [bin])
  })

  it("takes the database from the environment", async () => {
    const cwd = join(folder, "lamps")
    await project(cwd, lampConfig())
    const env = { DETENT_DATABASE_URL: `sqlite:${join(folder, "elsewhere.db")}` }
    assert.strictEqual((await detent(["worker", "--until-idle"], { cwd, env })).code, 0)
    const { code, out } = await detent(["machine", "list", "--json"], { cwd, env })
    assert.strictEqual(code, 0)
    assert.include(out, '"lamp"')
    assert.isAbove(readFileSync(join(folder, "elsewhere.db")).length, 0)
  })

  it("is bold in a terminal, unless NO_COLOR or --no-color says otherwise", async () => {
    assert.include((await startInTerminal(["--help"]).ended).out, "\x1b[1mRun\x1b[0m")
    assert.notInclude((await startInTerminal(["--help"], { env: { NO_COLOR: "1" } }).ended).out, "\x1b[1m")
    const cwd = join(folder, "bold")
    await project(cwd, lampConfig())
    assert.include((await startInTerminal(["machine", "list"], { cwd }).ended).out, "\x1b[1m")
    assert.notInclude((await startInTerminal(["machine", "list", "--no-color"], { cwd }).ended).out, "\x1b[1m")
  })
})
