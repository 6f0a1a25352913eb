/** Corrects the edges of the layout engine: small jogs are straightened, loops get room for their arrow head. */
import type { Edge } from "./Scene.ts"

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Area extends Point {
  readonly width: number
  readonly height: number
}

export interface PlacedEdge {
  readonly edge: Edge
  readonly points: ReadonlyArray<Point>
  readonly label: Area | undefined
}

/** The longest step aside that looks like a mistake rather than a corner. */
const jog = 4
/** Edges keep away from the rounded corners of a box. */
const corner = 10
/** Between the two ends of a loop: an arrow head is 8 wide. */
const opening = 20

export const tidy = (placed: PlacedEdge, areaOf: (key: string) => Area, loops: ReadonlyArray<Edge>): PlacedEdge => {
  const { edge } = placed
  if (edge.from !== edge.to) return straighten({ ...placed, points: upright(placed.points) }, areaOf(edge.from), areaOf(edge.to))
  // Several loops share the side of their box as the engine divided it.
  return loops.filter((other) => other.from === edge.from).length === 1 ? widen(placed, areaOf(edge.from)) : placed
}

/** Replaces slanted segments, which ELK makes where an edge crosses the border of a group, by jogs, which `straighten` removes. */
const upright = (points: ReadonlyArray<Point>): ReadonlyArray<Point> =>
  points.flatMap((point, index) => {
    const next = points[index + 1]
    if (next === undefined || point.x === next.x || point.y === next.y) return [point]
    const middle = { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 }
    return isUpright(point, next)
      ? [point, { x: point.x, y: middle.y }, { x: next.x, y: middle.y }]
      : [point, { x: middle.x, y: point.y }, { x: middle.x, y: next.y }]
  })

const straighten = (placed: PlacedEdge, from: Area, to: Area): PlacedEdge => {
  const { points } = placed
  for (let index = 1; index + 2 < points.length; index++) {
    const [a, b, c, d] = points.slice(index - 1, index + 3)
    if (a === undefined || b === undefined || c === undefined || d === undefined) break
    const step = { x: c.x - b.x, y: c.y - b.y }
    if (Math.abs(step.x) + Math.abs(step.y) >= jog || isUpright(a, b) !== isUpright(c, d) || isUpright(a, b) === isUpright(b, c)) continue
    const back = { x: -step.x, y: -step.y }
    // Moves the segment after the jog, or the one before it; preferably the one without the label.
    const ways = [
      { moved: [c, d] as const, by: back, kept: index + 2 < points.length - 1 || isBeside(to, move(d, back), isUpright(c, d)) },
      { moved: [a, b] as const, by: step, kept: index - 1 > 0 || isBeside(from, move(a, step), isUpright(a, b)) },
    ].filter((way) => way.kept)
    const way = ways.find(({ moved }) => !carries(moved, placed.label)) ?? ways[0]
    if (way === undefined) continue
    const label =
      placed.label !== undefined && carries(way.moved, placed.label) ? { ...placed.label, ...move(placed.label, way.by) } : placed.label
    const straight = points
      .map((point) => (way.moved.includes(point) ? move(point, way.by) : point))
      // The two ends of the jog are one point on a straight line now.
      .filter((_, at) => at !== index && at !== index + 1)
    return straighten({ ...placed, points: straight, label }, from, to)
  }
  return placed
}

const move = (point: Point, by: Point): Point => ({ x: point.x + by.x, y: point.y + by.y })

const isUpright = (from: Point, to: Point): boolean => Math.abs(from.x - to.x) < Math.abs(from.y - to.y)

/** Whether a line through the point meets the box between its corners. */
const isBeside = (area: Area, point: Point, upright: boolean): boolean =>
  upright
    ? point.x >= area.x + corner && point.x <= area.x + area.width - corner
    : point.y >= area.y + corner && point.y <= area.y + area.height - corner

const carries = ([from, to]: readonly [Point, Point], label: Area | undefined): boolean => {
  if (label === undefined) return false
  const x = label.x + label.width / 2
  const y = label.y + label.height / 2
  return isUpright(from, to)
    ? Math.abs(x - from.x) < 2 && y >= Math.min(from.y, to.y) && y <= Math.max(from.y, to.y)
    : Math.abs(y - from.y) < 2 && x >= Math.min(from.x, to.x) && x <= Math.max(from.x, to.x)
}

const widen = (placed: PlacedEdge, area: Area): PlacedEdge => {
  const [start, ...rest] = placed.points
  const end = rest.at(-1)
  if (start === undefined || end === undefined) return placed
  // On the left or right of the box its ends are above each other, on the top or bottom beside each other.
  const spread = (one: number, start: number, end: number, length: number): number => {
    const middle = (start + end) / 2
    const half = Math.max(Math.abs(end - start), Math.min(opening, length - 12)) / 2
    if (one === middle) return one
    return middle + Math.sign(one - middle) * half
  }
  const beside = Math.abs(start.x - end.x) < 1
  const points = placed.points.map((point) =>
    beside
      ? { x: point.x, y: spread(point.y, start.y, end.y, area.height) }
      : { x: spread(point.x, start.x, end.x, area.width), y: point.y },
  )
  return { ...placed, points }
}
