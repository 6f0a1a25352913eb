/** From the words of a command line to a command and its values, or to what is wrong with it. Nothing is run or read here. */
import { nearest } from "./nearest.mjs"
import { globalOptions } from "./options.mjs"
import { commands, nouns } from "./table.mjs"

/** @typedef {import("./Command.ts").Command} Command */
/** @typedef {import("./Command.ts").Option} Option */
/** @typedef {import("./Command.ts").Line} Line */

/** @type {ReadonlyArray<Command>} */
const table = commands

/**
 * @param {ReadonlyArray<string>} words
 * @returns {Line}
 */
export function parseLine(words) {
  if (words.length === 0 || words[0] === "help") return { _tag: "Help", topic: words.slice(1) }
  if (words[0] === "--version" || words[0] === "-v") return { _tag: "Version" }
  // Options of all commands may stand before the command, too.
  const first = words.findIndex((word, index) => !word.startsWith("-") && !isValueOfGlobal(words, index))
  if (first === -1) return words.some(isHelp) ? { _tag: "Help", topic: [] } : wrong(withoutCommand(words), [])
  const [one = "", two] = [words[first], words[first + 1]]
  const isNoun = nouns.some(({ name }) => name === one)
  const name = isNoun && two !== undefined && !two.startsWith("-") ? `${one} ${two}` : one
  const command = table.find((known) => known.name === name)
  if (command === undefined) {
    if (isNoun && name === one)
      return words.some(isHelp) ? { _tag: "Help", topic: [one] } : { ...wrong(`${one}: what about it?`, [one]), isHelpful: true }
    const known = isNoun ? table.filter((other) => other.name.startsWith(`${one} `)) : [...table, ...nouns]
    return wrong(
      `there is no command ${name}${guess(
        name,
        known.map((other) => other.name),
      )}`,
      isNoun ? [one] : [],
    )
  }
  const rest = words.toSpliced(first, name.split(" ").length)
  return rest.slice(0, endOfOptions(rest)).some(isHelp) ? { _tag: "Help", topic: name.split(" ") } : parseValues(command, rest)
}

/**
 * @param {Command} command
 * @param {ReadonlyArray<string>} words
 * @returns {Line}
 */
function parseValues(command, words) {
  const topic = command.name.split(" ")
  /** @type {ReadonlyArray<Option>} */
  const options = [...command.options, ...globalOptions]
  /** @type {Record<string, string | number | boolean | undefined>} */
  const values = defaultsOf(options)
  /** @type {Array<string>} */
  const given = []
  const end = endOfOptions(words)
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? ""
    if (index === end) continue
    if (index > end || word === "-" || !word.startsWith("-")) {
      given.push(word)
      continue
    }
    const equals = word.startsWith("--") ? word.indexOf("=") : -1
    const name = equals === -1 ? word : word.slice(0, equals)
    const option = options.find((one) => `--${one.name}` === name || (one.short !== undefined && `-${one.short}` === name))
    if (option === undefined)
      return wrong(
        `there is no option ${name}${guess(
          name,
          options.map((one) => `--${one.name}`),
        )}`,
        topic,
      )
    if (option.kind === "flag") {
      if (equals !== -1) return wrong(`${name} takes no value`, topic)
      values[option.name] = true
      continue
    }
    const value = equals === -1 ? words[++index] : word.slice(equals + 1)
    if (value === undefined || (equals === -1 && index === end))
      return wrong(`${name} needs a value: ${name} ${option.value ?? "VALUE"}`, topic)
    const problem = problemOf(option, name, value)
    if (problem !== undefined) return wrong(problem, topic)
    values[option.name] = option.kind === "integer" ? Number(value) : value
  }
  const missing = command.arguments.find((one, index) => one.optional !== true && given[index] === undefined)
  if (missing !== undefined) return wrong(`${missing.name.toUpperCase()} is missing: ${missing.summary}`, topic)
  const excess = given[command.arguments.length]
  if (excess !== undefined) return wrong(`${JSON.stringify(excess)} is one word too many`, topic)
  for (const [index, argument] of command.arguments.entries()) {
    const value = given[index]
    const problem = value === undefined ? undefined : problemOf({ ...argument, kind: "text" }, argument.name.toUpperCase(), value)
    if (problem !== undefined) return wrong(problem, topic)
    values[argument.name] = value
  }
  return { _tag: "Run", command, values }
}

/**
 * @param {Option} option
 * @param {string} name
 * @param {string} value
 */
function problemOf(option, name, value) {
  if (option.choices !== undefined && !option.choices.includes(value))
    return `${name} is one of ${option.choices.join(", ")}, not ${JSON.stringify(value)}${guess(value, option.choices)}`
  if (option.kind === "integer" && !/^\d{1,15}$/.test(value)) return `${name} is a whole number, not ${JSON.stringify(value)}`
  if (option.minimum !== undefined && Number(value) < option.minimum) return `${name} is at least ${option.minimum}, not ${value}`
  return undefined
}

/**
 * @param {ReadonlyArray<Option>} options
 * @returns {Record<string, string | number | boolean | undefined>}
 */
function defaultsOf(options) {
  return Object.fromEntries(options.map((option) => [option.name, option.kind === "flag" ? false : option.default]))
}

/** @param {ReadonlyArray<string>} words */
function endOfOptions(words) {
  const index = words.indexOf("--")
  return index === -1 ? words.length : index
}

/**
 * @param {ReadonlyArray<string>} words
 * @param {number} index
 */
function isValueOfGlobal(words, index) {
  const before = words[index - 1]
  return globalOptions.some((option) => option.kind === "text" && `--${option.name}` === before)
}

/**
 * What is wrong with options that no command goes with.
 *
 * @param {ReadonlyArray<string>} words
 */
function withoutCommand(words) {
  const known = globalOptions.flatMap((option) => ("short" in option ? [`--${option.name}`, `-${option.short}`] : [`--${option.name}`]))
  const names = words.filter((word) => /^-./.test(word) && word !== "--").map((word) => word.split("=")[0] ?? "")
  const unknown = names.find((name) => !known.includes(name))
  return unknown === undefined ? "which command?" : `there is no option ${unknown}${guess(unknown, [...known, "--version"])}`
}

/** @param {string} word */
function isHelp(word) {
  return word === "--help" || word === "-h"
}

/**
 * @param {string} word
 * @param {ReadonlyArray<string>} known
 */
function guess(word, known) {
  const near = nearest(word, known)
  return near === undefined ? "" : `; did you mean ${near}?`
}

/**
 * @param {string} problem
 * @param {ReadonlyArray<string>} topic
 * @returns {Extract<Line, { readonly _tag: "Wrong" }>}
 */
function wrong(problem, topic) {
  return { _tag: "Wrong", problem, topic }
}
