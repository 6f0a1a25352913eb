/**
 * The positions of everything in an SVG. ELK's layered algorithm places the boxes, bends the edges around them and reserves
 * room for the labels; it needs the size of each of them, which is computed here.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api.js"
import type { Box, Edge, Group, Item, Line, Scene, StopMarker } from "./Scene.ts"
import { startKey } from "./Scene.ts"
import { type Area, type PlacedEdge, tidy } from "./SvgRoute.ts"
import { textWidth } from "./TextWidth.ts"

export type { Area, PlacedEdge, Point } from "./SvgRoute.ts"

/** A diagram could not be laid out. */
export class DiagramError extends Schema.TaggedError<DiagramError>()("DiagramError", {
  problem: Schema.String,
  nextStep: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

export interface SvgLayout {
  readonly width: number
  readonly height: number
  readonly boxes: ReadonlyArray<{ readonly box: Box; readonly area: Area }>
  /** Outer groups before the ones inside them. */
  readonly groups: ReadonlyArray<{ readonly group: Group; readonly area: Area }>
  readonly stops: ReadonlyArray<{ readonly stop: StopMarker; readonly area: Area }>
  readonly start: Area | undefined
  readonly edges: ReadonlyArray<PlacedEdge>
}

/** Sizes in pixels. Layout and drawing use the same numbers. */
export const size = {
  title: 13,
  text: 11,
  /** From one line of text to the next. */
  line: 17,
  titleBar: 30,
  padding: 12,
  icon: 16,
  /** Room above and below the line between two compartments. */
  gap: 6,
  start: 14,
  stop: 22,
}

/** The lines of a box in compartments: fields, transitions that keep the state, hooks with their commands, running work. */
export const compartments = (box: Box): ReadonlyArray<ReadonlyArray<Line>> => {
  const kinds: ReadonlyArray<ReadonlyArray<Line["kind"]>> = [
    ["Meta"],
    ["Field"],
    ["Update", "Stay", "Postpone"],
    ["Action", "Request"],
    ["Work"],
  ]
  return kinds.map((some) => box.ownLines.filter((line) => some.includes(line.kind))).filter((lines) => lines.length > 0)
}

/** A long label takes one line for each of its parts. */
export const labelLines = (edge: Edge): ReadonlyArray<string> =>
  edge.label.join(" ").length > 24 ? edge.label : edge.label.length === 0 ? [] : [edge.label.join(" ")]

const lineWidth = (line: Line): number => textWidth(line.text, size.text, line.taken ? "bold" : "normal") + size.icon

/** The title of a group with its lines. */
export const titleSize = (group: Group) => ({
  width: Math.ceil(Math.max(textWidth(group.name, size.title, "bold"), ...group.lines.map(lineWidth)) + 4),
  height: 20 + group.lines.length * size.line,
})

const boxSize = (box: Box) => {
  const parts = compartments(box)
  const widths = box.ownLines.map(lineWidth)
  return {
    width: Math.ceil(Math.max(64, textWidth(box.name, size.title, "bold"), ...widths) + 2 * size.padding),
    height: size.titleBar + 2 + parts.reduce((sum, lines) => sum + lines.length * size.line + 2 * size.gap, 0),
  }
}

/** The node is the circle alone, so that edges end at it; the reason is a label below. */
const stopNode = (stop: StopMarker): ElkNode => ({
  id: stop.key,
  width: size.stop,
  height: size.stop,
  labels: [{ text: stop.reason, width: Math.ceil(textWidth(stop.reason, size.text, stop.reached ? "bold" : "normal")), height: size.line }],
  layoutOptions: { "elk.nodeLabels.placement": "OUTSIDE V_BOTTOM H_CENTER" },
})

const labelSize = (edge: Edge) => {
  const lines = labelLines(edge)
  const weight = edge.taken ? "bold" : "normal"
  return {
    width: Math.ceil(Math.max(...lines.map((line) => textWidth(line, size.text, weight))) + 8),
    height: lines.length * 14 + 4,
  }
}

/** Repeated for every group: to ELK a group is a graph of its own, which inherits none of these options. */
const spacing = {
  "elk.spacing.nodeNode": "36",
  "elk.spacing.edgeNode": "20",
  "elk.spacing.edgeEdge": "14",
  "elk.spacing.edgeLabel": "4",
  "elk.spacing.componentComponent": "40",
  "elk.spacing.nodeSelfLoop": "24",
  "elk.layered.spacing.nodeNodeBetweenLayers": "28",
  "elk.layered.spacing.edgeNodeBetweenLayers": "20",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "12",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.layered.thoroughness": "20",
}

const itemNode = (item: Item): ElkNode =>
  item._tag === "Box"
    ? { id: item.key, ...boxSize(item) }
    : {
        id: item.key,
        children: item.items.map(itemNode),
        layoutOptions: {
          ...spacing,
          "elk.padding": `[top=${titleSize(item).height + 18},left=22,bottom=20,right=22]`,
          "elk.nodeSize.constraints": "MINIMUM_SIZE",
          "elk.nodeSize.minimum": `(${titleSize(item).width + 2 * size.padding},${titleSize(item).height + 40})`,
        },
      }

const graphOf = (scene: Scene, direction: "down" | "right"): ElkNode => ({
  id: "root",
  layoutOptions: {
    "elk.algorithm": "layered",
    "elk.direction": direction === "down" ? "DOWN" : "RIGHT",
    "elk.hierarchyHandling": "INCLUDE_CHILDREN",
    "elk.edgeRouting": "ORTHOGONAL",
    "elk.json.edgeCoords": "ROOT",
    "elk.json.shapeCoords": "ROOT",
    "elk.padding": "[top=20,left=20,bottom=20,right=20]",
    ...spacing,
    "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
    "elk.layered.cycleBreaking.strategy": "MODEL_ORDER",
    "elk.randomSeed": "1",
  },
  children: [
    ...(scene.edges.some((edge) => edge.kind === "Initial") ? [{ id: startKey, width: size.start, height: size.start }] : []),
    // Before the states, since its edges lead to them.
    ...(scene.any === undefined ? [] : [{ id: scene.any.key, ...boxSize(scene.any) }]),
    ...scene.items.map(itemNode),
    ...scene.stops.map(stopNode),
  ],
  edges: scene.edges.map(
    (edge, index): ElkExtendedEdge => ({
      id: `edge:${index}`,
      sources: [edge.from],
      targets: [edge.to],
      // Inside groups ELK cannot use the order of declaration, but reverses edges without priority first.
      layoutOptions: { "elk.layered.priority.direction": leadsBack(scene, edge) ? "0" : "10" },
      labels:
        edge.label.length === 0
          ? []
          : [{ text: edge.label.join(" "), ...labelSize(edge), layoutOptions: { "elk.edgeLabels.inline": "true" } }],
    }),
  ),
})

const leadsBack = (scene: Scene, edge: Edge): boolean => {
  const order = scene.items.flatMap(keysIn)
  return order.includes(edge.to) && order.indexOf(edge.to) <= order.indexOf(edge.from)
}

const keysIn = (item: Item): ReadonlyArray<string> => (item._tag === "Box" ? [item.key] : [item.key, ...item.items.flatMap(keysIn)])

// Loaded when the first picture is drawn: the other diagrams do not need it.
const loadElk = Effect.tryPromise({
  try: () => import("elkjs/lib/elk.bundled.js"),
  catch: (cause) => new DiagramError({ problem: "the layout engine elkjs is not installed", nextStep: "run `npm install elkjs`", cause }),
})

export type Direction = "down" | "right"

/** Computes the positions of a scene. Scene and positions are plain data, so that another process can do it. */
export type Placing<E> = (scene: Scene, direction: Direction) => Effect.Effect<SvgLayout, E>

export const layout: Placing<DiagramError> = Effect.fnUntraced(function* (scene: Scene, direction: Direction) {
  const elk = yield* loadElk
  const root = yield* Effect.tryPromise({
    try: () => new elk.default.default().layout(graphOf(scene, direction)),
    catch: (cause) =>
      new DiagramError({
        problem: `${scene.title} could not be laid out`,
        nextStep: "draw it with Dot.structure or Mermaid.stateDiagram instead",
        cause,
      }),
  })
  return placed(scene, root)
})

const placed = (scene: Scene, root: ElkNode): SvgLayout => {
  const areas = new Map<string, Area>()
  const collect = (node: ElkNode): void => {
    areas.set(node.id, areaOf(node))
    for (const child of node.children ?? []) collect(child)
  }
  collect(root)
  const area = (key: string): Area => areas.get(key) ?? areaOf({})
  const loops = scene.edges.filter((edge) => edge.from === edge.to)
  const edges = new Map((root.edges ?? []).map((edge) => [edge.id, edge]))
  return {
    width: area(root.id).width,
    height: area(root.id).height,
    boxes: [...scene.boxes, ...(scene.any === undefined ? [] : [scene.any])].map((box) => ({ box, area: area(box.key) })),
    groups: scene.groups.map((group) => ({ group, area: area(group.key) })),
    stops: scene.stops.map((stop) => ({ stop, area: area(stop.key) })),
    start: areas.get(startKey),
    edges: scene.edges.map((edge, index) => {
      const found = edges.get(`edge:${index}`)
      const label = found?.labels?.[0]
      const points = (found?.sections ?? []).flatMap((section) => [section.startPoint, ...(section.bendPoints ?? []), section.endPoint])
      return tidy({ edge, points, label: label === undefined ? undefined : areaOf(label) }, area, loops)
    }),
  }
}

const areaOf = (shape: { x?: number; y?: number; width?: number; height?: number }): Area => ({
  x: shape.x ?? 0,
  y: shape.y ?? 0,
  width: shape.width ?? 0,
  height: shape.height ?? 0,
})
