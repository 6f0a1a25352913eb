/**
 * Checks that imports point in one direction, without cycles between packages, between the folders of a package, or between files.
 * Examples and benchmarks may import anything; packages follow the rules here.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { isBuiltin } from "node:module"
import { dirname, join, relative, resolve, sep } from "node:path"
import { folderCycles } from "./folder-cycles.mjs"
import { importCycles } from "./import-cycles.mjs"
import { importsOf } from "./imports-of.mjs"
import { packages, root } from "./projects.mjs"

/**
 * The packages that each package depends on. Their dependencies may be imported too.
 *
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
const needs = {
  machine: [],
  store: ["machine"],
  durable: ["store"],
  eventlog: ["store"],
  entity: ["machine"],
  processes: ["machine"],
  tables: ["machine"],
  blobs: ["machine"],
  knowledge: ["durable", "eventlog", "blobs", "processes", "tables"],
  uploads: ["entity", "durable", "blobs", "processes", "tables"],
  api: [],
  client: [],
  react: ["client", "machine"],
  workspace: ["api", "knowledge", "uploads", "cluster"],
  cluster: ["durable"],
  xstate: ["durable"],
  server: ["workspace"],
  console: [],
  cli: ["server", "console"],
}

/**
 * Packages of which only types may be imported, no code.
 *
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
const needsTypesOf = { console: ["api"] }

/**
 * Modules of other packages that a package imports, and nothing else of them: schemas of the data that these packages exchange.
 *
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
const needsModules = {
  api: [
    "@detent/blobs/ContentHash",
    "@detent/blobs/Storage",
    "@detent/knowledge/schemas",
    "@detent/machine/diagram",
    "@detent/tables/TableFormat",
    "@detent/tables/Mapping",
    "@detent/uploads/Preview",
  ],
}

/**
 * Further packages that only the tests of a package may import.
 *
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
const testsNeed = {
  entity: ["durable"],
  durable: ["cluster"],
  client: ["server", "api", "workspace", "machine"],
  workspace: ["xstate"],
  server: ["xstate"],
  console: ["api", "server", "workspace", "knowledge", "uploads", "blobs", "durable", "machine"],
  cli: ["xstate"],
}

/** Folders that the tests of every package may import: the PostgreSQL of a run, servers and browsers, and written workbooks. */
const sharedByTests = ["store/test/support", "server/test/support", "tables/test/support"]

/**
 * The folders of a package that contain code. `testing` is published, for the tests of users; `evaluation` and `generators` are
 * not.
 */
const parts = ["src", "testing", "evaluation", "generators", "test"]

/** Folders that may import the sources, but are never imported by them. */
const outsideSource = new Set(["testing", "evaluation", "generators"])

const inBrowsers = new Set(["machine", "entity", "console", "client", "react"])

const problems = packages.flatMap((name) => {
  const imports = importsInside(name)
  return [...checkPackage(name), ...checkCycles(name, imports), ...checkFolders(name, imports)]
})
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1

/**
 * @param {string} name
 * @returns {ReadonlyArray<string>}
 */
function checkPackage(name) {
  if (!(name in needs)) return [`packages/${name}: not in the list of scripts/check-imports.mjs; add it with what it needs`]
  return parts.flatMap((part) =>
    sourceFiles(join(root, "packages", name, part)).flatMap((file) =>
      importsOf(readFileSync(file, "utf8")).flatMap((found) => {
        const reason =
          part === "test"
            ? objection(name, file, found, testsNeed[name] ?? [])
            : (objection(name, file, found, []) ?? objectionInSource(name, file, found))
        return reason === undefined ? [] : [`${relative(root, file)}:${found.line}: "${found.specifier}": ${reason}`]
      }),
    ),
  )
}

/**
 * What each file of a package imports from the same package, by paths inside the package. Types count like values: a cycle of types
 * is as hard to read and to move as a cycle of code.
 *
 * @param {string} name
 * @returns {ReadonlyMap<string, ReadonlyArray<string>>}
 */
