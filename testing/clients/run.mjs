/**
 * Runs the official clients of Google Cloud Storage, Cloud Tasks and S3 against the fakes of the tests, to show that the fakes implement the
 * protocols. Installs the clients on first use. Plain JavaScript, so that any Node from version 20 can start it.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { installOnDemand } from "../../scripts/install-on-demand.mjs"

const here = fileURLToPath(new URL(".", import.meta.url))
if (!installOnDemand(here, "the official clients")) process.exit(1)
const node = join(here, "..", "..", "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node")
const { status } = spawnSync(node, ["--test", join(here, "gcs.test.mjs"), join(here, "s3.test.mjs"), join(here, "tasks.test.mjs")], {
  stdio: "inherit",
})
process.exitCode = status ?? 1
