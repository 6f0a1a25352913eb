/** Every error with its cause and its next step, from the error classes and the registry of kinds. */
import { document, escaped, generatedNote, sentence } from "./markdown.mjs"
import { nextSteps } from "./nextSteps.mjs"
import { commentBefore, filesOf, textOf } from "./sources.mjs"

/** Packages in the order of the page. */
export const packages = {
  machine: "Defining, deciding and sending. Nothing else is needed for these to occur.",
  store: "Opening and using the store: memory, SQLite or PostgreSQL.",
  durable: "Keeping instances, commands and executions in a store.",
  eventlog: "Keeping domain events in a store.",
  workspace: "Opening a workspace, and the operations that HTTP, the command line and MCP share.",
  server: "Serving.",
  cli: "The command line.",
  processes: "Work on user content in processes of its own.",
  uploads: "Files of items.",
  blobs: "Object storage.",
  knowledge: "Documents, batches and graphs.",
  cluster: "Many nodes on one PostgreSQL.",
}

const declaration =
  /^export class (\w+) extends (?:(?:Schema|Data)\.TaggedError(?:<\w+>)?(?:\(\))?\(\s*"(\w+)"|\w+\.extend<\w+>\("(\w+)"\))/gm

export function errorsPage() {
  const kinds = kindsOf()
  return document([
    "# Errors",
    `${generatedNote("the error classes and the registry that gives each its HTTP status and exit code")} The name is the \`_tag\` of the error, and the class of a thrown error in async code.`,
    "A message never contains the content of a state or an event. Words in capitals stand for data of the error.",
    ...Object.entries(packages).flatMap(([name, about]) => {
      const errors = errorsOf(name)
      if (errors.length === 0) return []
      return [`## @detent/${name}`, about, ...errors.map((error) => section(error, kinds))]
    }),
  ])
}

/**
 * @typedef {{ readonly tag: string, readonly cause: string, readonly messages: ReadonlyArray<string> }} ErrorClass
 *
 * @param {string} name of a package
 * @returns {ReadonlyArray<ErrorClass>}
 */
export function errorsOf(name) {
  const errors = filesOf(name).flatMap((path) => {
    const text = textOf(path)
    return [...text.matchAll(declaration)].flatMap((match) => {
      const cause = commentBefore(text, match.index) ?? ""
      const tag = match[2] ?? match[3] ?? ""
      const messages = messagesIn(bodyAt(text, match.index))
      // The problems of the server repeat the message of another error.
      return cause === "" && messages.length === 0 ? [] : [{ tag, cause, messages }]
    })
  })
  const byTag = new Map(errors.map((error) => [error.tag, error]))
  return [...byTag.values()].sort((one, other) => one.tag.localeCompare(other.tag))
}

/**
 * @param {ErrorClass} error
 * @param {ReadonlyMap<string, Kind>} kinds
 */
function section(error, kinds) {
  const kind = kinds.get(error.tag)
  const steps = nextStepsOf(error, kind)
  return document([
    `### ${error.tag}`,
    error.cause === "" ? "" : sentence(escaped(error.cause)),
    ...error.messages.map((message) => `\`\`\`text\n${message}\n\`\`\``),
    steps.length === 0 ? "" : `Next step: ${steps.map((step) => escaped(sentence(step))).join(" ")}`,
    kind === undefined ? "" : `HTTP status ${kind.status}, exit code ${kind.exitCode}.`,
  ]).trimEnd()
}

/**
 * What to do: what the message says after its last semicolon, what the registry says, or what is written down here.
 *
 * @param {ErrorClass} error
 * @param {Kind | undefined} kind
 * @returns {ReadonlyArray<string>}
 */
export function nextStepsOf({ tag, messages }, kind) {
  const said = messages.flatMap((message) => (message.includes("; ") ? [message.slice(message.lastIndexOf("; ") + 2)] : []))
  const fromMessage = said.map((step) => (/[a-z]/.test(step) ? step : "The message names it."))
  const here = nextSteps[tag]
  const surfaces = [
    ...(kind?.http === undefined ? [] : [`Over HTTP: ${kind.http}`]),
    ...(kind?.cli === undefined ? [] : [`On the command line: ${kind.cli}`]),
  ]
  return [...(here === undefined ? [...new Set(fromMessage)] : [here]), ...surfaces]
}

/**
 * The text of a class, from its declaration to the line that closes it.
 *
 * @param {string} text
 * @param {number} start
 */
function bodyAt(text, start) {
  const end = text.indexOf("\n}\n", start)
  return text.slice(start, end)
}

/**
 * The messages that a class can have: what its `message` returns, with its data in capitals.
 *
 * @param {string} body
 * @returns {ReadonlyArray<string>}
 */
function messagesIn(body) {
  const getter = /get message\(\)[^{]*\{\n([\s\S]*?)\n {2}\}/.exec(body)?.[1] ?? ""
  const returned = getter.slice(Math.max(0, getter.indexOf("return")))
  // A message that chooses between templates has each of them at its top level; templates inside of a template are data.
  const templates = [...returned.matchAll(/`((?:[^`$]|\$\{(?:[^{}`]|`[^`]*`)*\})*)`/g)].map(([, template = ""]) => template)
  return templates.map(readable).filter((message) => /[a-z]{3}/i.test(message))
}

/** @param {string} template */
function readable(template) {
  return template
    .replaceAll(/\$\{where\(this\)\}/g, "MACHINE ID")
    .replaceAll(/\$\{describe\(this\.(\w+)\)\}/g, (_, name) => words(name))
    .replaceAll(/\$\{this\.(\w+)(?:\.join\([^)]*\))?\}/g, (_, name) => words(name))
    .replaceAll(/\$\{(?:[^{}`]|`[^`]*`)*\}/g, "…")
    .replaceAll("\\`", "`")
    .replaceAll(/…+/g, "…")
}

/** @param {string} name */
function words(name) {
  return name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toUpperCase()
}

/**
 * @typedef {{ readonly status: string, readonly exitCode: string, readonly http: string | undefined, readonly cli: string | undefined }} Kind
 */

/** @returns {ReadonlyMap<string, Kind>} the registry of `@detent/workspace`, by the tag of the error */
export function kindsOf() {
  const text = textOf("packages/workspace/src/ErrorKind.ts")
  /** @type {Map<string, { status: string, exitCode: string }>} */
  const outcomes = new Map()
  for (const [, quoted, plain, status = "", exitCode = ""] of text.matchAll(
    /^ {2}(?:"([\w ]+)"|(\w+)): \{ status: (\d+), exitCode: (\d)/gm,
  ))
    outcomes.set(quoted ?? plain ?? "", { status, exitCode })
  const shorthands = new Map(
    [...text.matchAll(/^const (\w+): Entry = \{ kind: "([\w ]+)"(?:, status: (\d+))?/gm)].map(([, name = "", kind = "", status]) => [
      name,
      { kind, status },
    ]),
  )
  const registry = text.slice(text.indexOf("const registry"), text.indexOf("export interface ErrorOutcome"))
  /** @type {Map<string, Kind>} */
  const kinds = new Map()
  for (const [, tag = "", entry = ""] of registry.matchAll(/^ {2}(\w+): (\w+,$|\{[\s\S]*?\},$)/gm)) {
    const shorthand = shorthands.get(/^(?:\{\s*\.\.\.)?(\w+)/.exec(entry)?.[1] ?? "")
    const outcome = outcomes.get(shorthand?.kind ?? "")
    if (shorthand === undefined || outcome === undefined) continue
    kinds.set(tag, {
      status: /status: (\d+)/.exec(entry)?.[1] ?? shorthand.status ?? outcome.status,
      exitCode: outcome.exitCode,
      http: /http: (["'])([\s\S]*?)\1/.exec(entry)?.[2],
      cli: /cli: (["'])([\s\S]*?)\1/.exec(entry)?.[2],
    })
  }
  return kinds
}