function importsInside(name) {
  const home = join(root, "packages", name)
  const files = ["src", "testing", "evaluation", "generators"].flatMap((part) => sourceFiles(join(home, part)))
  const known = new Set(files)
  /** @param {string} file */
  const pathOf = (file) => relative(home, file).split(sep).join("/")
  return new Map(
    files.map((file) => {
      const targets = importsOf(readFileSync(file, "utf8")).flatMap(({ specifier }) => targetOf(name, file, specifier) ?? [])
      return [pathOf(file), targets.filter((target) => known.has(target)).map(pathOf)]
    }),
  )
}

/**
 * @param {string} name
 * @param {ReadonlyMap<string, ReadonlyArray<string>>} imports
 * @returns {ReadonlyArray<string>}
 */
function checkCycles(name, imports) {
  return importCycles(imports).map((cycle) => `packages/${name}: import cycle: ${[...cycle, cycle[0]].join(" -> ")}`)
}

/**
 * @param {string} name
 * @param {ReadonlyMap<string, ReadonlyArray<string>>} imports
 * @returns {ReadonlyArray<string>}
 */
function checkFolders(name, imports) {
  return folderCycles(imports).map(({ cycle, because }) =>
    [`packages/${name}: cycle of folders: ${[...cycle, cycle[0]].join(" -> ")}`, ...because].join("\n  "),
  )
}

/**
 * The file that an import inside a package names: by path, or by the package's own name.
 *
 * @param {string} name
 * @param {string} file
 * @param {string} specifier
 * @returns {string | undefined}
 */
function targetOf(name, file, specifier) {
  if (specifier.startsWith(".")) return resolve(dirname(file), specifier)
  const own = `@detent/${name}`
  if (specifier !== own && !specifier.startsWith(`${own}/`)) return undefined
  const home = join(root, "packages", name)
  const { exports } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"))
  const path = exports?.[`.${specifier.slice(own.length)}`]
  return typeof path === "string" ? join(home, path) : undefined
}

/**
 * @param {string} name
 * @param {string} file
 * @param {import("./imports-of.mjs").Import} found
 * @param {ReadonlyArray<string>} more
 */
function objection(name, file, { specifier, typesOnly }, more) {
  if (specifier.startsWith(".")) {
    const home = join(root, "packages", name) + sep
    const target = resolve(dirname(file), specifier)
    const isShared = sharedByTests.some((folder) => target.startsWith(join(root, "packages", folder) + sep))
    if (target.startsWith(home) || (file.startsWith(join(home, "test")) && isShared)) return undefined
    return "leaves its package; import the other package by its name"
  }
  const other = /^@detent\/([^/]+)/.exec(specifier)?.[1]
  if (other === undefined || other === name || reachable(name).has(other) || more.includes(other)) return undefined
  if (needsModules[name]?.includes(specifier)) return undefined
  if (needsTypesOf[name]?.includes(other)) return typesOnly ? undefined : `only types of ${other} may be imported in ${name}`
  return `${name} may not depend on ${other}`
}

/**
 * @param {string} name
 * @param {string} file
 * @param {import("./imports-of.mjs").Import} found
 */
function objectionInSource(name, file, { specifier }) {
  const home = join(root, "packages", name)
  const folder = specifier.startsWith(".") ? relative(home, resolve(dirname(file), specifier)).split(sep)[0] : undefined
  if (folder === "test") return "tests import the code, never the other way round"
  if (folder !== undefined && outsideSource.has(folder) && file.startsWith(join(home, "src") + sep))
    return `src may not import ${folder}; ${folder} may import src`
  if (specifier === "effect") return 'import the module itself, such as "effect/Effect": loading all of effect takes three times as long'
  if (inBrowsers.has(name) && isBuiltin(specifier)) return `${name} runs in browsers, without Node's modules`
  return undefined
}

/**
 * @param {string} name
 * @returns {Set<string>}
 */
function reachable(name) {
  const direct = needs[name] ?? []
  return new Set([...direct, ...direct.flatMap((other) => [...reachable(other)])])
}

/** @param {string} folder */
function sourceFiles(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    .map((path) => join(folder, path))
}
