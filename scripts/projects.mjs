/** The packages and compiler projects of the repository. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "..")

/** The packages, by folder name. */
export const packages = readdirSync(join(root, "packages"))
  .filter((name) => existsSync(join(root, "packages", name, "package.json")))
  .sort()

/** The projects that the compiler checks: packages for browsers by themselves, without Node's types, then everything in one program. */
export const typed = [...["machine", "entity", "client", "react"].map((name) => `packages/${name}/tsconfig.json`), "tsconfig.all.json"]

/** The projects that are checked for misuse of Effect: the sources of all packages, and with fewer rules all tests, examples and scripts. */
export const diagnosed = ["tsconfig.sources.json", "tsconfig.json"]
