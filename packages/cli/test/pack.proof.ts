import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, beforeAll, describe, it } from "vitest"
import { Running, temporaryFolder } from "./support/Detent.ts"

const root = join(import.meta.dirname, "../../..")
const env = { ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}` }
const run = promisify(execFile)

let folder = ""
let tarballs = ""
let touched: ReadonlyArray<string> = []

/** What a test run resolves: the manifests, the sources and every other entry of a package, each with the time of its last change. */
const resolvedFiles = () =>
  readdirSync(join(root, "packages"))
    .flatMap((name) => {
      const home = join("packages", name)
      const sources = readdirSync(join(root, home, "src"), { recursive: true, encoding: "utf8" }).map((path) => join(home, "src", path))
      const entries = readdirSync(join(root, home)).filter((path) => path !== "test")
      return [...entries.map((path) => join(home, path)), ...sources]
    })
    .map((path) => `${path} ${statSync(join(root, path)).mtimeMs}`)

beforeAll(async () => {
  folder = await temporaryFolder()
  tarballs = join(folder, "dist-packages")
  const before = new Set(resolvedFiles())
  await run("node", ["scripts/pack.mjs", "--emit-only", "--output", tarballs], { cwd: root, env })
  touched = resolvedFiles().filter((file) => !before.has(file))
})

const installed = (cwd: string) => {
  const npm = (...args: ReadonlyArray<string>) => run("npm", [...args], { cwd, env })
  const detent = (...args: ReadonlyArray<string>) => run(join(cwd, "node_modules/.bin/detent"), [...args], { cwd, env })
  return { npm, detent }
}

/** Another range of Effect, of which the newest version is used, too: for a minor version that is to be accepted next. */
const next = process.env["DETENT_EFFECT"]

/** The first version of the range that the packages accept, and the newest of it in the registry. */
const effectVersions = async (): Promise<ReadonlySet<string>> => {
  const ranges = readdirSync(join(root, "packages")).map(
    (name) => JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")).peerDependencies?.effect,
  )
  const [range, ...others] = new Set(ranges.filter((one) => one !== undefined))
  assert.isEmpty(others, "every package accepts the same versions of Effect")
  const first = /\d+\.\d+\.\d+/.exec(range)?.[0] ?? assert.fail(`no version in ${range}`)
  const { stdout } = await run("npm", ["view", `effect@${next ?? range}`, "version", "--json"], { cwd: folder, env })
  return new Set([first, [JSON.parse(stdout)].flat().at(-1)])
}

describe("packed packages", () => {
  it("are made without a change to the packages of the repository", () => {
    assert.deepStrictEqual(touched, [])
  })

  it("make a project in an empty folder that installs, checks its types, passes its tests, is killed and resumes", async () => {
    const bin = join(root, "packages/cli/bin/detent.mjs")
    await run("node", [bin, "init", "shop", "--packages", tarballs], { cwd: folder, env })
    const cwd = join(folder, "shop")
    const { npm, detent } = installed(cwd)
    await npm("install", "--prefer-offline", "--no-audit", "--no-fund")
    assert.isFalse(existsSync(join(cwd, "node_modules/@detent/machine/src/index.ts")), "the sources, not the built package")

    const killed = new Running("node", ["src/start.ts"], { cwd, env: { PATH: env.PATH } })
    await killed.until("order-2: Placed → Paid")
    await killed.stop("SIGKILL")
    const { stdout: resumed } = await npm("start")
    // Mails are sent at the same time.
    const progress = resumed.split("\n").filter((line) => line.startsWith("order-"))
    assert.deepStrictEqual(progress.slice(0, 4), ["order-1: Shipped", "order-2: Paid", "order-2: Paid → Shipped", "order-3: Placed"])
    assert.strictEqual(progress.at(-1), "order-5: Paid → Shipped")
    const { stdout: mails } = await detent("worker", "--until-idle")
    for (const id of ["order-1", "order-2", "order-3", "order-4", "order-5"]) {
      const { stdout } = await detent("instance", "history", id)
      assert.strictEqual(stdout.match(/ Pay +Placed +Paid/g)?.length, 1, stdout)
      assert.strictEqual(stdout.match(/ Ship +Paid +Shipped/g)?.length, 1, stdout)
      assert.include(killed.out + resumed + mails, `mail: Your lamp is on its way: NL-${id}`)
    }

    // Nothing but the packages says which versions of their dependencies belong together: the project has no lock file yet.
    const server = new Running(join(cwd, "node_modules/.bin/detent"), ["dev", "--port", "0"], { cwd, env: { PATH: env.PATH } })
    await server.until(/http:\/\/\S+:\d+\n/)
    assert.strictEqual((await fetch(`${/http:\/\/\S+:\d+/.exec(server.out)?.[0]}/health/ready`)).status, 200)
    await server.stop("SIGTERM")

    assert.include((await npm("test")).stdout, "pass 4")
    writeFileSync(join(cwd, "src/wrong.ts"), `import { E } from "./Order.ts"\nE.Pay({ transactionId: 7 })\n`)
    const refused: { stdout: string } = await npm("run", "check").then(
      () => assert.fail("a wrong type was accepted"),
      (error) => error,
    )
    assert.match(refused.stdout, /^src\/wrong\.ts.2,9.: error TS2322/m)

    const older = `data:text/javascript,Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } })`
    const old = await new Running("node", ["--import", older, "node_modules/@detent/cli/bin/detent.mjs", "machine", "list"], {
      cwd,
      env: { PATH: env.PATH },
    }).ended
    assert.strictEqual(old.err, "Detent needs Node 22.19 or later; this is 20.20.2\n")
    assert.strictEqual(old.code, 1)
  })

  it("work beside the first Effect that they accept, and beside the newest", async () => {
    const bin = join(root, "packages/cli/bin/detent.mjs")
    for (const version of await effectVersions()) {
      const name = `effect-${version}`
      await run("node", [bin, "init", name, "--packages", tarballs], { cwd: folder, env })
      const cwd = join(folder, name)
      const { npm } = installed(cwd)
      const path = join(cwd, "package.json")
      const manifest = JSON.parse(readFileSync(path, "utf8"))
      writeFileSync(path, JSON.stringify({ ...manifest, dependencies: { ...manifest.dependencies, effect: version } }))
      // The peers of the packages are checked, except for a version that they are to accept next.
      await npm("install", "--prefer-offline", "--no-audit", "--no-fund", ...(next === undefined ? [] : ["--force"]))
      assert.strictEqual(JSON.parse(readFileSync(join(cwd, "node_modules/effect/package.json"), "utf8")).version, version)
      const { stdout } = await npm("ls", "effect", "--all", "--parseable").catch((error) => error)
      assert.lengthOf(
        stdout.split("\n").filter((line: string) => /node_modules.effect$/.test(line)),
        1,
        "several copies of Effect",
      )
      assert.include((await npm("test")).stdout, "pass 4", version)
      assert.include((await npm("start")).stdout, "order-5: Paid → Shipped", version)
    }
  })

  it("make the next project from the tarballs that the command was installed from", async () => {
    const { detent } = installed(join(folder, "shop"))
    await detent("init", "../next")
    const { dependencies } = JSON.parse(readFileSync(join(folder, "next/package.json"), "utf8"))
    assert.strictEqual(dependencies["@detent/machine"], "file:vendor/detent-machine-0.1.0.tgz")
    for (const name of Object.keys(dependencies).filter((name) => name.startsWith("@detent/")))
      assert.isTrue(existsSync(join(folder, "next", dependencies[name].slice("file:".length))), name)
  })

  it("are refused by detent init when they do not belong together", async () => {
    const mixed = join(folder, "mixed")
    await run("cp", ["-r", tarballs, mixed])
    writeFileSync(join(mixed, "detent-durable-0.1.0.tgz"), "of another pack")
    const bin = join(root, "packages/cli/bin/detent.mjs")
    const { code, err } = await new Running("node", [bin, "init", "never", "--packages", mixed], { cwd: folder, env: { PATH: env.PATH } })
      .ended
    assert.strictEqual(code, 2)
    assert.include(err, "detent-durable-0.1.0.tgz is not the file that detent-packages.json beside it describes")
  })
})
