/** Finds the regular expressions of a source: literals, and `RegExp(...)` whose pattern consists of constants of the same file. */
import { parseAst } from "rolldown/parseAst"

export interface Pattern {
  readonly file: string
  readonly line: number
  /** As it stands in the source. */
  readonly text: string
  /** Undefined where it is computed. */
  readonly pattern: { readonly source: string; readonly flags: string } | undefined
}

/** A node of a syntax tree, with the fields of the types that are read here. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly name?: string
  readonly value?: unknown
  readonly regex?: { readonly pattern: string; readonly flags: string } | null
  readonly id?: Node
  readonly init?: Node | null
  readonly callee?: Node
  readonly arguments?: ReadonlyArray<Node>
  readonly object?: Node
  readonly property?: Node
  readonly elements?: ReadonlyArray<Node>
  readonly left?: Node
  readonly right?: Node
  readonly quasi?: Node
  readonly quasis?: ReadonlyArray<{ readonly value: Readonly<Record<"cooked" | "raw", string>> }>
  readonly expressions?: ReadonlyArray<Node>
}

type Constants = ReadonlyMap<string, Node>

export const patternsOf = (file: string, source: string): ReadonlyArray<Pattern> => {
  const nodes = nodesIn(parseAst(source, { lang: file.endsWith("x") ? "tsx" : "ts" }, file))
  const constants: Constants = new Map(
    nodes.flatMap(({ type, id, init }) => (type === "VariableDeclarator" && id?.name !== undefined && init ? [[id.name, init]] : [])),
  )
  return nodes.flatMap((node): ReadonlyArray<Pattern> => {
    const pattern = patternOf(node, constants)
    if (pattern === undefined) return []
    const line = source.slice(0, node.start).split("\n").length
    return [{ file, line, text: source.slice(node.start, node.end), pattern: pattern === "computed" ? undefined : pattern }]
  })
}

/** Undefined if the node is no regular expression. */
const patternOf = (node: Node, constants: Constants): Pattern["pattern"] | "computed" => {
  if (node.regex) return { source: node.regex.pattern, flags: node.regex.flags }
  if ((node.type !== "NewExpression" && node.type !== "CallExpression") || node.callee?.name !== "RegExp") return undefined
  const [pattern, letters] = node.arguments ?? []
  const source = textOf(pattern, constants)
  const flags = letters === undefined ? "" : textOf(letters, constants)
  return source === undefined || flags === undefined ? "computed" : { source, flags }
}

/** The text that an expression always has. */
const textOf = (node: Node | undefined, constants: Constants): string | undefined => {
  if (node === undefined) return undefined
  switch (node.type) {
    case "Literal":
      return typeof node.value === "string" ? node.value : node.regex?.pattern
    case "TemplateLiteral":
      return templateText(node, constants, "cooked")
    case "TaggedTemplateExpression":
      return node.quasi === undefined ? undefined : templateText(node.quasi, constants, "raw")
    case "BinaryExpression":
      return allTexts([node.left, node.right], constants)?.join("")
    case "Identifier":
      return textOf(constants.get(node.name ?? ""), constants)
    case "MemberExpression":
      return node.property?.name === "source" ? textOf(node.object, constants) : undefined
    case "CallExpression":
      return joinedText(node, constants)
    default:
      return undefined
  }
}

const templateText = ({ quasis = [], expressions = [] }: Node, constants: Constants, form: "cooked" | "raw"): string | undefined => {
  const texts = allTexts(expressions, constants)
  return texts === undefined ? undefined : quasis.map(({ value }, index) => value[form] + (texts[index] ?? "")).join("")
}

/** The text of `["a", "b"].join("|")`. */
const joinedText = ({ callee, arguments: [separator] = [] }: Node, constants: Constants): string | undefined => {
  if (callee?.property?.name !== "join" || callee.object?.elements === undefined) return undefined
  const between = textOf(separator, constants)
  return between === undefined ? undefined : allTexts(callee.object.elements, constants)?.join(between)
}

const allTexts = (nodes: ReadonlyArray<Node | undefined>, constants: Constants): ReadonlyArray<string> | undefined => {
  const texts = nodes.map((node) => textOf(node, constants))
  return texts.every((text) => text !== undefined) ? texts : undefined
}

/** The nodes of a syntax tree, in the order of the source. */
const nodesIn = (value: unknown): ReadonlyArray<Node> => {
  const nodes: Array<Node> = []
  const visit = (part: unknown) => {
    if (Array.isArray(part)) for (const one of part) visit(one)
    else if (typeof part === "object" && part !== null && !(part instanceof RegExp)) {
      if ("type" in part) nodes.push(part as Node)
      for (const one of Object.values(part)) visit(one)
    }
  }
  visit(value)
  return nodes
}
