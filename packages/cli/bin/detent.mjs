#!/usr/bin/env node
/**
 * The `detent` command. Help, completions and wrong usage are answered here, from a table in plain JavaScript: nothing of Effect
 * is loaded for them. What runs is loaded when it runs.
 */
import { existsSync, readFileSync } from "node:fs"
import module from "node:module"
import { fileURLToPath } from "node:url"
import { ExitCode } from "../src/line/ExitCode.mjs"
import { help } from "../src/line/help.mjs"
import { parseLine } from "../src/line/parse.mjs"

const line = parseLine(process.argv.slice(2))

switch (line._tag) {
  case "Version": {
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
    process.stdout.write(`detent ${version}\n`)
    break
  }
  case "Help": {
    const text = help(line.topic, bold(process.stdout))
    if (text === undefined) usage(`there is no command ${line.topic.join(" ")}`, [])
    else process.stdout.write(text)
    break
  }
  case "Wrong":
    if (line.isHelpful) {
      process.stderr.write(`detent: ${line.problem}\n\n${help(line.topic, bold(process.stderr))}`)
      process.exitCode = ExitCode.usage
    } else usage(line.problem, line.topic)
    break
  case "Run":
    if (line.command.name === "completions") {
      const { completions } = await import("../src/line/completions.mjs")
      process.stdout.write(completions(String(line.values["shell"])))
    } else await run(line)
}

/** @param {Extract<import("../src/line/Command.ts").Line, { readonly _tag: "Run" }>} line */
async function run({ command, values }) {
  // Listing instances takes 0.53 s of CPU with the cache of compiled code, and 1.05 s without it.
  module.enableCompileCache?.()
  // Installed, the package is compiled; in the repository its sources run as they are.
  const isInstalled = import.meta.url.includes("/node_modules/")
  if (!isInstalled && !process.features.typescript) {
    process.stderr.write(`detent: Node ${process.versions.node} cannot run it from sources; ${newerNode()}\n`)
    process.exitCode = ExitCode.failed
    return
  }
  const { main } = await import(isInstalled ? "../dist/main.js" : "../src/main.ts")
  main(command, values)
}

/** A clone brings a Node, which is the first in the path of `npx` and of npm's scripts in it, and in projects that were made from it. */
function newerNode() {
  const clone = fileURLToPath(new URL("../../../", import.meta.url))
  const needed = "Node 22.18 or later can"
  return existsSync(`${clone}node_modules/node/bin/node`)
    ? `${needed}, such as the one in ${clone}node_modules/.bin: put that folder first in PATH`
    : `${needed}: install it, or run \`npm install\` in ${clone}, which brings one`
}

/**
 * @param {string} problem
 * @param {ReadonlyArray<string>} topic
 */
function usage(problem, topic) {
  process.stderr.write(`detent: ${problem}\n`)
  process.stderr.write(`See \`${["detent", ...topic, "--help"].join(" ")}\`.\n`)
  process.exitCode = ExitCode.usage
}

/** @param {NodeJS.WriteStream} stream */
function bold(stream) {
  const isStyled = stream.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb"
  return (/** @type {string} */ text) => (isStyled ? `\x1b[1m${text}\x1b[0m` : text)
}
