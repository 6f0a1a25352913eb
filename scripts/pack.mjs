/**
 * `npm run pack`: builds every package that is not private, and packs them into one folder with a lock file that lists them.
 *
 * In the repository a package exports its TypeScript sources, so that nothing has to be built to run or test them. The build happens
 * in a copy: it changes no file that a test run or a running program resolves.
 *
 * A built file has the path of its source (`src/Engine.ts` becomes `src/Engine.js`), so a URL relative to a module is right in both.
 * The sources are packed as `source/`, for debuggers and for "go to definition".
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { importsOf } from "./imports-of.mjs"
import { packages, root } from "./projects.mjs"
import { environment, run } from "./run.mjs"

/** The folders of a package that are compiled. Everything else that `files` names is packed as it is. */
const compiledFolders = ["src", "testing"]

/** `detent init` reads this file to find the packages; packages/cli/src/commands/init.ts decodes it. */
const lockFile = "detent-packages.json"

/**
 * @typedef {{
 *   readonly name: string
 *   readonly version: string
 *   readonly private?: boolean
 *   readonly engines: { readonly node: string }
 *   readonly exports: Readonly<Record<string, string>>
 *   readonly files: ReadonlyArray<string>
 *   readonly scripts?: unknown
 *   readonly dependencies?: Readonly<Record<string, string>>
 *   readonly peerDependencies?: Readonly<Record<string, string>>
 *   readonly devDependencies?: Readonly<Record<string, string>>
 * }} Manifest
 * @typedef {{ readonly folder: string, readonly manifest: Manifest }} Package
 */

const { values } = parseArgs({
  options: {
    output: { type: "string" },
    /** Checks that the packages meet the rules of a registry. */
    check: { type: "boolean", default: false },
    /** Skips the type check against the declarations of other packages: for tests that run after `npm run check`. */
    "emit-only": { type: "boolean", default: false },
  },
})
// One checker, because several would each compute the same types to emit declarations.
const emitting = values["emit-only"] ? ["--noCheck", "--checkers", "1"] : []
const output = resolve(values.output ?? join(root, "dist-packages"))
const stages = join(root, "dist-packages")
mkdirSync(stages, { recursive: true })
removeInterruptedStages()
// Inside the repository, so that the compiler finds the dependencies; with a unique name, so that two runs do not collide.
const stage = mkdtempSync(join(stages, ".stage-"))
try {
  pack()
} finally {
  rmSync(stage, { recursive: true, force: true })
}

function pack() {
  if (!run("node", ["packages/cli/build.mjs"])) throw new Error("the table of commands could not be built")
  const publishable = inOrder(packages.map(readPackage).filter(({ manifest }) => manifest.private !== true))
  const problems = [...publishable.flatMap(versionProblems(publishable)), ...engineProblems(publishable)]
  for (const { folder, manifest } of publishable) {
    console.error(`building ${manifest.name}`)
    prepare(folder, manifest)
    // The console is already built: it has no modules to compile.
    if (!compiledFolders.some((name) => manifest.files.includes(name))) continue
    if (run("tsc", ["-p", join(stage, folder, "source"), ...emitting])) problems.push(...importProblems(folder, manifest))
    else {
      problems.push(`${manifest.name} does not compile`)
      break
    }
  }
  if (problems.length === 0) deliver(publishable)
  if (problems.length === 0 && values.check && !run("node", ["scripts/publish/check.mjs", output]))
    problems.push("the packages cannot be published; the reasons are above")
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}

/** Removes stages of interrupted runs: Ctrl-C ends a run before it can. A stage that is an hour old belongs to no run. */
function removeInterruptedStages() {
  for (const name of readdirSync(stages)) {
    const path = join(stages, name)
    if (name.startsWith(".stage-") && Date.now() - statSync(path).mtimeMs > 3_600_000) rmSync(path, { recursive: true, force: true })
  }
}

/**
 * @param {string} folder
 * @returns {Package}
 */
