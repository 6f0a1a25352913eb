/** An SCXML document as states with their transitions, before it becomes a machine. */
import { type Element, elementsOf } from "./xml.ts"

export interface Arc {
  readonly source: Vertex
  /** Event descriptors; undefined for a transition without an event. */
  readonly events: ReadonlyArray<string> | undefined
  readonly condition: string | undefined
  readonly target: string | undefined
  readonly isInternal: boolean
  readonly content: ReadonlyArray<Element>
}

export interface Vertex {
  readonly id: string
  readonly element: Element
  readonly isFinal: boolean
  readonly parent: Vertex | undefined
  readonly children: ReadonlyArray<Vertex>
  readonly arcs: ReadonlyArray<Arc>
}

export interface HistoryVertex {
  readonly parent: Vertex
  readonly isDeep: boolean
  readonly fallback: Arc
}

export interface Chart {
  readonly root: Vertex
  readonly vertices: ReadonlyMap<string, Vertex>
  readonly histories: ReadonlyMap<string, HistoryVertex>
}

type Draft = { -readonly [K in keyof Vertex]: Vertex[K] }

export const chartOf = (document: Element): Chart => {
  const vertices = new Map<string, Vertex>()
  const histories = new Map<string, HistoryVertex>()
  let unnamed = 0
  const arcOf = (source: Vertex, { attributes, ...element }: Element): Arc => ({
    source,
    events: attributes.event?.trim().split(/\s+/),
    condition: attributes.cond,
    target: attributes.target?.trim(),
    isInternal: attributes.type === "internal",
    content: elementsOf({ attributes, ...element }),
  })
  const vertexOf = (element: Element, parent: Vertex | undefined): Vertex => {
    const vertex: Draft = {
      // Names of states, and of groups, must differ from those of every union.
      id: element.attributes.id ?? `unnamed ${++unnamed}`,
      element,
      isFinal: element.name === "final",
      parent,
      children: [],
      arcs: [],
    }
    if (parent !== undefined) vertices.set(vertex.id, vertex)
    vertex.children = elementsOf(element, "state", "final").map((child) => vertexOf(child, vertex))
    vertex.arcs = elementsOf(element, "transition").map((one) => arcOf(vertex, one))
    for (const one of elementsOf(element, "history")) {
      const fallback = elementsOf(one, "transition").map((transition) => arcOf(vertex, transition))[0]
      if (fallback !== undefined)
        histories.set(one.attributes.id ?? "", { parent: vertex, isDeep: one.attributes.type === "deep", fallback })
    }
    return vertex
  }
  return { root: vertexOf(document, undefined), vertices, histories }
}

/** Where a compound state is entered: the transition of its `initial`, or its first child. */
export const initialOf = ({ element, children }: Vertex): { readonly target: string; readonly content: ReadonlyArray<Element> } => {
  const transition = elementsOf(element, "initial").flatMap((one) => elementsOf(one, "transition"))[0]
  const target = transition?.attributes.target ?? element.attributes.initial ?? children[0]?.id ?? ""
  return { target: target.trim(), content: transition === undefined ? [] : elementsOf(transition) }
}

/** The state that a compound state is entered at, also where its `initial` names a history that there is none of. */
export const firstInside = ({ vertices, histories }: Chart, vertex: Vertex): Vertex | undefined => {
  const { target } = initialOf(vertex)
  return vertices.get(target) ?? vertices.get(histories.get(target)?.fallback.target ?? "") ?? vertex.children[0]
}

/** The atomic state that is entered by default, and the content of the transitions on the way, by the state they start in. */
export const defaultLeaf = (chart: Chart, vertex: Vertex) => {
  const entering = new Map<Vertex, ReadonlyArray<Element>>()
  let leaf = vertex
  while (leaf.children.length > 0) {
    const { target, content } = initialOf(leaf)
    entering.set(leaf, [...content, ...(chart.histories.get(target)?.fallback.content ?? [])])
    const next = firstInside(chart, leaf)
    if (next === undefined) break
    leaf = next
  }
  return { leaf, entering }
}

export const isInside = (vertex: Vertex, outer: Vertex): boolean =>
  vertex.parent !== undefined && (vertex.parent === outer || isInside(vertex.parent, outer))
