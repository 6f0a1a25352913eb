/** What each package exports, with the comment above its declaration, from the sources. */
import { existsSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { document, escaped, generatedNote, table } from "./markdown.mjs"
import { commentBefore, proseOf, root, textOf } from "./sources.mjs"

const packages = [
  "machine",
  "store",
  "durable",
  "eventlog",
  "cluster",
  "xstate",
  "entity",
  "processes",
  "tables",
  "uploads",
  "knowledge",
  "workspace",
  "server",
]

/** Entries that are no API for programs: what packages of this repository share, and assets. */
const hidden = new Set(["./internal", "./package.json"])

export function apiPage() {
  return document([
    "# API of the packages",
    `${generatedNote("the exports of the packages and the comments in their sources")} Types are in the declarations that your editor shows.`,
    ...packages.flatMap(packageSection),
  ])
}

/** @param {string} name */
function packageSection(name) {
  const manifest = JSON.parse(textOf(`packages/${name}/package.json`))
  /** @type {ReadonlyArray<[string, unknown]>} */
  const entries = Object.entries(manifest.exports)
  return [
    `## @detent/${name}`,
    `${escaped(manifest.description)}.`,
    ...entries.flatMap(([entry, target]) => {
      if (hidden.has(entry) || typeof target !== "string" || !target.endsWith(".ts")) return []
      const path = posix.join("packages", name, target)
      const exported = exportsOf(path)
      if (exported.length === 0) return []
      return [
        `### \`${posix.join(`@detent/${name}`, entry)}\``,
        table(
          ["name", "kind", "type or members", "meaning"],
          exported.map(({ label, kind, shape, about }) => [
            `\`${label}\``,
            kind,
            shape === "" ? "" : escaped(`\`${shape}\``),
            escaped(about),
          ]),
        ),
      ]
    }),
  ]
}

/**
 * @typedef {{ readonly label: string, readonly kind: string, readonly shape: string, readonly about: string }} Exported
 *
 * @param {string} path
 * @returns {ReadonlyArray<Exported>}
 */
function exportsOf(path) {
  const text = textOf(path)
  const own = [...text.matchAll(/^export (?:declare )?(?:const|function|class|interface|type|abstract class) (\w+)/gm)].map(
    ([, name = ""]) => declared(path, name, name),
  )
  const whole = [...text.matchAll(/^export \* from "((?:\.|@detent\/)[^"]+)"/gm)].flatMap(([, from = ""]) => exportsOf(resolve(path, from)))
  const modules = [...text.matchAll(/^export \* as (\w+) from "((?:\.|@detent\/)[^"]+)"/gm)].map(([, name = "", from = ""]) =>
    moduleOf(name, resolve(path, from)),
  )
  const named = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from "((?:\.|@detent\/)[^"]+)"/gm)].flatMap(([, names = "", from = ""]) =>
    names
      .split(",")
      .map((one) => one.trim().replace(/^type /, ""))
      .filter((one) => one !== "")
      .map((one) => {
        const [original = "", shown = original] = one.split(" as ")
        return declared(resolve(path, from), original, shown)
      }),
  )
  const all = [...modules, ...named, ...whole, ...own]
  const byLabel = new Map(all.map((one) => [one.label, one]))
  return [...byLabel.values()].sort((one, other) => one.label.localeCompare(other.label, "en"))
}

/**
 * @param {string} label
 * @param {string} path
 * @returns {Exported}
 */
function moduleOf(label, path) {
  const shape = exportsOf(path)
    .map((exported) => exported.label)
    .join(", ")
  return { label, kind: "module", shape, about: openingOf(path) }
}

/**
 * @param {string} path
 * @param {string} name
 * @param {string} label
 * @returns {Exported}
 */
function declared(path, name, label) {
  const text = textOf(path)
  const found = new RegExp(`^export (?:declare )?(?:abstract )?(const|function|class|interface|type) ${name}\\b`, "m").exec(text)
  if (found !== null) {
    const [all, keyword = ""] = found
    const rest = text.slice(found.index + all.length)
    return { label, kind: kindOf(keyword), shape: shapeOf(keyword, rest), about: commentBefore(text, found.index) ?? "" }
  }
  const module = new RegExp(`^export \\* as ${name} from "([^"]+)"`, "m").exec(text)?.[1]
  if (module !== undefined) return moduleOf(name, resolve(path, module))
  // The file only passes it on.
  const from = new RegExp(`^export (?:type )?\\{[^}]*\\b${name}\\b[^}]*\\} from "((?:\\.|@detent/)[^"]+)"`, "m").exec(text)?.[1]
  return from === undefined ? { label, kind: "", shape: "", about: "" } : declared(resolve(path, from), name, label)
}

/**
 * What follows the name of a declaration: the type of a function or value as it is written, the members of an interface.
 *
 * @param {string} keyword
 * @param {string} rest the text after the name
 */
function shapeOf(keyword, rest) {
  if (keyword === "interface" || keyword === "class") return membersOf(rest).join(", ")
  if (keyword === "type") return ""
  const end = keyword === "function" ? endOf(rest, /^ \{/) : endOf(rest, /^ =>|^\n(?!\s)|^\n\n/)
  const head = rest
    .slice(0, end)
    .replace(/^ = /, "")
    .replaceAll(/\s*\/\*\*[\s\S]*?\*\/\s*/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
  // The value of a constant is no type, and a long type is better read in the editor.
  if (head.length > 220 || !/^(?:async )?[<(:]/.test(head)) return ""
  return head.startsWith(": ") ? head.slice(2).replace(/ =(?: .*)?$/, "") : head.replace(/^async /, "")
}

/**
 * The members on the first level of a body in braces. Private and symbolic ones are left out.
 *
 * @param {string} rest
 */
function membersOf(rest) {
  const body = /\{\n([\s\S]*?)\n\}/.exec(rest)?.[1] ?? ""
  const names = [...body.matchAll(/^ {2}(?:readonly |static |get )*(\w+)\??[(<:]/gm)].map(([, name = ""]) => name)
  return [...new Set(names)].filter((name) => name !== "constructor" && name !== "override")
}

/**
 * Where a pattern first matches outside of brackets.
 *
 * @param {string} text
 * @param {RegExp} pattern
 */
function endOf(text, pattern) {
  let depth = 0
  for (let index = 0; index < Math.min(text.length, 4000); index++) {
    const char = text[index] ?? ""
    if (depth === 0 && pattern.test(text.slice(index, index + 4))) return index
    if ("([{".includes(char)) depth++
    else if (")]}".includes(char)) depth--
  }
  return 0
}

/** @param {string} keyword */
function kindOf(keyword) {
  return keyword === "const" ? "value" : keyword
}

/**
 * The comment that a file begins with.
 *
 * @param {string} path
 */
function openingOf(path) {
  const comment = /^\/\*\*[\s\S]*?\*\//.exec(textOf(path))?.[0]
  return comment === undefined ? "" : proseOf(comment)
}

/**
 * @param {string} path
 * @param {string} from
 */
function resolve(path, from) {
  const other = /^@detent\/(\w+)(\/.+)?$/.exec(from)
  if (other !== null) {
    const [, name = "", entry = ""] = other
    const target = JSON.parse(textOf(`packages/${name}/package.json`)).exports[`.${entry}`]
    if (typeof target !== "string") throw new Error(`${path} exports from ${from}, which ${name} does not export`)
    return posix.join("packages", name, target)
  }
  const file = posix.join(posix.dirname(path), from)
  if (!existsSync(join(root, file))) throw new Error(`${path} exports from ${from}, which does not exist in ${dirname(path)}`)
  return file
}
