#!/usr/bin/env node
/** Starts the `detent` command. Nothing of it is imported on a Node that is too old: the import would fail with a reason of its own. */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const needed = engines.node.replace(">=", "")

if (isOlder(process.versions.node, needed)) {
  process.stderr.write(`Detent needs Node ${needed} or later; this is ${process.versions.node}${nodeOfClone()}\n`)
  process.exitCode = 1
} else import("./command.mjs")

/**
 * @param {string} version
 * @param {string} other
 */
function isOlder(version, other) {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number)
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

/** A clone brings a Node, which comes first in the path of `npx` and of npm's scripts in it, and in projects that were made from it. */
function nodeOfClone() {
  const folder = fileURLToPath(new URL("../../../node_modules/.bin", import.meta.url))
  return existsSync(`${folder}/../node/bin/node`) ? `. A newer one is in ${folder}: put that folder first in PATH` : ""
}
