/**
 * Builds the console into `dist`, with each text file compressed beside itself, so that a server sends it as it is. Builds only when the
 * sources, the manifest or the lock file have changed.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

const home = fileURLToPath(new URL(".", import.meta.url))
const root = join(home, "../..")
const dist = join(home, "dist")
const stamp = join(root, "node_modules", ".detent-console")

/** What the build is made from, besides the sources. */
const others = [
  "index.html",
  "vite.config.ts",
  "../machine/src/effects/RetryPolicy.ts",
  "package.json",
  "build.mjs",
  "../../package-lock.json",
]

const wanted = fingerprint()
if (!existsSync(join(dist, "index.html")) || !existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
  console.log("Building the console")
  build()
  writeFileSync(stamp, wanted)
}

function build() {
  // Beside the old one: a server that runs meanwhile goes from one whole build to the next. Another command may build at the same time.
  const next = join(root, "node_modules", ".cache", `detent-console-${process.pid}`)
  const vite = join(root, "node_modules", "vite", "bin", "vite.js")
  const built = spawnSync(process.execPath, [vite, "build", "--outDir", next, "--emptyOutDir", "--logLevel", "warn"], {
    cwd: home,
    encoding: "utf8",
    env: { ...process.env, NODE_ENV: "production" },
  })
  if (built.status !== 0) {
    console.error(built.error?.message ?? `${built.stdout}${built.stderr}`)
    console.error("The console could not be built; the reason is above.")
    process.exit(1)
  }
  for (const name of readdirSync(next, { recursive: true, encoding: "utf8" }))
    if (/\.(?:js|css|html|svg)$/.test(name)) compress(join(next, name))
  replaceDist(next)
}

/** @param {string} next */
function replaceDist(next) {
  for (let attempt = 1; ; attempt++) {
    rmSync(dist, { recursive: true, force: true })
    try {
      return renameSync(next, dist)
    } catch (error) {
      // Another command has put its build there since.
      if (attempt === 5 || !existsSync(dist)) throw error
    }
  }
}

/** @param {string} file */
function compress(file) {
  const content = readFileSync(file)
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }))
}

/** Content, not times: a checkout touches files without changing them. */
function fingerprint() {
  const hash = createHash("sha256")
  const sources = ["src", "public"].flatMap((folder) =>
    readdirSync(join(home, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  for (const name of [...sources.filter((one) => /\.\w+$/.test(one)).sort(), ...others])
    hash.update(`${name}\n`).update(readFileSync(join(home, name)))
  return hash.digest("hex")
}
