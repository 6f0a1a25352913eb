/** SVG elements with plain presentation attributes, which every viewer and converter understands. */
import * as Escape from "./Escape.ts"
import type { Area, Point } from "./SvgLayout.ts"

type Attributes = { readonly [name: string]: string | number | undefined }

/** One decimal: finer than a pixel, and the same text on every machine. */
const shown = (value: string | number): string => (typeof value === "number" ? String(Math.round(value * 10) / 10 || 0) : Escape.xml(value))

export const element = (name: string, attributes: Attributes, children: ReadonlyArray<string> = []): string => {
  const list = Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [` ${key}="${shown(value)}"`]))
  return children.length === 0 ? `<${name}${list.join("")}/>` : `<${name}${list.join("")}>${children.join("")}</${name}>`
}

export const rectangle = (area: Area, attributes: Attributes): string =>
  element("rect", { x: area.x, y: area.y, width: area.width, height: area.height, ...attributes })

export const label = (at: Point, content: string, attributes: Attributes): string =>
  element("text", { x: at.x, y: at.y, ...attributes }, [Escape.xml(content)])

const digits = (value: number): string => shown(value)

/** A line through the points with rounded corners. */
export const route = (points: ReadonlyArray<Point>, radius: number): string => {
  const [first, ...rest] = points
  if (first === undefined) return ""
  const parts = [`M${digits(first.x)} ${digits(first.y)}`]
  rest.forEach((corner, index) => {
    const before = points[index] ?? first
    const after = rest[index + 1]
    if (after === undefined) {
      parts.push(`L${digits(corner.x)} ${digits(corner.y)}`)
      return
    }
    const start = towards(corner, before, radius)
    const end = towards(corner, after, radius)
    parts.push(`L${digits(start.x)} ${digits(start.y)}Q${digits(corner.x)} ${digits(corner.y)} ${digits(end.x)} ${digits(end.y)}`)
  })
  return parts.join("")
}

/** The point at a distance from one point towards another, at most half way. */
export const towards = (from: Point, to: Point, distance: number): Point => {
  const length = Math.hypot(to.x - from.x, to.y - from.y)
  const part = length === 0 ? 0 : Math.min(distance / length, 0.5)
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }
}

/** An arrow head with its tip at the end of the line from one point to the next. */
export const arrowHead = (from: Point, tip: Point, colour: string): string => {
  const length = Math.hypot(tip.x - from.x, tip.y - from.y) || 1
  const along = { x: (tip.x - from.x) / length, y: (tip.y - from.y) / length }
  const base = { x: tip.x - along.x * 8, y: tip.y - along.y * 8 }
  const corners = [tip, { x: base.x - along.y * 4, y: base.y + along.x * 4 }, { x: base.x + along.y * 4, y: base.y - along.x * 4 }]
  return element("polygon", { points: corners.map((corner) => `${digits(corner.x)},${digits(corner.y)}`).join(" "), fill: colour })
}
