/** Where things stand in the repository. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "..")

/** The packages, by folder name. */
export const packages = readdirSync(join(root, "packages"))
  .filter((name) => existsSync(join(root, "packages", name, "package.json")))
  .sort()

/**
 * Every TypeScript project: each package's sources on their own, so that a package meant for browsers is checked without
 * Node's types, and then the root project with all tests, examples and scripts.
 */
export const projects = [...packages.map((name) => `packages/${name}/tsconfig.json`), "tsconfig.json"]
