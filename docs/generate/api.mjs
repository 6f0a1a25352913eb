/** What each package exports, with the comment above its declaration, from the sources. */
import { existsSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { document, escaped, generatedNote, table } from "./markdown.mjs"
import { commentBefore, proseOf, root, textOf } from "./sources.mjs"

const packages = ["machine", "durable", "entity", "uploads", "knowledge", "workspace", "server"]

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
          ["name", "kind", ""],
          exported.map(({ label, kind, about }) => [`\`${label}\``, kind, escaped(about)]),
        ),
      ]
    }),
  ]
}

/**
 * @typedef {{ readonly label: string, readonly kind: string, readonly about: string }} Exported
 *
 * @param {string} path
 * @returns {ReadonlyArray<Exported>}
 */
function exportsOf(path) {
  const text = textOf(path)
  const own = [...text.matchAll(/^export (?:declare )?(?:const|function|class|interface|type|abstract class) (\w+)/gm)].map(
    ([, name = ""]) => declared(path, name, name),
  )
  const whole = [...text.matchAll(/^export \* from "(\.[^"]+)"/gm)].flatMap(([, from = ""]) => exportsOf(resolve(path, from)))
  const modules = [...text.matchAll(/^export \* as (\w+) from "(\.[^"]+)"/gm)].map(([, name = "", from = ""]) => ({
    label: name,
    kind: "module",
    about: openingOf(resolve(path, from)),
  }))
  const named = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from "(\.[^"]+)"/gm)].flatMap(([, names = "", from = ""]) =>
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
 * @param {string} path
 * @param {string} name
 * @param {string} label
 * @returns {Exported}
 */
function declared(path, name, label) {
  const text = textOf(path)
  const found = new RegExp(`^export (?:declare )?(?:abstract )?(const|function|class|interface|type) ${name}\\b`, "m").exec(text)
  if (found !== null) return { label, kind: kindOf(found[1] ?? ""), about: commentBefore(text, found.index) ?? "" }
  // The file only passes it on.
  const from = new RegExp(`^export (?:type )?\\{[^}]*\\b${name}\\b[^}]*\\} from "(\\.[^"]+)"`, "m").exec(text)?.[1]
  return from === undefined ? { label, kind: "", about: "" } : declared(resolve(path, from), name, label)
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
  const file = posix.join(posix.dirname(path), from)
  if (!existsSync(join(root, file))) throw new Error(`${path} exports from ${from}, which does not exist in ${dirname(path)}`)
  return file
}
