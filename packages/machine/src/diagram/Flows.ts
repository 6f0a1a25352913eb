/** Draws how many instances went from one end to another: old ends on the left, new ones on the right, bands as high as their numbers. */
import * as Schema from "effect/Schema"
import * as Escape from "./Escape.ts"
import { element, label, rectangle } from "./SvgElement.ts"
import { dark, light } from "./Theme.ts"

export interface Flow {
  readonly from: string
  readonly to: string
  readonly count: number
}

const Bar = Schema.Struct({
  side: Schema.Literals(["before", "after"]),
  name: Schema.String,
  count: Schema.Int,
  x: Schema.Finite,
  y: Schema.Finite,
  width: Schema.Finite,
  height: Schema.Finite,
})

const Band = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  count: Schema.Int,
  /** Whether the end is another one. */
  isChanged: Schema.Boolean,
  /** The outline, as the `d` of an SVG path. */
  path: Schema.String,
})

/** The positions of bars and bands, for programs that draw them themselves. */
export const layoutSchema = Schema.Struct({
  width: Schema.Finite,
  height: Schema.Finite,
  bars: Schema.Array(Bar),
  bands: Schema.Array(Band),
}).annotate({ identifier: "FlowLayout" })

export type FlowLayout = typeof layoutSchema.Type

type Bar = typeof Bar.Type

const width = 860
const barWidth = 14
const labelWidth = 250
const top = 56
/** The height of all bands together, before small ones are raised to their least height. */
const bandsHeight = 320
const least = 2
const gap = 26

/** More ends than this on one side are drawn as one. */
const mostEnds = 20

const others = "(others)"

export const layout = (flows: ReadonlyArray<Flow>): FlowLayout => {
  const merged = mergeRare(flows)
  const total = Math.max(
    1,
    merged.reduce((sum, { count }) => sum + count, 0),
  )
  const heightOf = (count: number) => Math.max(least, (count / total) * bandsHeight)
  const left = barsOf(merged, "before", heightOf)
  const right = barsOf(merged, "after", heightOf)
  const filled = new Map<Bar, number>()
  const take = (bar: Bar, height: number): number => {
    const before = filled.get(bar) ?? 0
    filled.set(bar, before + height)
    return bar.y + before
  }
  const place = (bars: ReadonlyArray<Bar>, name: string): number => bars.findIndex((bar) => bar.name === name)
  const ordered = [...merged].sort(
    (one, other) => place(left, one.from) - place(left, other.from) || place(right, one.to) - place(right, other.to),
  )
  const bands = ordered.map(({ from, to, count }) => {
    const start = left.find(({ name }) => name === from) as Bar
    const end = right.find(({ name }) => name === to) as Bar
    const height = heightOf(count)
    return { from, to, count, isChanged: from !== to, path: outline(start, take(start, height), end, take(end, height), height) }
  })
  const bottom = [...left, ...right].reduce((most, { y, height }) => Math.max(most, y + height), top)
  return { width, height: Math.ceil(bottom + 24), bars: [...left, ...right], bands }
}

/** Rare ends are drawn together, so that a picture has a bounded size. */
const mergeRare = (flows: ReadonlyArray<Flow>): ReadonlyArray<Flow> => {
  const named = (end: (flow: Flow) => string) => {
    const counts = countBy(flows, end)
    return new Set([...counts.keys()].sort((one, other) => (counts.get(other) ?? 0) - (counts.get(one) ?? 0)).slice(0, mostEnds))
  }
  const [from, to] = [named((flow) => flow.from), named((flow) => flow.to)]
  const merged = new Map<string, Flow>()
  for (const flow of flows) {
    const one = { from: from.has(flow.from) ? flow.from : others, to: to.has(flow.to) ? flow.to : others, count: flow.count }
    const key = JSON.stringify([one.from, one.to])
    merged.set(key, { ...one, count: one.count + (merged.get(key)?.count ?? 0) })
  }
  return [...merged.values()]
}

const countBy = (flows: ReadonlyArray<Flow>, end: (flow: Flow) => string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const flow of flows) counts.set(end(flow), (counts.get(end(flow)) ?? 0) + flow.count)
  return counts
}

const barsOf = (flows: ReadonlyArray<Flow>, side: "before" | "after", heightOf: (count: number) => number): ReadonlyArray<Bar> => {
  const end = (flow: Flow) => (side === "before" ? flow.from : flow.to)
  const counts = countBy(flows, end)
  const names = [...counts.keys()].sort((one, other) => (counts.get(other) ?? 0) - (counts.get(one) ?? 0) || (one < other ? -1 : 1))
  let y = top
  return names.map((name) => {
    const height = flows.filter((flow) => end(flow) === name).reduce((sum, { count }) => sum + heightOf(count), 0)
    const bar = {
      side,
      name,
      count: counts.get(name) ?? 0,
      x: side === "before" ? labelWidth : width - labelWidth - barWidth,
      y,
      width: barWidth,
      height,
    }
    y += Math.max(height + 10, gap)
    return bar
  })
}

const outline = (start: Bar, from: number, end: Bar, to: number, height: number): string => {
  const [x, until] = [start.x + start.width, end.x]
  const middle = (x + until) / 2
  const at = (value: number) => Math.round(value * 10) / 10
  return (
    `M${x} ${at(from)}C${middle} ${at(from)} ${middle} ${at(to)} ${until} ${at(to)}` +
    `L${until} ${at(to + height)}C${middle} ${at(to + height)} ${middle} ${at(from + height)} ${x} ${at(from + height)}Z`
  )
}

export interface FlowsOptions {
  /** Default: none. */
  readonly title?: string
  /** Default: `light`. */
  readonly theme?: "light" | "dark"
}

/** The picture as an SVG document. */
export const svg = (flows: ReadonlyArray<Flow>, { title, theme = "light" }: FlowsOptions = {}): string => {
  const colours = theme === "dark" ? dark : light
  const { width, height, bars, bands } = layout(flows)
  const font = { "font-family": "sans-serif", "font-size": 13 }
  const heading = (x: number, text: string, anchor: "start" | "end") =>
    label({ x, y: 38 }, text, { ...font, fill: colours.faint, "text-anchor": anchor })
  return element("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" }, [
    element("rect", { x: 0, y: 0, width, height, fill: colours.background }),
    ...(title === undefined
      ? []
      : [label({ x: width / 2, y: 20 }, title, { ...font, "font-weight": "bold", fill: colours.text, "text-anchor": "middle" })]),
    heading(labelWidth, "ended", "end"),
    heading(width - labelWidth, "would have ended", "start"),
    // Ends that stay are drawn first, so that those that change lie above them.
    ...[...bands]
      .sort((one, other) => Number(one.isChanged) - Number(other.isChanged))
      .map(({ path, isChanged, from, to, count }) =>
        element("path", { d: path, fill: isChanged ? colours.timeout : colours.boxLine, "fill-opacity": isChanged ? 0.6 : 0.3 }, [
          element("title", {}, [Escape.xml(`${from} → ${to}: ${count}`)]),
        ]),
      ),
    ...bars.map((bar) => rectangle(bar, { fill: colours.taken })),
    ...bars.map(({ side, name, count, x, y, height }) => {
      const middle = y + Math.max(height, gap - 12) / 2 + 4
      const at = { x: side === "before" ? x - 8 : x + barWidth + 8, y: middle }
      return label(at, `${name.length > 30 ? `${name.slice(0, 29)}…` : name}  ${count}`, {
        ...font,
        fill: colours.text,
        "text-anchor": side === "before" ? "end" : "start",
      })
    }),
  ])
}
