/**
 * The `detent` command. Help, completions and wrong usage are answered here, from the table of what commands declare: nothing of
 * Effect is loaded for them. What runs is loaded when it runs.
 */
import { existsSync, readFileSync } from "node:fs"
import module from "node:module"
import { ExitCode } from "../src/ExitCode.mjs"
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
    } else usage(`${line.problem}${await suggestion(line.misspelt)}`, line.topic)
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
  // A packed package has the compiled file; in the repository the sources run as they are.
  const compiled = new URL("../src/main.js", import.meta.url)
  const { main } = await import(existsSync(compiled) ? compiled.href : "../src/main.ts")
  main(command, values)
}

/** @param {import("../src/line/Command.ts").Misspelt | undefined} misspelt */
async function suggestion(misspelt) {
  if (misspelt === undefined) return ""
  const { nearest } = await import("@detent/machine/Nearest")
  const near = nearest(misspelt.word, misspelt.known)
  return near === undefined ? "" : `; did you mean ${near}?`
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
