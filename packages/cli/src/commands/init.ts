/**
 * `detent init`: creates a project from a template. Its packages come from tarballs that are copied into it, from the folders of a
 * clone, or from a registry. The data of a template is generated when the project is created.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { NotAllowed } from "../Failure.ts"
import { nodeProblem } from "../init/HostNode.ts"
import { installedFrom, type PackedPackages, readPackedPackages, vendored } from "../init/PackedPackages.ts"
import { applyChoices, databases, type ProjectChoices, schemaLibraries, styles } from "../init/ProjectChoices.ts"
import { command } from "../line/Command.ts"
import { chosen } from "../output/Asking.ts"
import { Output } from "../output/Output.ts"
import { madeFolder } from "../workspace/Folder.ts"

const templateNames = ["order", "documents", "uploads"] as const

type Template = (typeof templateNames)[number]

const templates = fileURLToPath(new URL("../../templates/", import.meta.url))

/** Where the packages of the new project come from. */
type PackageSource =
  | { readonly _tag: "Tarballs"; readonly packed: PackedPackages }
  | { readonly _tag: "Clone"; readonly root: string }
  | { readonly _tag: "Registry" }

const packageSource = (packages: string | undefined) =>
  Effect.gen(function* () {
    const isInstalled = import.meta.url.includes("/node_modules/")
    const folder = packages ?? (isInstalled ? installedFrom() : undefined)
    if (folder !== undefined) return { _tag: "Tarballs", packed: yield* readPackedPackages(folder) } satisfies PackageSource
    if (isInstalled) return { _tag: "Registry" } satisfies PackageSource
    return { _tag: "Clone", root: fileURLToPath(new URL("../../../../", import.meta.url)) } satisfies PackageSource
  })

export default command(
  {
    name: "init",
    summary: "create a project",
    arguments: [{ name: "folder", summary: "the folder of the project. Default: the template's name", optional: true, complete: "folder" }],
    options: [
      {
        name: "template",
        kind: "text",
        value: "NAME",
        choices: templateNames,
        default: "order",
        summary: "the template of the project",
      },
      {
        name: "style",
        kind: "text",
        value: "STYLE",
        choices: styles,
        summary: "how the code of an order is written: with async functions, or with Effect. Asked for in a terminal; else async",
      },
      {
        name: "schemas",
        kind: "text",
        value: "LIBRARY",
        choices: schemaLibraries,
        summary: "the library that the states and events of an order are described with. Asked for in a terminal; else effect",
      },
      {
        name: "database",
        kind: "text",
        value: "KIND",
        choices: databases,
        summary: "where an order is kept. Asked for in a terminal; else sqlite",
      },
      {
        name: "packages",
        kind: "text",
        value: "DIR",
        summary: "packed packages to copy into the project. Default: the packages that detent was installed from, if any",
        complete: "folder",
      },
    ],
    examples: [
      { line: "detent init shop --packages dist-packages", says: "after `npm run pack` in a clone: a project that contains its packages" },
      {
        line: "detent init shop && cd shop && npm install && npm start",
        says: "a project with a machine; asks for style, schemas, database",
      },
      { line: "detent init shop --style effect --schemas zod --database postgres", says: "the same without a question" },
      { line: "detent init --template documents", says: "a folder of documents, an ontology, a manifest" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const folder = resolve(input.folder ?? input.template)
      if (existsSync(folder) && readdirSync(folder).length > 0)
        return yield* new NotAllowed({ problem: `${folder} is not empty`, nextStep: "name another folder: detent init FOLDER" })
      const choices = input.template === "order" ? yield* choicesOf(input) : yield* noChoices(input)
      const source = yield* packageSource(input.packages)
      yield* madeFolder(folder, "name another folder: detent init FOLDER")
      cpSync(join(templates, input.template), folder, { recursive: true })
      const further = choices === undefined ? {} : applyChoices(folder, templates, choices)
      // npm excludes files with the name .gitignore from packages.
      renameSync(join(folder, "gitignore"), join(folder, ".gitignore"))
      if (choices !== undefined) renameSync(join(folder, "env"), join(folder, ".env"))
      yield* writeManifest(folder, source, further)
      yield* Effect.promise(() => data[input.template](folder))
      const files = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
        .sort()
      yield* output.value({ folder, template: input.template, files }, () => files.map((file) => `${file}\n`).join(""))
      yield* output.note(explanation(source))
      // A project of a clone runs on the Node of the clone.
      const problem = source._tag === "Clone" ? undefined : yield* nodeProblem
      if (problem !== undefined) yield* output.note(problem)
      yield* output.note(output.noteStyle.dim(`Next: cd ${relative(".", folder) || "."} && npm install && npm start`))
    }),
)

type GivenChoices = { readonly [K in keyof ProjectChoices]: ProjectChoices[K] | undefined }

/** Asks in a terminal for what no option says. */
const choicesOf = ({ style, schemas, database }: GivenChoices) =>
  Effect.gen(function* () {
    return {
      style: style ?? (yield* chosen("Write the code with async functions or with Effect?", styles)),
      schemas: schemas ?? (yield* chosen("Describe states and events with which schemas?", schemaLibraries)),
      database: database ?? (yield* chosen("Keep orders in which database?", databases)),
    }
  })

const noChoices = ({ style, schemas, database }: GivenChoices) => {
  const given = Object.entries({ style, schemas, database }).find(([, value]) => value !== undefined)
  return given === undefined
    ? Effect.undefined
    : new NotAllowed({ problem: `--${given[0]} is for the template order`, nextStep: `leave out --${given[0]}, or name no other template` })
}

const explanation = (source: PackageSource): string => {
  switch (source._tag) {
    case "Tarballs":
      return `The packages of Detent are in vendor, copied from ${source.packed.folder}: commit them with the project.`
    case "Clone":
      return `This project uses the folders of the clone in ${source.root}, so it works on this machine only. For a project that contains its packages: \`npm run pack\` there, then detent init --packages ${join(source.root, "dist-packages")}`
    case "Registry":
      return "npm install takes the packages of Detent from your registry."
  }
}

const ManifestJson = Schema.fromJsonString(
  Schema.StructWithRest(
    Schema.Struct({
      dependencies: Schema.Record(Schema.String, Schema.String),
      devDependencies: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    }),
    [Schema.Record(Schema.String, Schema.Json)],
  ),
)

const writeManifest = (folder: string, source: PackageSource, further: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const file = join(folder, "package.json")
    const read = Schema.decodeSync(ManifestJson)(readFileSync(file, "utf8"))
    const template = { ...read, dependencies: { ...read.dependencies, ...further } }
    const manifest = { ...template, name: packageName(folder), ...(yield* installable(template, source, folder)) }
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
  })

