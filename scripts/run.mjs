/** Runs a tool of node_modules, with its output on the screen. */
import { spawnSync } from "node:child_process"
import { delimiter, join } from "node:path"
import { root } from "./projects.mjs"

const tools = join(root, "node_modules", ".bin")

const colors = process.stdout.isTTY ? {} : { NO_COLOR: "1" }

/** Puts node_modules first in the path, also when started without npm, so that tools run on the Node of node_modules. */
export const environment = { ...process.env, ...colors, PATH: `${tools}${delimiter}${process.env["PATH"]}` }

/**
 * @param {string} tool
 * @param {ReadonlyArray<string>} args
 * @param {Readonly<Record<string, string>>} [variables] further environment variables
 * @returns {boolean} whether it succeeded
 */
export function run(tool, args, variables = {}) {
  const env = { ...environment, ...variables }
  const result = spawnSync(tool, args, { cwd: root, stdio: "inherit", env, shell: process.platform === "win32" })
  if (result.error) console.error(`${tool}: ${result.error.message}`)
  if (result.signal) console.error(`${tool} was ended by ${result.signal}`)
  return result.status === 0
}
