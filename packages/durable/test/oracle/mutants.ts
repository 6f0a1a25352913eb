/**
 * Changes of a machine by its text: those that break it (guards, targets, fields, timers, requested effects), and those that say the same in
 * other words.
 */
import { parseSync } from "vite"

export interface Mutant {
  /** What was changed, and where. */
  readonly about: string
  readonly text: string
}

interface Syntax {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

interface Edit {
  readonly about: string
  readonly edits: ReadonlyArray<{ readonly start: number; readonly end: number; readonly text: string }>
}

const isSyntax = (value: unknown): value is Syntax => typeof value === "object" && value !== null && "type" in value && "start" in value

/** The text as it runs: without types, so that places in it are those of the parsed tree. */
const parsed = (text: string): { readonly source: string; readonly root: Syntax } => {
  const source = `(${text})`
  return { source, root: parseSync("machine.ts", source).program as unknown as Syntax }
}

/** Visits the chained calls that make the machine: not the states and events, and not the scripts. */
const visit = (root: Syntax, seen: (node: Syntax, parents: ReadonlyArray<Syntax>) => void) => {
  const walk = (node: Syntax, parents: ReadonlyArray<Syntax>, isMachine: boolean) => {
    const inside = isMachine || (node.type === "VariableDeclarator" && nameOf(node["id"]) === "machine")
    if (isMachine) seen(node, parents)
    const around = [...parents, node]
    for (const value of Object.values(node)) {
      if (isSyntax(value)) walk(value, around, inside)
      else if (Array.isArray(value)) for (const one of value) if (isSyntax(one)) walk(one, around, inside)
    }
  }
  walk(root, [], false)
}

const nameOf = (node: unknown): string | undefined => (isSyntax(node) && node.type === "Identifier" ? String(node["name"]) : undefined)

/** `S.Paid` is Paid. */
const memberOf = (node: unknown, object: string): string | undefined =>
  isSyntax(node) && node.type === "MemberExpression" && nameOf(node["object"]) === object ? nameOf(node["property"]) : undefined

const keyOf = (node: Syntax): string | undefined => (node.type === "Property" ? nameOf(node["key"]) : undefined)

const calleeOf = (node: Syntax): string | undefined => {
  const callee = node["callee"]
  return node.type === "CallExpression" && isSyntax(callee) && callee.type === "MemberExpression" ? nameOf(callee["property"]) : undefined
}

const argumentsOf = (node: Syntax): ReadonlyArray<Syntax> => (Array.isArray(node["arguments"]) ? node["arguments"].filter(isSyntax) : [])

/** Options of a declaration that name things, and no behaviour. */
const names = new Set(["guardName", "requests", "name", "fallThrough", "idle", "state", "event", "effects", "initial"])

const isName = (parents: ReadonlyArray<Syntax>): boolean =>
  parents.some(
    (parent) =>
      names.has(keyOf(parent) ?? "") && !parents.some((other) => other.type === "ArrowFunctionExpression" && other.start < parent.start),
  )

const isDecision = (parents: ReadonlyArray<Syntax>): boolean => parents.some(({ type }) => type === "ArrowFunctionExpression")

const applied = (source: string, { about, edits }: Edit): Mutant => {
  const ordered = [...edits].sort((one, other) => other.start - one.start)
  const line = source.slice(0, ordered.at(-1)?.start ?? 0).split("\n").length
  const text = ordered.reduce((whole, { start, end, text }) => whole.slice(0, start) + text + whole.slice(end), source)
  return { about: `${about} (line ${line})`, text: text.slice(1, -1) }
}

const flipped: Readonly<Record<string, ReadonlyArray<string>>> = {
  ">": [">=", "<"],
  ">=": [">", "<"],
  "<": ["<=", ">"],
  "<=": ["<", ">"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["+"],
}

const durations = /^\d+ (minute|hour|day)s?$/

/** Mutants that may break the machine. */
export const mutantsOf = (text: string): ReadonlyArray<Mutant> => {
  const { source, root } = parsed(text)
  const found: Array<Edit> = []
  const cut = (node: Syntax) => source.slice(node.start, node.end)
  const replace = (about: string, node: Syntax, by: string) =>
    found.push({ about, edits: [{ start: node.start, end: node.end, text: by }] })
  const states = [...new Set([...source.matchAll(/S\.([A-Z]\w+)\(/g)].map(([, name]) => name as string))]
  visit(root, (node, parents) => {
    if (isName(parents) || names.has(keyOf(node) ?? "")) return
    const value = node["value"]
    if (keyOf(node) === "guard" && isSyntax(value)) {
      replace("guard negated", value, `(context) => !(${cut(value)})(context)`)
      replace("guard always true", value, "() => true")
      replace("guard always false", value, "() => false")
    } else if (
      node.type === "Property" &&
      isSyntax(value) &&
      isDecision(parents) &&
      keyOf(node) !== "guard" &&
      parents.at(-1)?.type === "ObjectExpression"
    ) {
      const other = `((v) => (typeof v === "number" ? v + 1 : typeof v === "string" ? v + "!" : v))(${cut(value)})`
      replace(`field ${keyOf(node)} changed`, value, other)
    }
    if (node.type === "BinaryExpression") {
      const [left, right] = [node["left"], node["right"]]
      if (isSyntax(left) && isSyntax(right))
        for (const operator of flipped[String(node["operator"])] ?? [])
          replace(`${String(node["operator"])} is ${operator}`, node, `(${cut(left)} ${operator} ${cut(right)})`)
    }
    if (node.type === "LogicalExpression") {
      const [left, right] = [node["left"], node["right"]]
      if (isSyntax(left) && isSyntax(right))
        replace("&& and || swapped", node, `(${cut(left)} ${node["operator"] === "&&" ? "||" : "&&"} ${cut(right)})`)
    }
    if (node.type === "ConditionalExpression") {
      const [one, other] = [node["consequent"], node["alternate"]]
      if (isSyntax(one) && isSyntax(other)) {
        found.push({
          about: "branches swapped",
          edits: [
            { start: one.start, end: one.end, text: cut(other) },
            { start: other.start, end: other.end, text: cut(one) },
          ],
        })
      }
    }
    if (node.type === "Literal" && typeof node["value"] === "number") {
      replace("number one more", node, String(node["value"] + 1))
      replace("number doubled", node, String(node["value"] * 2 + 3))
    }
    if (node.type === "Literal" && typeof node["value"] === "string") {
      const literal = node["value"]
      if (durations.test(literal)) {
        replace("timer longer", node, JSON.stringify(literal.replace(/^\d+/, (count) => String(Number(count) * 3))))
        replace("timer shorter", node, JSON.stringify("1 minute"))
      } else if (isDecision(parents)) replace("text changed", node, JSON.stringify(`${literal}!`))
    }
    if (node.type === "CallExpression") {
      const callee = node["callee"]
      if (isSyntax(callee) && memberOf(callee, "effects") !== undefined) {
        replace("effect not requested", node, "undefined")
        replace("effect requested twice", node, `(${cut(node)}, ${cut(node)})`)
      }
      if (isSyntax(callee) && memberOf(callee, "self") !== undefined) replace("event not raised", node, "undefined")
      if (nameOf(callee) === "after") replace("delayed event not set", node, "undefined")
      if (nameOf(callee) === "cancel") replace("delayed event not cancelled", node, "undefined")
      const name = calleeOf(node)
      const given = argumentsOf(node)
      const target = name === "on" || name === "always" || name === "timeout" ? given[2] : undefined
      const decision = given[3]
      const to = target === undefined ? undefined : memberOf(target, "S")
      if (target !== undefined && to !== undefined && decision?.type === "ArrowFunctionExpression") {
        for (const other of states.filter((state) => state !== to)) {
          const inside = [...cut(decision).matchAll(new RegExp(`\\bS\\.${to}\\b`, "g"))].map(({ index }) => decision.start + index)
          const edits = [target.start, ...inside].map((start) => ({ start, end: start + 2 + to.length, text: `S.${other}` }))
          found.push({ about: `target ${to} is ${other}`, edits })
        }
      }
    }
  })
  return found.map((edit) => applied(source, edit))
}

/** The same machine in other words: what the oracle must not report. */
export const rewordingsOf = (text: string): ReadonlyArray<Mutant> => {
  const { source, root } = parsed(text)
  const found: Array<Edit> = []
  const cut = (node: Syntax) => source.slice(node.start, node.end)
  const replace = (about: string, node: Syntax, by: string) =>
    found.push({ about, edits: [{ start: node.start, end: node.end, text: by }] })
  const mirrored: Readonly<Record<string, string>> = { ">": "<", ">=": "<=", "<": ">", "<=": ">=", "===": "===", "+": "+", "*": "*" }
  visit(root, (node, parents) => {
    if (isName(parents) || names.has(keyOf(node) ?? "")) return
    const value = node["value"]
    if (keyOf(node) === "guard" && isSyntax(value)) {
      replace("guard negated twice", value, `(context) => !!(${cut(value)})(context)`)
      replace(
        "guard by a function",
        value,
        `((holds) => (context) => holds({ ...context, state: context.state, event: context.event }))(${cut(value)})`,
      )
    } else if (node.type === "Property" && isSyntax(value) && isDecision(parents) && parents.at(-1)?.type === "ObjectExpression") {
      replace("field by a function", value, `((v) => v)(${cut(value)})`)
    }
    const [left, right] = [node["left"], node["right"]]
    if (node.type === "BinaryExpression" && isSyntax(left) && isSyntax(right)) {
      const operator = mirrored[String(node["operator"])]
      if (operator !== undefined) replace("sides swapped", node, `(${cut(right)} ${operator} ${cut(left)})`)
      else replace("subtraction of a sum", node, `(${cut(left)} - (${cut(right)} + 0))`)
    }
    if (node.type === "LogicalExpression" && isSyntax(left) && isSyntax(right)) {
      const other = node["operator"] === "&&" ? "||" : "&&"
      replace("De Morgan", node, `!(!(${cut(left)}) ${other} !(${cut(right)}))`)
    }
    const [test, one, other] = [node["test"], node["consequent"], node["alternate"]]
    if (node.type === "ConditionalExpression" && isSyntax(test) && isSyntax(one) && isSyntax(other))
      replace("condition negated", node, `(!(${cut(test)}) ? ${cut(other)} : ${cut(one)})`)
    if (node.type === "Literal" && typeof node["value"] === "string" && durations.test(node["value"])) {
      const [, count, unit] = /^(\d+) (minute|hour|day)/.exec(node["value"]) ?? []
      const millis = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }[unit ?? ""] ?? 1
      replace("duration in milliseconds", node, String(Number(count) * millis))
    }
  })
  // New states, events and transitions that no instance has met.
  const extended = [
    ["a state is new", /(const S = State\(\{)/, "$1 Extra: { note: Schema.String },"],
    ["an event is new", /(const E = Event\(\{)/, "$1 Extra: {},"],
    ["an effect is new", /(Slot\.Effects\(\{)/, "$1 extra: { note: Schema.String },"],
  ] as const
  const reworded = extended.map(([about, pattern, by]) => ({ about, text: source.replace(pattern, by).slice(1, -1) }))
  return [{ about: "unchanged", text }, ...reworded, ...found.map((edit) => applied(source, edit))]
}
