/** Parses the words of a command line into a command and its values, or an error. Runs nothing, and reads only environment variables. */
import { parseArgs } from "node:util"
import { globalOptions } from "./options.mjs"
import { commands, nouns } from "./table.mjs"

/** @typedef {import("./Command.ts").Command} Command */
/** @typedef {import("./Command.ts").Option} Option */
/** @typedef {import("./Command.ts").Line} Line */

/**
 * @param {ReadonlyArray<string>} words
 * @returns {Line}
 */
export function parseLine(words) {
  if (words.length === 0 || words[0] === "help") return { _tag: "Help", topic: words.slice(1) }
  if (words[0] === "--version" || words[0] === "-v") return { _tag: "Version" }
  // Global options may also precede the command.
  const tokens = tokensOf(words, globalOptions)
  const isHelp = tokens.some(isHelpToken)
  const first = tokens.find((token) => token.kind === "positional")
  if (first === undefined) return isHelp ? { _tag: "Help", topic: [] } : withoutCommand(tokens)
  const [one, two] = [first.value, words[first.index + 1]]
  const isNoun = nouns.some(({ name }) => name === one)
  const name = isNoun && two !== undefined && !two.startsWith("-") ? `${one} ${two}` : one
  const command = commands.find((known) => known.name === name)
  if (command !== undefined) return parseValues(command, words.toSpliced(first.index, name.split(" ").length))
  if (isNoun && name === one)
    return isHelp ? { _tag: "Help", topic: [one] } : { ...wrong(`${one} needs a command`, [one]), isHelpful: true }
  const known = isNoun ? commands.filter((other) => other.name.startsWith(`${one} `)) : [...commands, ...nouns]
  return misspelt(`there is no command ${name}`, isNoun ? [one] : [], name, known)
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
  const tokens = tokensOf(words, options)
  if (tokens.some(isHelpToken)) return { _tag: "Help", topic }
  /** @type {Record<string, string | number | boolean | ReadonlyArray<string> | undefined>} */
  const values = defaultsOf(options)
  for (const token of tokens) {
    if (token.kind !== "option") continue
    const { name, rawName, value } = token
    const option = options.find((one) => one.name === name)
    if (option === undefined)
      return misspelt(
        `there is no option ${rawName}`,
        topic,
        rawName,
        options.map((one) => ({ name: `--${one.name}` })),
      )
    if (option.kind === "flag") {
      if (value !== undefined) return wrong(`${rawName} takes no value`, topic)
      values[name] = true
      continue
    }
    if (value === undefined) return wrong(`${rawName} needs a value: ${rawName} ${option.value ?? "VALUE"}`, topic)
    const problem = problemOf(option, rawName, value, topic)
    if (problem !== undefined) return problem
    values[name] = option.kind === "integer" ? Number(value) : value
  }
  const given = tokens.flatMap((token) => (token.kind === "positional" ? [token.value] : []))
  const missing = command.arguments.find((one, index) => one.optional !== true && given[index] === undefined)
  if (missing !== undefined) return wrong(`${missing.name.toUpperCase()} is missing: ${missing.summary}`, topic)
  const excess = command.arguments.at(-1)?.many === true ? undefined : given[command.arguments.length]
  if (excess !== undefined) return wrong(`${JSON.stringify(excess)} is an unexpected argument`, topic)
  for (const [index, argument] of command.arguments.entries()) {
    if (argument.many === true) {
      values[argument.name] = given.slice(index)
      continue
    }
    const value = given[index]
    const problem = value === undefined ? undefined : problemOf({ ...argument, kind: "text" }, argument.name.toUpperCase(), value, topic)
    if (problem !== undefined) return problem
    values[argument.name] = value
  }
  return { _tag: "Run", command, values }
}

/**
 * @param {ReadonlyArray<string>} words
 * @param {ReadonlyArray<Option>} options
 */
function tokensOf(words, options) {
  const known = options.map(({ name, kind, short }) => [
    name,
    { type: /** @type {"boolean" | "string"} */ (kind === "flag" ? "boolean" : "string"), ...(short === undefined ? {} : { short }) },
  ])
  return parseArgs({ args: [...words], options: Object.fromEntries(known), strict: false, allowPositionals: true, tokens: true }).tokens
}

/** @param {ReturnType<typeof tokensOf>[number]} token */
function isHelpToken(token) {
  return token.kind === "option" && token.name === "help"
}

/**
 * @param {Option} option
 * @param {string} name
 * @param {string} value
 * @param {ReadonlyArray<string>} topic
 */
function problemOf(option, name, value, topic) {
  if (option.choices !== undefined && !option.choices.includes(value))
    return misspelt(
      `${name} is one of ${option.choices.join(", ")}, not ${JSON.stringify(value)}`,
      topic,
      value,
      option.choices.map((choice) => ({ name: choice })),
    )
  if (option.kind === "integer" && !/^\d{1,15}$/.test(value)) return wrong(`${name} is a whole number, not ${JSON.stringify(value)}`, topic)
  if (option.minimum !== undefined && Number(value) < option.minimum)
    return wrong(`${name} is at least ${option.minimum}, not ${value}`, topic)
  return undefined
}

/**
 * @param {ReadonlyArray<Option>} options
 * @returns {Record<string, string | number | boolean | undefined>}
 */
function defaultsOf(options) {
  return Object.fromEntries(options.map((option) => [option.name, option.kind === "flag" ? false : (variableOf(option) ?? option.default)]))
}

/**
 * An empty variable counts as unset.
 *
 * @param {Option} option
 */
function variableOf({ variable }) {
  const value = variable === undefined ? undefined : process.env[variable]
  return value === "" ? undefined : value
}

/**
 * The error of a line with options but no command.
 *
 * @param {ReturnType<typeof tokensOf>} tokens
 */
function withoutCommand(tokens) {
  /** @type {ReadonlyArray<Option>} */
  const known = globalOptions
  const unknown = tokens.find((token) => token.kind === "option" && !known.some(({ name }) => name === token.name))
  if (unknown?.kind !== "option") return wrong("which command?", [])
  const names = [...known.map(({ name }) => ({ name: `--${name}` })), { name: "--version" }]
  return misspelt(`there is no option ${unknown.rawName}`, [], unknown.rawName, names)
}

/**
 * @param {string} problem
 * @param {ReadonlyArray<string>} topic
 * @param {string} word
 * @param {ReadonlyArray<{ readonly name: string }>} known
 */
function misspelt(problem, topic, word, known) {
  return { ...wrong(problem, topic), misspelt: { word, known: known.map(({ name }) => name) } }
}

/**
 * @param {string} problem
 * @param {ReadonlyArray<string>} topic
 * @returns {Extract<Line, { readonly _tag: "Wrong" }>}
 */
function wrong(problem, topic) {
  return { _tag: "Wrong", problem, topic }
}