function readPackage(folder) {
  return { folder, manifest: JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8")) }
}

/**
 * Orders each package after its dependencies: it is compiled against their declarations, as by its users.
 *
 * @param {ReadonlyArray<Package>} all
 * @returns {ReadonlyArray<Package>}
 */
function inOrder(all) {
  /** @type {Set<Package>} */
  const ordered = new Set()
  /** @param {Package} one */
  const add = (one) => {
    for (const other of all) if (other !== one && other.manifest.name in dependenciesOf(one.manifest)) add(other)
    ordered.add(one)
  }
  for (const one of all) add(one)
  return [...ordered]
}

/** @param {Manifest} manifest */
function dependenciesOf(manifest) {
  return { ...manifest.dependencies, ...manifest.peerDependencies }
}

/**
 * The packages of one pack belong together, so a dependency between them must name the exact version.
 *
 * @param {ReadonlyArray<Package>} all
 */
function versionProblems(all) {
  const versions = new Map(all.map(({ manifest }) => [manifest.name, manifest.version]))
  return (/** @type {Package} */ { folder, manifest }) =>
    Object.entries(dependenciesOf(manifest)).flatMap(([name, wanted]) => {
      const version = versions.get(name)
      if (!name.startsWith("@detent/") || version === wanted) return []
      return [`packages/${folder}/package.json: ${name} must be ${version ?? "a package that is not private"}, not ${wanted}`]
    })
}

/** @param {ReadonlyArray<Package>} all */
function engineProblems(all) {
  const wanted = new Set(all.map(({ manifest }) => manifest.engines?.node))
  return wanted.size === 1 ? [] : [`engines.node must be the same in all packages, not ${[...wanted].join(" and ")}`]
}

/**
 * Writes the package as it will be published, without its built files, and makes it importable for the packages after it.
 *
 * @param {string} folder
 * @param {Manifest} manifest
 */
function prepare(folder, manifest) {
  const from = join(root, "packages", folder)
  const to = join(stage, folder)
  const source = join(to, "source")
  mkdirSync(source, { recursive: true })
  for (const name of manifest.files) {
    if (!existsSync(join(from, name))) throw new Error(`packages/${folder}/package.json: files names ${name}, which does not exist`)
    if (!compiledFolders.includes(name)) cpSync(join(from, name), join(to, name), { recursive: true })
    else {
      cpSync(join(from, name), join(source, name), { recursive: true })
      // Files that are not compiled are read at run time: pages, pictures, plain JavaScript for browsers.
      cpSync(join(from, name), join(to, name), { recursive: true, filter: (path) => !path.endsWith(".ts") })
    }
  }
  cpSync(join(from, "README.md"), join(to, "README.md"))
  cpSync(join(root, "LICENSE"), join(to, "LICENSE"))
  const { scripts: _, devDependencies: __, exports, files, ...rest } = manifest
  const published = {
    ...rest,
    exports: { ...mapValues(exports, built), "./package.json": "./package.json" },
    files: [...files, ...(files.some((name) => compiledFolders.includes(name)) ? ["source"] : [])],
  }
  writeFileSync(join(to, "package.json"), `${JSON.stringify(published, null, 2)}\n`)
  const tsconfig = {
    extends: relative(source, join(from, "tsconfig.json")),
    compilerOptions: { noEmit: false, rootDir: ".", outDir: "..", declaration: true, declarationMap: true, sourceMap: true },
    include: compiledFolders,
    // By default the compiler excludes the output folder, which contains the sources.
    exclude: [],
  }
  writeFileSync(join(source, "tsconfig.json"), JSON.stringify(tsconfig))
  const link = join(stage, "node_modules", manifest.name)
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(to, link, "junction")
}

/** @param {string} source */
function built(source) {
  const path = source.replace(/\.ts$/, "")
  return { types: `${path}.d.ts`, default: `${path}.js` }
}

/**
 * Checks that the imports of built files are dependencies of the package. A lint rule checks the sources too, but a declaration can
 * name a module that the compiler inferred.
 *
 * @param {string} folder
 * @param {Manifest} manifest
 */
function importProblems(folder, manifest) {
  const declared = new Set([manifest.name, ...Object.keys(dependenciesOf(manifest))])
  const home = join(stage, folder)
  const problems = new Set()
  for (const part of compiledFolders.filter((name) => manifest.files.includes(name)))
    for (const path of readdirSync(join(home, part), { recursive: true, encoding: "utf8" })) {
      if (!/\.(?:js|mjs|d\.ts|d\.mts)$/.test(path)) continue
      for (const { specifier } of importsOf(readFileSync(join(home, part, path), "utf8"))) {
        const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? ""
        if (specifier.startsWith(".") || specifier.startsWith("node:")) continue
        if (!declared.has(name)) problems.add(`${manifest.name}: ${part}/${path} imports ${name}, which package.json does not declare`)
        else if (/\.d\.m?ts$/.test(path) && `@types/${name}` in (manifest.devDependencies ?? {}))
          problems.add(`${manifest.name}: ${part}/${path} needs the types of ${name}: make @types/${name} a dependency`)
      }
    }
  return [...problems]
}

/**
 * Packs the built packages and replaces the contents of the output folder. The lock is written last: without it the folder is not
 * complete.
 *
 * @param {ReadonlyArray<Package>} all
 */
function deliver(all) {
  const made = join(stage, "tarballs")
  mkdirSync(made)
  for (const { folder } of all) rmSync(join(stage, folder, "source", "tsconfig.json"))
  const npm = spawnSync("npm", ["pack", "--loglevel=error", "--pack-destination", made, ...all.map(({ folder }) => join(stage, folder))], {
    cwd: stage,
    encoding: "utf8",
    env: environment,
    shell: process.platform === "win32",
  })
  if (npm.status !== 0) throw new Error(`npm pack failed: ${npm.error?.message ?? npm.stderr}`)
  const lock = {
    node: all[0]?.manifest.engines.node,
    packages: Object.fromEntries(
      all.map(({ manifest }) => [
        manifest.name,
        {
          version: manifest.version,
          file: tarballOf(manifest),
          integrity: integrityOf(join(made, tarballOf(manifest))),
          dependencies: Object.keys(dependenciesOf(manifest)).filter((name) => name.startsWith("@detent/")),
        },
      ]),
    ),
  }
  mkdirSync(output, { recursive: true })
  for (const name of readdirSync(output)) if (name === lockFile || /^detent-.*\.tgz$/.test(name)) rmSync(join(output, name))
  for (const name of readdirSync(made)) move(join(made, name), join(output, name))
  writeFileSync(join(output, lockFile), `${JSON.stringify(lock, null, 2)}\n`)
  for (const { file } of Object.values(lock.packages)) console.log(join(output, file))
}

/**
 * @param {string} from
 * @param {string} to
 */
function move(from, to) {
  try {
    renameSync(from, to)
  } catch {
    // Another file system.
    cpSync(from, to)
  }
}

/** @param {Manifest} manifest */
function tarballOf({ name, version }) {
  return `${name.replace("@", "").replace("/", "-")}-${version}.tgz`
}

/** @param {string} file */
function integrityOf(file) {
  return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`
}

/**
 * @template A, B
 * @param {Readonly<Record<string, A>>} record
 * @param {(value: A) => B} change
 */
function mapValues(record, change) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
