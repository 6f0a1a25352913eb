/** Reads the tarballs of `npm run pack`, and copies those that a project needs. */
import { createHash } from "node:crypto"
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { messageOf, WrongUsage } from "../Failure.ts"

/** Written by scripts/pack.mjs beside the tarballs. */
const lockFile = "detent-packages.json"

const FileName = Schema.String.check(Schema.makeFilter((name) => basename(name) === name || "a file name without a folder"))

const Lock = Schema.Struct({
  node: Schema.String,
  packages: Schema.Record(
    Schema.String,
    Schema.Struct({
      version: Schema.String,
      file: FileName,
      integrity: Schema.String,
      dependencies: Schema.Array(Schema.String),
    }),
  ),
})

const LockJson = Schema.fromJsonString(Lock)

export interface PackedPackages {
  readonly folder: string
  readonly lock: typeof Lock.Type
}

const nextStep = "run `npm run pack` in a clone of Detent, and name its folder dist-packages with --packages"

export const readPackedPackages = (folder: string): Effect.Effect<PackedPackages, WrongUsage> =>
  Effect.try({
    try: () => ({ folder: resolve(folder), lock: Schema.decodeSync(LockJson)(readFileSync(join(folder, lockFile), "utf8")) }),
    catch: (cause) => new WrongUsage({ problem: `${folder} contains no packed packages: ${messageOf(cause)}`, nextStep }),
  })

const InstalledJson = Schema.fromJsonString(
  Schema.Struct({ packages: Schema.Record(Schema.String, Schema.Struct({ resolved: Schema.optionalKey(Schema.String) })) }),
)

/** The folder of the tarballs that npm installed this package from; undefined when it came from a registry. */
export const installedFrom = (): string | undefined => {
  const modules = dirname(dirname(fileURLToPath(new URL("../../", import.meta.url))))
  const record = join(modules, ".package-lock.json")
  if (!existsSync(record)) return undefined
  const installed = Schema.decodeOption(InstalledJson)(readFileSync(record, "utf8"))
  const resolved = Option.getOrUndefined(installed)?.packages["node_modules/@detent/cli"]?.resolved
  if (resolved?.startsWith("file:") !== true) return undefined
  const folder = dirname(resolve(dirname(modules), resolved.slice("file:".length)))
  return existsSync(join(folder, lockFile)) ? folder : undefined
}

/**
 * Copies the tarballs of these packages and of their dependencies into the folder `vendor` of a project. Returns the dependencies for
 * its package.json: all copied packages, so that npm looks for none of them in a registry.
 */
export const vendored = (
  packed: PackedPackages,
  names: ReadonlyArray<string>,
  project: string,
): Effect.Effect<Readonly<Record<string, string>>, WrongUsage> =>
  Effect.gen(function* () {
    const needed = yield* closure(packed, names)
    mkdirSync(join(project, "vendor"), { recursive: true })
    for (const { file, integrity } of Object.values(needed)) {
      const from = join(packed.folder, file)
      if (!existsSync(from) || integrityOf(from) !== integrity)
        return yield* new WrongUsage({ problem: `${from} is not the file that ${lockFile} beside it describes`, nextStep })
      cpSync(from, join(project, "vendor", file))
    }
    const lock = Schema.encodeSync(Lock)({ node: packed.lock.node, packages: needed })
    writeFileSync(join(project, "vendor", lockFile), `${JSON.stringify(lock, null, 2)}\n`)
    return Object.fromEntries(Object.entries(needed).map(([name, { file }]) => [name, `file:vendor/${file}`]))
  })

const closure = ({ folder, lock }: PackedPackages, names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const needed: Record<string, (typeof lock.packages)[string]> = {}
    const left = [...names]
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const entry = lock.packages[name]
      if (entry === undefined) return yield* new WrongUsage({ problem: `${folder} does not contain ${name}`, nextStep })
      if (name in needed) continue
      needed[name] = entry
      left.push(...entry.dependencies)
    }
    return Object.fromEntries(Object.entries(needed).sort(([a], [b]) => (a < b ? -1 : 1)))
  })

const integrityOf = (file: string): string => `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`
