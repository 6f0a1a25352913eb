/**
 * Graphviz DOT: the structure of a machine, with or without the path of one instance through it, and the timeline of
 * an instance. Render with `dot -Tsvg machine.dot -o machine.svg`.
 */
import type { Trace, TraceStep } from "../actor/Trace.ts"
import * as Escape from "./Escape.ts"
import * as Identifiers from "./Identifiers.ts"
import { lineText } from "./LineText.ts"
import { elapsed, moment } from "./Moment.ts"
import { isTimeout } from "./Path.ts"
import type { Box, Edge, Group, Item, Line, Scene, SceneOptions, Source, StopMarker } from "./Scene.ts"
import * as Scenes from "./Scene.ts"
import { light } from "./Theme.ts"

const quoted = (text: string): string => `"${Escape.dot(text)}"`

const attributes = (all: { readonly [name: string]: string | undefined }): string => {
  const shown = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return shown.length === 0 ? "" : ` [${shown.join(", ")}]`
}

const font = `fontname="Helvetica,Arial,sans-serif"`

const indent = (lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map((line) => `  ${line}`)

// Without `newrank`, Graphviz ranks each cluster by itself and may put the first state below a group that leads back to it.
const digraph = (title: string, rankdir: "TB" | "LR", body: ReadonlyArray<string>): string =>
  [
    `digraph ${quoted(title)} {`,
    ...indent([
      `graph [rankdir=${rankdir}, compound=true, newrank=true, nodesep=0.5, ranksep=0.5, bgcolor="${light.background}", ${font}, fontsize=12, fontcolor="${light.text}"]`,
      `node [shape=box, style="rounded,filled", fillcolor="${light.boxFill}", color="${light.boxLine}", ${font}, fontsize=12, fontcolor="${light.text}", margin="0.16,0.08"]`,
      `edge [color="${light.line}", ${font}, fontsize=10, fontcolor="${light.text}", arrowsize=0.7]`,
      ...body,
    ]),
    "}",
    "",
  ].join("\n")

const startMarker = ` [shape=circle, label="", style=filled, fillcolor="${light.line}", width=0.18, fixedsize=true]`

/** The structure of a machine. With a trace, states visited, the current state and edges taken are coloured. */
export const structure = (source: Source, options: SceneOptions = {}): string => {
  const scene = Scenes.make(source, options)
  const identifier = Identifiers.ofScene(scene)
  // Quoted, since a keyword of DOT may be the name of a state.
  const node = (key: string): string => `"${identifier(key)}"`
  const cluster = (key: string): string => `"cluster_${identifier(key)}"`
  const item = (one: Item): ReadonlyArray<string> => {
    if (one._tag === "Box") return [`${node(one.key)}${box(one)}`]
    return [
      `subgraph ${cluster(one.key)} {`,
      ...indent([
        `graph [label=${title(one, one.lines, light.text)}, labeljust=l, style="rounded,filled${one.region ? ",dashed" : ""}", fillcolor="${light.groupFill}", color="${light.groupLine}", margin=16]`,
        ...one.items.flatMap(item),
      ]),
      "}",
    ]
  }
  return digraph(scene.title, "TB", [
    ...(scene.edges.some((edge) => edge.kind === "Initial") ? [`${node(Scenes.startKey)}${startMarker}`] : []),
    ...scene.items.flatMap(item),
    ...(scene.any === undefined ? [] : [`${node(scene.any.key)}${box(scene.any, { style: `"rounded,filled,dashed"` })}`]),
    ...scene.stops.map((stop) => `${node(stop.key)}${stopMarker(stop)}`),
    ...scene.edges.map((one) => {
      const group = scene.groups.find((other) => other.key === one.from)
      if (group === undefined) return `${node(one.from)} -> ${node(one.to)}${edge(one, {})}`
      // Graphviz draws edges between nodes only; `ltail` cuts the edge off at the border of the cluster.
      return `${node(tailOf(scene, group, one.to))} -> ${node(one.to)}${edge(one, { ltail: cluster(group.key) })}`
    }),
  ])
}

/** The state of the group nearest to where the edge leads, as states are declared. */
const tailOf = (scene: Scene, group: Group, to: string): string => {
  const inside = leavesOf(group)
  const order = scene.boxes.map((box) => box.key)
  const before = order.includes(to) && order.indexOf(to) < order.indexOf(inside[0] ?? "")
  return inside.at(before ? 0 : -1) ?? group.key
}

const leavesOf = (item: Item): ReadonlyArray<string> => (item._tag === "Box" ? [item.key] : item.items.flatMap(leavesOf))

const box = (one: Box, more: { readonly [name: string]: string } = {}): string => {
  const colour = one.mark === "current" ? light.currentText : one.failure ? light.stop : light.text
  return attributes({
    label: title(one, one.ownLines, colour),
    peripheries: one.final ? "2" : undefined,
    ...(one.failure ? { color: `"${light.stop}"`, fontcolor: `"${light.stop}"` } : {}),
    ...(one.mark === "current" ? { fillcolor: `"${light.currentFill}"`, color: `"${light.currentFill}"`, fontcolor: `"${colour}"` } : {}),
    ...(one.mark === "visited" ? { fillcolor: `"${light.visitedFill}"`, color: `"${light.taken}"` } : {}),
    ...more,
  })
}

/** The name in bold with the lines under it. */
const title = (one: Box | Group, lines: ReadonlyArray<Line>, colour: string): string => {
  const name = `<b>${Escape.dotLabel(one.name)}</b>`
  if (lines.length === 0) return `<${name}>`
  const row = (text: string) => `<tr><td align="left"><font point-size="10" color="${colour}">${text}</font></td></tr>`
  const rows = lines.map((line) => row(line.taken ? `<b>${Escape.dotLabel(lineText(line))}</b>` : Escape.dotLabel(lineText(line))))
  return `<<table border="0" cellborder="0" cellspacing="0" cellpadding="2"><tr><td${one._tag === "Group" ? ' align="left"' : ""}>${name}</td></tr><hr/>${rows.join("")}</table>>`
}

const stopMarker = (stop: StopMarker): string =>
  attributes({
    label: quoted(`⊗ ${stop.reason}`),
    shape: "box",
    fillcolor: `"${light.stopFill}"`,
    color: `"${light.stop}"`,
    fontcolor: `"${light.stop}"`,
    penwidth: stop.reached ? "3" : undefined,
  })

const edge = (one: Edge, more: { readonly [name: string]: string }): string => {
  // A long label in one line pushes its neighbours far apart.
  const between = one.label.join(" ").length > 24 ? " \\n " : " "
  const colour = one.taken ? light.taken : one.kind === "Timeout" ? light.timeout : undefined
  return attributes({
    // A high weight makes the edge go straight down to the first state.
    weight: one.kind === "Initial" ? "10" : undefined,
    label: one.label.length === 0 ? undefined : `" ${one.label.map(Escape.dot).join(between)} "`,
    style: one.kind === "Timeout" ? "dashed" : one.kind === "Always" ? "bold" : undefined,
    color: colour === undefined ? undefined : `"${colour}"`,
    fontcolor: colour === undefined ? undefined : `"${colour}"`,
    penwidth: one.taken ? "2" : undefined,
    edgetooltip: one.description === undefined ? undefined : quoted(Escape.cut(one.description, 200)),
    ...more,
  })
}

/** The life of one instance from left to right: each state it was in and since when, each event and the time before it. */
export const timeline = (trace: Trace): string => {
  const steps = trace.steps.flatMap((step, index) => {
    const states =
      step.outcome === "Stay" ? `${Escape.cut(step.to)} / stay` : [...step.through, step.to].map((state) => Escape.cut(state)).join(" → ")
    const waited = elapsed(step.at - (trace.steps[index - 1]?.at ?? trace.startedAt))
    return [
      `step${index + 1}${timelineBox(states, step, index === trace.steps.length - 1)}`,
      `step${index} -> step${index + 1}${attributes({
        label: `"${Escape.dot(Escape.cut(step.label ?? step.event))}\\n${waited}"`,
        style: isTimeout(step) ? "dashed" : undefined,
      })}`,
    ]
  })
  const end =
    trace.stopped === undefined
      ? []
      : [`stop${stopMarker({ key: "stop", reason: Escape.cut(trace.stopped), reached: true })}`, `step${trace.steps.length} -> stop`]
  return digraph(`${Escape.cut(trace.machine)} ${Escape.cut(trace.id)}`, "LR", [
    `start${startMarker}`,
    `step0${timelineBox(Escape.cut(trace.initial), { at: trace.startedAt, requests: [] }, trace.steps.length === 0)}`,
    "start -> step0",
    ...steps,
    ...end,
  ])
}

const timelineBox = (name: string, { at, requests, delays = [] }: Pick<TraceStep, "at" | "requests" | "delays">, last: boolean): string => {
  const lines = [
    name,
    moment(at),
    ...delays.map((delay) => `◷ ${Escape.cut(delay)}`),
    ...requests.map((request) => `⚙ ${Escape.cut(request)}`),
  ]
  return attributes({
    label: `"${lines.map(Escape.dot).join("\\n")}"`,
    ...(last ? { fillcolor: `"${light.currentFill}"`, color: `"${light.currentFill}"`, fontcolor: `"${light.currentText}"` } : {}),
  })
}
