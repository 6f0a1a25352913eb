/**
 * Builds the stages of the Dockerfile as plain commands in a clean folder, because not every machine has a container engine, and runs
 * the image's command there as its user, with everything but /data and /tmp read-only. It must refuse to serve other hosts without a
 * token, become healthy, and end with 0 on SIGTERM.
 *
 *     npm run soak -- container
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { environmentOf, type Instruction, isIgnored, readDockerfile, readIgnored, type Stage } from "../infra/check/Dockerfile.ts"

const repository = join(import.meta.dirname, "..")
const stages = readDockerfile(readFileSync(join(repository, "Dockerfile"), "utf8"))
const ignored = readIgnored(readFileSync(join(repository, ".dockerignore"), "utf8"))

/** The Node of the workspace replaces that of the base image. */
const nodeFolder = dirname(process.execPath)

const folder = mkdtempSync(join(tmpdir(), "detent-container-"))
chmodSync(folder, 0o755)
try {
  for (const [index, stage] of stages.entries()) build(stage, rootOf(index))
  const image = stages.at(-1)
  if (image === undefined) throw new Error("the Dockerfile has no stage")
  await checkImage(image, rootOf(stages.length - 1))
} finally {
  spawnSync("chmod", ["-R", "u+w", folder])
  rmSync(folder, { recursive: true, force: true })
}

function rootOf(stage: number): string {
  return join(folder, String(stage))
}

function build(stage: Stage, root: string): void {
  mkdirSync(root)
  let workdir = "/"
  for (const one of stage.instructions) {
    if (one.name === "WORKDIR") {
      workdir = resolve(workdir, one.path)
      mkdirSync(join(root, workdir), { recursive: true })
    } else if (one.name === "COPY") copy(one, root, workdir)
    else if (one.name === "RUN") {
      console.log(`RUN ${one.script}`)
      const env = { ...process.env, PATH: `${nodeFolder}:${process.env["PATH"]}` }
      const { status } = spawnSync("sh", ["-c", one.script], { cwd: join(root, workdir), stdio: ["ignore", "ignore", "inherit"], env })
      if (status !== 0) throw new Error(`RUN ${one.script} ended with ${status}`)
    }
  }
}

function copy({ from, sources, to }: Extract<Instruction, { readonly name: "COPY" }>, root: string, workdir: string): void {
  const target = join(root, resolve(workdir, to))
  for (const source of sources) {
    if (from === undefined) copyContext(source, target)
    else {
      const stage = stages.findIndex(({ name }) => name === from)
      cpSync(join(rootOf(stage), source), target, { recursive: true, verbatimSymlinks: true })
    }
  }
}

/** Copies the files of the repository that belong to the build context. */
function copyContext(source: string, target: string): void {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "--", source], {
    cwd: repository,
    encoding: "utf8",
    maxBuffer: 1e8,
  })
    .split("\n")
    .filter((file) => file !== "" && existsSync(join(repository, file)) && !isIgnored(file, ignored))
  if (files.length === 0) throw new Error(`COPY ${source}: the build context has no file of it`)
  const isFolder = statSync(join(repository, source)).isDirectory()
  for (const file of files) {
    const path = isFolder ? join(target, file) : join(target, file.slice(file.lastIndexOf("/") + 1))
    mkdirSync(dirname(path), { recursive: true })
    cpSync(join(repository, file), path)
  }
}

async function checkImage(image: Stage, root: string): Promise<void> {
  const [command, check, entrypoint] = (["CMD", "HEALTHCHECK", "ENTRYPOINT"] as const).map((name) => wordsOf(image, name))
  const port = String(await freePort())
  const onPort = (words: ReadonlyArray<string>) => words.map((word) => word.replaceAll("4400", port))
  const data = join(root, "data")
  const user = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {}
  if (user.uid !== undefined) spawnSync("chown", ["-R", `${user.uid}:${user.gid}`, data])
  spawnSync("chmod", ["-R", "a-w", join(root, "app")])
  const own = Object.fromEntries(Object.entries(environmentOf(image)).map(([name, value]) => [name, inside(root, value)]))
  const temporary = join(folder, "tmp")
  mkdirSync(temporary)
  chmodSync(temporary, 0o777)
  // The commands of the image come first, then the Node of this machine.
  const [installed = "", ...system] = (own["PATH"] ?? "").split(":")
  const path = [installed, nodeFolder, ...system].join(":")
  const env = { ...own, PATH: path, HOME: temporary, TMPDIR: temporary, XDG_STATE_HOME: join(temporary, "state") }
  const run = (words: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}): ChildProcess => {
    const [file = "", ...args] = words
    return spawn(file, args, { cwd: join(root, "app"), env: { ...env, ...more }, stdio: ["ignore", "pipe", "pipe"], ...user })
  }
  const serve = [...(entrypoint ?? []), ...onPort(command ?? [])]

  const packages = globSync("app/node_modules/@detent/*/src/*.ts", { cwd: root })
  demand(
    packages.every((file) => file.endsWith(".d.ts")),
    "the image contains sources that were not built",
  )
  const version = await ended(run([...(entrypoint ?? []), "--version"]))
  demand(version.code === 0, `detent --version ended with ${version.code}: ${version.said}`)
  console.log(version.said.trim())
  const open = await ended(run(serve))
  demand(open.code !== 0 && /DETENT_TOKEN/.test(open.said), `without a token the server must refuse to start: ${open.said}`)

  const server = run(serve, { DETENT_TOKEN: "0123456789abcdef0123456789abcdef" })
  const end = ended(server)
  let isHealthy = false
  for (let attempt = 0; attempt < 120 && !isHealthy && server.exitCode === null; attempt++) {
    isHealthy = (await ended(run(onPort(check ?? [])))).code === 0
    if (!isHealthy) await sleep(500)
  }
  server.kill("SIGTERM")
  const { code, said } = await end
  demand(isHealthy, `the server did not become healthy: ${said}`)
  demand(code === 0, `on SIGTERM the server ended with ${code}: ${said}`)
  const [size = ""] = execFileSync("du", ["-sm", join(root, "app")], { encoding: "utf8" }).split("\t")
  console.log(`the image adds ${size} MB to its base; the server became healthy and ended with 0 on SIGTERM`)
}

function wordsOf(image: Stage, wanted: "CMD" | "HEALTHCHECK" | "ENTRYPOINT"): ReadonlyArray<string> {
  for (const one of image.instructions) if (one.name === wanted) return one.words
  throw new Error(`the Dockerfile has no ${wanted}`)
}

/** Maps paths of the image to paths below its root folder. */
function inside(root: string, value: string): string {
  return value
    .split(":")
    .map((path) => (/^\/(?:app|data)\b/.test(path) ? join(root, path) : path))
    .join(":")
}

async function ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly said: string }> {
  let said = ""
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text: string) => (said += text))
  const code = await new Promise<number | null>((done, fail) => child.on("error", fail).on("close", done))
  return { code, said }
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => done(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
}

function demand(holds: boolean, problem: string): void {
  if (!holds) throw new Error(problem)
}
