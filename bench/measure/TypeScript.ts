/** The TypeScript compiler of the workspace. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { generatedFolder, write } from "./Generated.ts"

const root = join(import.meta.dirname, "..", "..")

/** The compiler itself, without the Node process that usually starts it. */
export const compiler = async (): Promise<string> => {
  const { default: pathOf }: { readonly default: () => string } = await import(
    join(root, "node_modules", "typescript", "lib", "getExePath.js")
  )
  return pathOf()
}

/**
 * Compiles a package as it is published and installs it in a new folder, because users import JavaScript and declarations, not
 * sources. Returns the folder, in which `@detent/NAME` is that package.
 */
export const folderWithPublished = async (name: string, purpose: string): Promise<string> => {
  const folder = generatedFolder(purpose)
  const target = join(folder, "node_modules", "@detent", name)
  const source = join(root, "packages", name)
  const options = ["--noEmit", "false", "--noCheck", "--rootDir", source, "--outDir", target]
  const built = spawnSync(await compiler(), ["-p", join(source, "tsconfig.json"), ...options], { encoding: "utf8" })
  if (built.status !== 0) throw new Error(`packages/${name} does not compile:\n${built.stdout}${built.stderr}`)
  const exports = { ".": { types: "./src/index.d.ts", default: "./src/index.js" } }
  write(join(target, "package.json"), JSON.stringify({ name: `@detent/${name}`, type: "module", sideEffects: false, exports }))
  return folder
}
