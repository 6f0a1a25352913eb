/** The positions of everything in a diagram of a machine, as JSON, for pages that draw it themselves. The layout needs `elkjs`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Line, make as makeScene, type Source } from "./Scene.ts"
import { compartments, type DiagramError, labelLines, type Placing, layout as place, type SvgLayout } from "./SvgLayout.ts"

export type { Scene } from "./Scene.ts"
export { type Direction, layout as place, type Placing, type SvgLayout as Places } from "./SvgLayout.ts"

const area = { x: Schema.Finite, y: Schema.Finite, width: Schema.Finite, height: Schema.Finite }

const Area = Schema.Struct(area)

const Point = Schema.Struct({ x: Schema.Finite, y: Schema.Finite })

const LineOfText = Schema.Struct({
  kind: Schema.Literals(["Meta", "Field", "Update", "Stay", "Postpone", "Action", "Request", "Work"]),
  text: Schema.String,
})

/** Sizes in pixels, with text of 11 pixels and titles of 13. Edges name their ends by key. */
export const schema = Schema.Struct({
  width: Schema.Finite,
  height: Schema.Finite,
  states: Schema.Array(
    Schema.Struct({
      key: Schema.String,
      /** The tag of the state; absent at the box that stands for any state. */
      state: Schema.optionalKey(Schema.String),
      /** As it is shown: a long tag is cut. */
      name: Schema.String,
      final: Schema.Boolean,
      /** A final state in which the instance has failed. */
      failure: Schema.Boolean,
      /** The lines below the name, in compartments. */
      lines: Schema.Array(Schema.Array(LineOfText)),
      ...area,
    }),
  ),
  /** Outer groups before the ones inside them. */
  groups: Schema.Array(Schema.Struct({ key: Schema.String, name: Schema.String, lines: Schema.Array(LineOfText), ...area })),
  /** Where the machine begins. */
  start: Schema.optionalKey(Schema.Struct({ key: Schema.String, ...area })),
  /** Where it ends by `stop`. */
  stops: Schema.Array(Schema.Struct({ key: Schema.String, reason: Schema.String, ...area })),
  edges: Schema.Array(
    Schema.Struct({
      kind: Schema.Literals(["Initial", "Event", "Reenter", "Always", "Timeout"]),
      from: Schema.String,
      to: Schema.String,
      /** The names of the events or timers that lead this way. */
      causes: Schema.Array(Schema.String),
      /** The lines of the label, and its position. */
      label: Schema.Array(Schema.String),
      labelAt: Schema.optionalKey(Area),
      points: Schema.Array(Point),
    }),
  ),
}).annotate({ identifier: "DiagramLayout" })

export type Layout = typeof schema.Type

export interface LayoutOptions {
  readonly direction?: "down" | "right" | undefined
  /** Lists the fields of each state; sensitive ones as `•••`. */
  readonly fields?: boolean | undefined
}

/** Lays out the machine. */
export const make = (source: Source, options: LayoutOptions = {}): Effect.Effect<Layout, DiagramError> => makeWith(place, source, options)

/** The same with positions that `placing` computes, such as in a worker process that calls `place`. */
export const makeWith = <E>(
  placing: Placing<E>,
  source: Source,
  { direction = "down", fields }: LayoutOptions = {},
): Effect.Effect<Layout, E> => Effect.map(placing(makeScene(source, { fields }), direction), layoutOf)

const lineOf = ({ kind, text }: Line) => ({ kind, text })

const statePrefix = "state:"

const layoutOf = ({ width, height, boxes, groups, start, stops, edges }: SvgLayout): Layout => ({
  width: Math.ceil(width),
  height: Math.ceil(height),
  states: boxes.map(({ box, area: at }) => ({
    key: box.key,
    ...(box.key.startsWith(statePrefix) ? { state: box.key.slice(statePrefix.length) } : {}),
    name: box.name,
    final: box.final,
    failure: box.failure,
    lines: compartments(box).map((lines) => lines.map(lineOf)),
    ...at,
  })),
  groups: groups.map(({ group: { key, name, lines }, area: at }) => ({ key, name, lines: lines.map(lineOf), ...at })),
  ...(start === undefined ? {} : { start: { key: "start", ...start } }),
  stops: stops.map(({ stop: { key, reason }, area: at }) => ({ key, reason, ...at })),
  edges: edges.map(({ edge, points, label }) => ({
    kind: edge.kind,
    from: edge.from,
    to: edge.to,
    causes: edge.label.slice(0, edge.causes).map((cause) => cause.replace(/,$/, "")),
    label: labelLines(edge),
    ...(label === undefined ? {} : { labelAt: label }),
    points: points.map(({ x, y }) => ({ x, y })),
  })),
})
