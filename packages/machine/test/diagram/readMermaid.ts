/**
 * Reads diagrams with Mermaid's own parsers. They ask DOMPurify to clean the labels, which does nothing without a
 * browser; leaving the labels as they are is all the parsers need, and shows what a viewer would be given.
 */
import DOMPurify from "dompurify"
import mermaid from "mermaid"

Object.assign(DOMPurify, { addHook: () => undefined, sanitize: (text: string) => text })

export interface ReadDiagram {
  /** Labels by identifier. The lines of a node are apart. */
  readonly nodes: ReadonlyMap<string, ReadonlyArray<string>>
  readonly groups: ReadonlyMap<string, ReadonlyArray<string>>
  readonly edges: ReadonlyArray<{ readonly from: string; readonly to: string; readonly label: string; readonly stroke?: string }>
  readonly classes: ReadonlyMap<string, ReadonlyArray<string>>
}

interface StateStatement {
  readonly stmt: string
  readonly id: string
  readonly description?: string
  readonly doc?: ReadonlyArray<StateStatement>
}

interface StateDatabase {
  readonly rootDoc: ReadonlyArray<StateStatement>
  readonly getStates: () => ReadonlyMap<string, { readonly classes: ReadonlyArray<string> }>
  readonly getRelations: () => ReadonlyArray<{ readonly id1: string; readonly id2: string; readonly relationTitle?: string }>
}

interface FlowDatabase {
  readonly getVertices: () => ReadonlyMap<string, { readonly text: string; readonly classes: ReadonlyArray<string> }>
  readonly getSubGraphs: () => ReadonlyArray<{ readonly id: string; readonly title: string; readonly nodes: ReadonlyArray<string> }>
  readonly getEdges: () => ReadonlyArray<{
    readonly start: string
    readonly end: string
    readonly text: string
    readonly stroke: string
  }>
}

interface SequenceDatabase {
  readonly getMessages: () => ReadonlyArray<{ readonly from: string; readonly to: string; readonly message: string }>
  readonly getActors: () => ReadonlyMap<string, { readonly description: string }>
}

// The first text it is given makes Mermaid load its kinds of diagram.
const ready = mermaid.parse("stateDiagram-v2")

/** What the parser made of the text. It fails where the text is not a diagram. */
const database = async (text: string): Promise<unknown> => {
  await ready
  return (await mermaid.mermaidAPI.getDiagramFromText(text)).db
}

const named: { readonly [name: string]: string } = { quot: '"', lt: "<", gt: ">", amp: "&" }

/** What Mermaid does with entity codes when it draws. */
const decode = (text: string): string =>
  text
    .replace(/ﬂ°°(\d+)¶ß/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replace(/ﬂ°(\w+)¶ß/g, (_, name: string) => named[name] ?? `&${name};`)

const linesOf = (text: string): ReadonlyArray<string> => text.split("<br/>").map(decode)

export const readState = async (text: string): Promise<ReadDiagram> => {
  const read = (await database(text)) as StateDatabase
  const nodes = new Map<string, Array<string>>()
  const groups = new Map<string, ReadonlyArray<string>>()
  const walk = (statements: ReadonlyArray<StateStatement>): void => {
    for (const { stmt, id, description, doc } of statements) {
      if (stmt !== "state" && stmt !== "default") continue
      if (doc === undefined) nodes.set(id, [...(nodes.get(id) ?? []), ...(description === undefined ? [] : [decode(description)])])
      else {
        groups.set(id, [...new Set(doc.map((inner) => inner.id))])
        walk(doc)
      }
    }
  }
  walk(read.rootDoc)
  return {
    nodes,
    groups,
    edges: read.getRelations().map((one) => ({ from: one.id1, to: one.id2, label: decode(one.relationTitle ?? "") })),
    classes: new Map(Array.from(read.getStates(), ([id, one]) => [id, one.classes])),
  }
}

export const readFlow = async (text: string): Promise<ReadDiagram> => {
  const read = (await database(text)) as FlowDatabase
  const groups = new Map(read.getSubGraphs().map((one) => [one.id, one.nodes]))
  // A subgraph with an edge of its own is also a vertex, which is not drawn.
  const vertices = [...read.getVertices()].filter(([id]) => !groups.has(id))
  return {
    nodes: new Map(vertices.map(([id, one]) => [id, linesOf(one.text)])),
    groups,
    edges: read.getEdges().map((one) => ({ from: one.start, to: one.end, label: linesOf(one.text).join(" "), stroke: one.stroke })),
    classes: new Map(vertices.map(([id, one]) => [id, one.classes])),
  }
}

export const readSequence = async (
  text: string,
): Promise<{ readonly actors: ReadonlyArray<string>; readonly messages: ReadonlyArray<string> }> => {
  const read = (await database(text)) as SequenceDatabase
  return {
    actors: Array.from(read.getActors().values(), (actor) => decode(actor.description)),
    messages: read.getMessages().map((one) => `${one.from}→${one.to} ${decode(one.message)}`),
  }
}
