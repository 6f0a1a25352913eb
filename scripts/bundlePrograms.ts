/**
 * Bundles the programs that tests start as processes and kill, before the tests of a run. Without a bundle, Node loads each module by
 * itself: the 402 modules of durable/test/crash/worker.ts take 0.6 s of CPU, their bundle 0.2 s, and a run starts more than a hundred
 * such processes. A bundle is rebuilt when one of its modules, the list of programs or a dependency has changed. `programOf` in the tests
 * of the store returns the file to start.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import { type Plugin, rolldown } from "rolldown"
import type { TestProject } from "vitest/node"
import { root } from "./projects.mjs"

/** None of them loads user modules, which would get a second copy of the modules in the bundle. */
const programs = [
  "packages/durable/test/crash/worker.ts",
  "packages/durable/test/crash/commandWorker.ts",
  "packages/durable/test/crash/ownership/worker.ts",
  "packages/durable/test/crash/ownership/steppingWorker.ts",
  "packages/eventlog/test/worker.ts",
  "packages/durable/test/workflow/parity/worker.ts",
  "packages/uploads/test/crash/worker.ts",
  "packages/uploads/test/crash/deliverer.ts",
  "packages/knowledge/test/batch/crash/child.ts",
  "packages/knowledge/test/runs/crashWorker.ts",
  "packages/knowledge/test/verdict/killedReviewer.ts",
  "packages/xstate/test/crash/worker.ts",
  "packages/server/test/support/serving.ts",
  "packages/server/test/support/versionedServer.ts",
  "packages/server/test/support/servingLimited.ts",
  "packages/server/test/support/dyingServer.ts",
]

const cache = join(root, "node_modules/.cache/detent-programs")

/** The inputs of a bundle. */
interface Origin {
  readonly folder: string
  readonly modules: ReadonlyArray<string>
  readonly fingerprint: string
}

const originFile = join(cache, "origin.json")

/** Files that a bundle depends on besides its modules. */
const others = ["package-lock.json", "scripts/bundlePrograms.ts"]

/** Hashes contents, not times, because a checkout touches files without changing them. */
const fingerprintOf = (modules: ReadonlyArray<string>): string => {
  const hash = createHash("sha256")
  const manifests = readdirSync(join(root, "packages")).map((name) => `packages/${name}/package.json`)
  for (const name of [...others, ...manifests, ...modules]) {
    const file = join(root, name)
    hash.update(`${name}\n`).update(existsSync(file) ? readFileSync(file) : "missing")
  }
  return hash.digest("hex")
}

/** Keeps the paths of the sources, so that modules find the files beside them: worker threads, pages and test data. */
const placesOfSources: Plugin = {
  name: "places-of-sources",
  transform: {
    filter: { code: /import\.meta\.(?:url|dirname)/ },
    handler: (code, id) =>
      code
        .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
        .replaceAll("import.meta.dirname", JSON.stringify(dirname(id))),
  },
}

const isBundled = (specifier: string) => /^(?:[./]|effect(?:\/|$)|@effect\/|@detent\/)/.test(specifier)

const build = async (): Promise<Origin> => {
  mkdirSync(cache, { recursive: true })
  const next = mkdtempSync(join(cache, "next-"))
  const bundle = await rolldown({
    input: Object.fromEntries(programs.map((program) => [program.slice(0, -".ts".length), join(root, program)])),
    platform: "node",
    external: (specifier) => !isBundled(specifier),
    plugins: [placesOfSources],
    tsconfig: false,
    checks: { pluginTimings: false },
  })
  const { output } = await bundle.write({
    dir: next,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "chunks/[name]-[hash].mjs",
  })
  await bundle.close()
  const modules = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []))
  const files = [...new Set(modules)].filter((id) => id.startsWith(root)).map((id) => relative(root, id))
  const fingerprint = fingerprintOf(files)
  const folder = join(cache, fingerprint)
  if (existsSync(folder)) rmSync(next, { recursive: true })
  else renameSync(next, folder)
  const origin = { folder, modules: files, fingerprint }
  writeFileSync(originFile, JSON.stringify(origin))
  return origin
}

/** Removes bundles that are older than a day: another run may still use a newer one. */
const removeOld = () => {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name)
    if (path !== originFile && statSync(path).mtimeMs < Date.now() - 86_400_000) rmSync(path, { recursive: true, force: true })
  }
}

const current = (): Origin | undefined => {
  if (!existsSync(originFile)) return undefined
  const origin: Origin = JSON.parse(readFileSync(originFile, "utf8"))
  return existsSync(origin.folder) && fingerprintOf(origin.modules) === origin.fingerprint ? origin : undefined
}

/** The folder with the bundles of the current sources. */
export const bundledPrograms = async (): Promise<string> => {
  const found = current()
  if (found !== undefined) return found.folder
  const { folder } = await build()
  removeOld()
  return folder
}

/** Shared by both projects, whose tests need the programs. */
let bundling: Promise<string> | undefined

export default async (project: TestProject) => {
  const prepare = async () => {
    bundling ??= bundledPrograms()
    process.env["DETENT_TEST_PROGRAMS"] = await bundling
  }
  await prepare()
  project.onTestsRerun(() => {
    bundling = undefined
    return prepare()
  })
}
