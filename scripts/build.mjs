/** Compiles the publishable packages to `dist`: those with a tsconfig.build.json. */
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { packages, root } from "./projects.mjs"
import { run } from "./run.mjs"

const publishable = packages.map((name) => join("packages", name)).filter((folder) => existsSync(join(root, folder, "tsconfig.build.json")))

// The compiler never removes the output of a deleted source file, and it would be published.
for (const folder of publishable) rmSync(join(root, folder, "dist"), { recursive: true, force: true })

const succeeded = run("tsc", ["-b", "--force", ...publishable.map((folder) => join(folder, "tsconfig.build.json"))])
if (!succeeded) process.exitCode = 1
