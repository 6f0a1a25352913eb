/** The text of `--help`: of all commands, of a noun, of one command. */

import { globalOptions } from "./options.mjs"
import { commands, nouns } from "./table.mjs"

/** @typedef {import("./Command.ts").Command} Command */
/** @typedef {import("./Command.ts").Option} Option */

/**
 * @param {ReadonlyArray<string>} topic
 * @param {(text: string) => string} bold
 * @returns {string | undefined} undefined for an unknown topic
 */
export function help(topic, bold) {
  if (topic.length === 0) return everything(bold)
  const name = topic.join(" ")
  const command = commands.find((one) => one.name === name)
  if (command !== undefined) return ofCommand(command, bold)
  const noun = nouns.find((one) => one.name === name)
  return noun === undefined ? undefined : ofNoun(noun, bold)
}

/** @param {(text: string) => string} bold */
function everything(bold) {
  const single = commands.filter(({ name }) => !name.includes(" ")).map(({ name, summary }) => [name, summary])
  /** @param {ReadonlyArray<import("./Command.ts").Noun>} some */
  const grouped = (some) => some.map(({ name, summary }) => [`${name} ${verbsOf(name).join("|")}`, summary])
  return sections([
    "Durable state machines and batch workflows: run, watch and repair them.",
    section(bold("Run"), columns(single)),
    section(bold("Inspect and change"), columns(grouped(nouns.filter(({ system }) => system === undefined)))),
    section(
      bold("With `knowledge` or `uploads` in detent.config.ts, or without a configuration"),
      columns(grouped(nouns.filter(({ system }) => system !== undefined))),
    ),
    section(bold("Options of every command"), columns(globalOptions.map(optionLine))),
    section(
      bold("Get started"),
      columns([
        ["detent dev --demo", "start a server with sample data"],
        ["detent init --template order", "create a project"],
        ["detent batch run --help", "show the help of a command, with examples"],
      ]),
    ),
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 not allowed, 5 a batch completed in part, 130 interrupted.",
  ])
}

/**
 * @param {import("./Command.ts").Noun} noun
 * @param {(text: string) => string} bold
 */
function ofNoun(noun, bold) {
  const own = commands.filter(({ name }) => name.startsWith(`${noun.name} `))
  return sections([
    `detent ${noun.name}: ${noun.summary}.`,
    section(bold("Commands"), columns(own.map((one) => [usageOf(one), one.summary]))),
    section(bold("Examples"), columns(own.flatMap(({ examples }) => examples.slice(0, 1).map(({ line, says }) => [line, says])))),
  ])
}

/**
 * @param {Command} command
 * @param {(text: string) => string} bold
 */
function ofCommand(command, bold) {
  return sections([
    `detent ${command.name}: ${command.summary}.${command.detail === undefined ? "" : `\n${command.detail}`}`,
    section(bold("Usage"), `  detent ${usageOf(command)}`),
    section(bold("Arguments"), columns(command.arguments.map((one) => [one.name.toUpperCase(), withChoices(one.summary, one.choices)]))),
    section(bold("Options"), columns(command.options.map(optionLine))),
    section(bold("Options of every command"), columns(globalOptions.map(optionLine))),
    section(bold("Examples"), command.examples.map(({ line, says }) => `  ${line}\n      ${says}`).join("\n")),
  ])
}

/** @param {Command} command */
export function usageOf(command) {
  const given = command.arguments.map(({ name, optional, many }) => {
    const shown = `${name.toUpperCase()}${many ? "..." : ""}`
    return optional ? `[${shown}]` : shown
  })
  return [command.name, ...given, ...(command.options.length > 0 ? ["[options]"] : [])].join(" ")
}

/** @param {string} noun */
function verbsOf(noun) {
  return commands.filter(({ name }) => name.startsWith(`${noun} `)).map(({ name }) => name.slice(noun.length + 1))
}

/**
 * @param {Option} option
 * @returns {[string, string]}
 */
function optionLine({ name, short, kind, value, choices, summary, default: fallback }) {
  const flag = `${short === undefined ? "" : `-${short}, `}--${name}${kind === "flag" ? "" : ` ${value ?? "VALUE"}`}`
  return [flag, `${withChoices(summary, choices)}${fallback === undefined ? "" : `. Default: ${fallback}`}`]
}

/**
 * @param {string} summary
 * @param {ReadonlyArray<string> | undefined} choices
 */
function withChoices(summary, choices) {
  return choices === undefined ? summary : `${summary}: ${choices.join(", ")}`
}

/** @param {ReadonlyArray<ReadonlyArray<string>>} rows */
function columns(rows) {
  const width = Math.min(46, Math.max(...rows.map(([left = ""]) => left.length)))
  const line = (/** @type {ReadonlyArray<string>} */ [left = "", right = ""]) =>
    left.length > width ? `  ${left}\n  ${" ".repeat(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`
  return rows.map(line).join("\n")
}

/**
 * @param {string} title
 * @param {string} body
 */
function section(title, body) {
  return body === "" ? "" : `${title}\n${body}`
}

/** @param {ReadonlyArray<string>} parts */
function sections(parts) {
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`
}