/** The parts of the manifest that define which packages npm installs and on which Node the project runs. */
const installable = (template: typeof ManifestJson.Type, source: PackageSource, folder: string) =>
  Effect.gen(function* () {
    const { dependencies, devDependencies = {} } = template
    switch (source._tag) {
      case "Tarballs": {
        const ours = Object.keys(dependencies).filter((name) => name.startsWith("@detent/"))
        return { dependencies: { ...dependencies, ...(yield* vendored(source.packed, ours, folder)) } }
      }
      case "Clone":
        return {
          dependencies: { ...linkedTo(source.root, Object.keys(dependencies)), ...nodeOf(source.root, folder) },
          devDependencies: linkedTo(source.root, Object.keys(devDependencies)),
          // The scripts run on the Node of the clone; npm itself may run on an older version.
          devEngines: undefined,
        }
      case "Registry":
        return {}
    }
  })

/** Links to the packages of the clone and to those that it has installed: one copy of Effect, and nothing to download. */
const linkedTo = (root: string, names: ReadonlyArray<string>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    names.map((name) => {
      const isOurs = name.startsWith("@detent/")
      return [name, `file:${isOurs ? join(root, "packages", name.slice("@detent/".length)) : join(root, "node_modules", name)}`]
    }),
  )

/**
 * The Node of the clone, for hosts whose own version is too old. The npm package `node` would download it again, and the clone's next
 * `npm install` removes the package with the binary; the file itself stays, so the project gets a small package that links to it.
 */
const nodeOf = (root: string, folder: string): Readonly<Record<string, string>> => {
  const node = join(root, "node_modules/node/bin/node")
  if (process.platform === "win32" || !existsSync(node)) return {}
  const name = "node-of-clone"
  mkdirSync(join(folder, ".node/bin"), { recursive: true })
  symlinkSync(node, join(folder, ".node/bin/node"))
  const manifest = { name, version: process.versions.node, private: true, bin: { node: "bin/node" } }
  writeFileSync(join(folder, ".node/package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  return { [name]: "file:.node" }
}

const packageName = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|(?<!-)-+$/g, "") || "project"

const data: Readonly<Record<Template, (folder: string) => Promise<void>>> = {
  order: async () => {},
  documents: async (folder) => {
    const corpus = fileURLToPath(new URL("../corpus/", import.meta.resolve("@detent/knowledge")))
    cpSync(corpus, join(folder, "documents"), { recursive: true, filter: (path) => !unwanted.has(basename(path)) })
  },
  uploads: async (folder) => {
    const { writeItemFile } = await import("@detent/uploads/generate")
    await writeItemFile(join(folder, "items.json"), { items: 1000, seed: 7 })
    await writeItemFile(join(folder, "mixed.jsonl"), {
      items: 200,
      seed: 8,
      firstId: 100_000,
      layout: "lines",
      bad: { missing_id: 0.02, duplicate: 0.03 },
    })
  },
}

/** The test files of the corpus are of no use in a project. */
const unwanted = new Set(["README.md", "expected.jsonl"])
