/**
 * A machine as an SVG, without a browser: for a README, a page or a PDF. Only shapes, text and presentation attributes,
 * so every viewer shows the same picture. The layout needs `elkjs`, an optional peer dependency.
 */
import * as Effect from "effect/Effect"
import * as Escape from "./Escape.ts"
import type { SceneOptions, Source } from "./Scene.ts"
import * as Scenes from "./Scene.ts"
import { element, rectangle } from "./SvgElement.ts"
import { type DiagramError, layout, type Placing, type SvgLayout, size } from "./SvgLayout.ts"
import { drawBox, drawGroup, drawGroupTitle, drawLabel, drawLine, drawStart, drawStop } from "./SvgShapes.ts"
import { light, type Theme } from "./Theme.ts"

export { DiagramError } from "./SvgLayout.ts"
export { dark, light, type Theme } from "./Theme.ts"

export interface SvgOptions extends SceneOptions {
  readonly theme?: Theme | undefined
  readonly direction?: "down" | "right" | undefined
}

/** Draws the machine; with a trace, the states visited, the current one and the edges taken are coloured. */
export const render = (source: Source, options: SvgOptions = {}): Effect.Effect<string, DiagramError> => renderWith(layout, source, options)

/** The same with positions that `placing` computes, such as in a worker process that calls `Layout.place`. */
export const renderWith = <E>(placing: Placing<E>, source: Source, options: SvgOptions = {}): Effect.Effect<string, E> => {
  const scene = Scenes.make(source, options)
  return Effect.map(placing(scene, options.direction ?? "down"), (places) => draw(scene.title, places, options.theme ?? light))
}

const draw = (title: string, places: SvgLayout, theme: Theme): string => {
  const width = Math.ceil(places.width)
  const height = Math.ceil(places.height)
  const groups = places.groups.map((one) => one.area)
  // Edges that were taken are drawn last, on top of the others.
  const lines = [...places.edges].sort((a, b) => Number(a.edge.taken) - Number(b.edge.taken))
  const shapes = [
    element("title", {}, [Escape.xml(title)]),
    rectangle({ x: 0, y: 0, width, height }, { rx: 8, fill: theme.background }),
    ...places.groups.map(({ group, area }) => drawGroup(group, area, theme)),
    ...lines.flatMap((one) => drawLine(one, theme)),
    ...places.groups.flatMap(({ group, area }) => drawGroupTitle(group, area, places.edges, theme)),
    ...(places.start === undefined ? [] : [drawStart(places.start, theme)]),
    ...places.boxes.flatMap(({ box, area }) => drawBox(box, area, theme)),
    ...places.stops.flatMap(({ stop, area }) => drawStop(stop, area, theme)),
    ...places.edges.flatMap((one) => drawLabel(one, groups, theme)),
  ]
  const attributes = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="${size.text}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${attributes} role="img">\n${shapes.join("\n")}\n</svg>\n`
}
