/** The pieces of an SVG: boxes with their compartments, groups, edges with their labels, and markers. */
import * as Escape from "./Escape.ts"
import { isGroupKey } from "./Keys.ts"
import type { Box, Edge, Group, Line, StopMarker } from "./Scene.ts"
import { anyKey } from "./Scene.ts"
import { arrowHead, element, label, rectangle, route, towards } from "./SvgElement.ts"
import { icon } from "./SvgIcon.ts"
import { type Area, compartments, labelLines, type PlacedEdge, type Point, size, titleSize } from "./SvgLayout.ts"
import type { Theme } from "./Theme.ts"

const middleOf = (area: Area): Point => ({ x: area.x + area.width / 2, y: area.y + area.height / 2 })

// From the middle of a line of text down to its baseline.
const baseline = (fontSize: number): number => fontSize * 0.36

export const drawStart = (area: Area, theme: Theme): string => {
  const { x, y } = middleOf(area)
  return element("circle", { cx: x, cy: y, r: area.width / 2, fill: theme.text })
}

/** The border of a region is dashed. */
export const drawGroup = ({ region }: Group, area: Area, theme: Theme): string =>
  rectangle(area, { rx: 10, fill: theme.groupFill, stroke: theme.groupLine, "stroke-dasharray": region ? "5 4" : undefined })

/** The title of a group with its lines, at the first place along its top that no edge runs through, else at the left over the edges. */
export const drawGroupTitle = (group: Group, area: Area, edges: ReadonlyArray<PlacedEdge>, theme: Theme): ReadonlyArray<string> => {
  const patch = { x: area.x + size.padding, y: area.y + 6, ...titleSize(group) }
  const last = area.x + area.width - size.padding / 2 - patch.width
  let place = patch
  while (place.x <= last && edges.some(({ points }) => runsThrough(points, place))) place = { ...place, x: place.x + 2 }
  if (place.x > last) place = patch
  const colours = groupColours(theme)
  return [
    rectangle(place, { fill: theme.groupFill }),
    label({ x: place.x + 2, y: place.y + 10 + baseline(size.title) }, group.name, {
      fill: theme.faint,
      "font-size": size.title,
      "font-weight": "bold",
    }),
    ...group.lines.flatMap((line, index) => drawBoxLine(line, { x: place.x + 2, y: place.y + 20 + size.line * (index + 0.5) }, colours)),
  ]
}

// Lines are horizontal or vertical, so a line meets an area where their extents do.
const runsThrough = (points: ReadonlyArray<Point>, area: Area): boolean =>
  points.some((from, index) => {
    const to = points[index + 1] ?? from
    return (
      Math.max(from.x, to.x) > area.x - 4 &&
      Math.min(from.x, to.x) < area.x + area.width + 4 &&
      Math.max(from.y, to.y) > area.y &&
      Math.min(from.y, to.y) < area.y + area.height
    )
  })

export const drawBox = (box: Box, area: Area, theme: Theme): ReadonlyArray<string> => {
  const colours = boxColours(box, theme)
  const any = box.key === anyKey
  const parts = compartments(box)
  const border = { stroke: colours.line, "stroke-width": box.mark === undefined ? 1.2 : 1.8 }
  const middle = middleOf(area)
  const titleAt = { x: middle.x, y: (parts.length === 0 ? middle.y : area.y + size.titleBar / 2) + baseline(size.title) }
  return [
    rectangle(area, { rx: 8, fill: colours.fill, ...border, "stroke-dasharray": any ? "5 3" : undefined }),
    ...(box.final
      ? [rectangle(inset(area, 3), { rx: 5.5, fill: "none", stroke: box.mark === "current" ? colours.rule : colours.line })]
      : []),
    label(titleAt, box.name, {
      fill: colours.text,
      "font-size": size.title,
      "font-weight": any ? undefined : "bold",
      "font-style": any ? "italic" : undefined,
      "text-anchor": "middle",
    }),
    ...drawCompartments(parts, area, colours, box.final ? 3 : 0),
  ]
}

const inset = (area: Area, by: number): Area => ({
  x: area.x + by,
  y: area.y + by,
  width: area.width - 2 * by,
  height: area.height - 2 * by,
})

interface BoxColours {
  readonly fill: string
  readonly line: string
  readonly rule: string
  readonly text: string
  readonly faint: string
  readonly taken: string
}

const boxColours = (box: Box, theme: Theme): BoxColours => {
  const { text, faint, taken } = theme
  if (box.mark === "current") {
    const on = theme.currentText
    return { fill: theme.currentFill, line: theme.currentFill, rule: on, text: on, faint: on, taken: on }
  }
  if (box.mark === "visited") return { fill: theme.visitedFill, line: taken, rule: taken, text, faint, taken }
  if (box.failure) return { fill: theme.stopFill, line: theme.stop, rule: theme.stop, text: theme.stop, faint, taken }
  return { fill: theme.boxFill, line: theme.boxLine, rule: theme.groupLine, text, faint, taken }
}

const groupColours = (theme: Theme): BoxColours => ({
  fill: theme.groupFill,
  line: theme.groupLine,
  rule: theme.groupLine,
  text: theme.text,
  faint: theme.faint,
  taken: theme.taken,
})

const drawCompartments = (
  parts: ReadonlyArray<ReadonlyArray<Line>>,
  area: Area,
  colours: BoxColours,
  border: number,
): ReadonlyArray<string> => {
  const shapes: Array<string> = []
  let y = area.y + size.titleBar
  for (const lines of parts) {
    const rule = { x1: area.x + border, y1: y, x2: area.x + area.width - border, y2: y }
    shapes.push(element("line", { ...rule, stroke: colours.rule, "stroke-opacity": 0.6 }))
    y += size.gap
    for (const line of lines) {
      shapes.push(...drawBoxLine(line, { x: area.x + size.padding, y: y + size.line / 2 }, colours))
      y += size.line
    }
    y += size.gap
  }
  return shapes
}

/** Fields, tags and descriptions have no icon. */
const isPlain = ({ kind }: Line): boolean => kind === "Field" || kind === "Meta"

const drawBoxLine = (line: Line, { x, y }: Point, colours: BoxColours): ReadonlyArray<string> => {
  const colour = line.taken ? colours.taken : isPlain(line) ? colours.faint : colours.text
  return [
    ...icon(line.kind, { x: x + 5, y }, line.taken ? colours.taken : colours.faint),
    label({ x: isPlain(line) ? x : x + size.icon, y: y + baseline(size.text) }, line.text, {
      fill: colour,
      "font-weight": line.taken ? "bold" : undefined,
    }),
  ]
}

/** A circle with a cross, unlike any state: nothing follows it. */
export const drawStop = (stop: StopMarker, area: Area, theme: Theme): ReadonlyArray<string> => {
  const radius = size.stop / 2
  const middle = middleOf(area)
  const arm = radius * 0.62
  const stroke = { stroke: theme.stop, "stroke-width": stop.reached ? 2.6 : 1.6 }
  return [
    element("circle", { cx: middle.x, cy: middle.y, r: radius - 1.5, fill: theme.stopFill, ...stroke }),
    element("line", { x1: middle.x - arm, y1: middle.y - arm, x2: middle.x + arm, y2: middle.y + arm, ...stroke }),
    element("line", { x1: middle.x - arm, y1: middle.y + arm, x2: middle.x + arm, y2: middle.y - arm, ...stroke }),
    label({ x: middle.x, y: area.y + size.stop + size.line / 2 + 3 + baseline(size.text) }, stop.reason, {
      fill: theme.stop,
      "font-weight": stop.reached ? "bold" : undefined,
      "text-anchor": "middle",
    }),
  ]
}

const edgeColour = (edge: Edge, theme: Theme): string => (edge.taken ? theme.taken : edge.kind === "Timeout" ? theme.timeout : theme.line)

export const drawLine = ({ edge, points }: PlacedEdge, theme: Theme): ReadonlyArray<string> => {
  const tip = points.at(-1)
  const before = points.at(-2)
  if (tip === undefined || before === undefined) return []
  const colour = edgeColour(edge, theme)
  // The line ends inside the head, or its square end would blunt the tip.
  const shortened = [...points.slice(0, -1), towards(tip, before, 5)]
  const path = element("path", {
    d: route(shortened, 7),
    fill: "none",
    stroke: colour,
    "stroke-width": edge.taken || edge.kind === "Always" ? 2.2 : 1.3,
    "stroke-dasharray": edge.kind === "Timeout" ? "6 4" : undefined,
  })
  // A dot tells an edge that starts at the border of a group from one that only crosses it.
  const dots = isGroupKey(edge.from) ? points.slice(0, 1).map(({ x, y }) => element("circle", { cx: x, cy: y, r: 3, fill: colour })) : []
  const shapes = [path, ...dots, arrowHead(before, tip, colour)]
  return edge.description === undefined
    ? shapes
    : [element("g", {}, [element("title", {}, [Escape.xml(Escape.cut(edge.description, 200))]), ...shapes])]
}

/** The text of an edge on its line, on a patch in the colour of the background. */
export const drawLabel = ({ edge, label: area }: PlacedEdge, groups: ReadonlyArray<Area>, theme: Theme): ReadonlyArray<string> => {
  if (area === undefined) return []
  const middle = middleOf(area)
  const behind = groups.some((group) => contains(group, middle)) ? theme.groupFill : theme.background
  const colour = edge.taken ? theme.taken : edge.kind === "Timeout" ? theme.timeout : theme.text
  return [
    rectangle(area, { fill: behind }),
    ...labelLines(edge).map((text, index) =>
      label({ x: middle.x, y: area.y + 2 + 14 * index + 7 + baseline(size.text) }, text, {
        fill: index < Math.max(1, edge.causes) || edge.taken ? colour : theme.faint,
        "font-weight": edge.taken ? "bold" : undefined,
        "text-anchor": "middle",
      }),
    ),
  ]
}

const contains = (area: Area, point: Point): boolean =>
  point.x >= area.x && point.x <= area.x + area.width && point.y >= area.y && point.y <= area.y + area.height
