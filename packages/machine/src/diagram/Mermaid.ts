/**
 * Mermaid diagrams, as shown by GitHub, GitLab and documentation sites: the structure of a machine as a state diagram
 * or a flowchart, and the history of one instance as a sequence diagram. State diagrams read best; only a flowchart can
 * have dashed and coloured edges, so a state diagram marks the edges taken with ● instead.
 */
import * as Escape from "./Escape.ts"
import * as Identifiers from "./Identifiers.ts"
import { lineText } from "./LineText.ts"
import type { Box, Edge, Group, Item, Line, Scene, SceneOptions, Source } from "./Scene.ts"
import * as Scenes from "./Scene.ts"
import { light } from "./Theme.ts"

export { type SequenceOptions, sequence } from "./MermaidSequence.ts"

export interface MermaidOptions extends SceneOptions {
  readonly direction?: "down" | "right" | undefined
}

const label = (text: string): string => `"${Escape.mermaid(text)}"`

/** A composite state has a title and no lines, so the hooks and work of the group follow its name. */
const groupTitle = ({ name, stayLines }: Group): string => [name, ...stayLines.map(lineText)].join(" · ")

const isRegion = (item: Item): boolean => item._tag === "Group" && item.region

const indent = (lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map((line) => `  ${line}`)

/** The machine as a `stateDiagram-v2`. */
export const stateDiagram = (source: Source, options: MermaidOptions = {}): string => {
  const scene = Scenes.make(source, options)
  const identifier = Identifiers.ofScene(scene)
  const id = (key: string): string => (key === Scenes.startKey ? "[*]" : identifier(key))
  const box = (one: Box): ReadonlyArray<string> => {
    const name =
      identifier(one.key) === one.name && one.lines.length === 0 ? one.name : `state ${label(one.name)} as ${identifier(one.key)}`
    return [name, ...one.lines.map((line) => `${identifier(one.key)} : ${markTaken(line, Escape.mermaid(lineText(line)))}`)]
  }
  const item = (one: Item): ReadonlyArray<string> =>
    one._tag === "Box" ? box(one) : [`state ${label(groupTitle(one))} as ${identifier(one.key)} {`, ...indent(inside(one)), "}"]
  // A line of dashes stands between regions.
  const inside = ({ items }: Group): ReadonlyArray<string> =>
    items.flatMap((one, index) => [...(index > 0 && items.some(isRegion) ? ["--"] : []), ...item(one)])
  const edge = (one: Edge): string => {
    const text = one.label.map(Escape.mermaid).join(" ")
    const shown = one.kind === "Timeout" ? `◷ ${text}` : text
    return `${id(one.from)} --> ${id(one.to)}${one.label.length === 0 ? "" : ` : ${markTaken(one, shown)}`}`
  }
  return text([
    "stateDiagram-v2",
    ...indent([
      ...(options.direction === "right" ? ["direction LR"] : []),
      ...scene.items.flatMap(item),
      ...(scene.any === undefined ? [] : box(scene.any)),
      ...scene.stops.map((stop) => `state ${label(`⊗ ${stop.reason}`)} as ${identifier(stop.key)}`),
      ...scene.edges.map(edge),
      ...scene.boxes.filter((one) => one.final).map((one) => `${identifier(one.key)} --> [*]`),
      ...classes(scene, identifier),
    ]),
  ])
}

/** The machine as a flowchart. */
export const flowchart = (source: Source, options: MermaidOptions = {}): string => {
  const scene = Scenes.make(source, options)
  const identifier = Identifiers.ofScene(scene)
  const initial = scene.edges.some((edge) => edge.kind === "Initial")
  const box = (one: Box): string => {
    const lines = [one.name, ...one.lines.map(lineText)].map(Escape.mermaid).join("<br/>")
    return one.final ? `${identifier(one.key)}(["${lines}"])` : `${identifier(one.key)}("${lines}")`
  }
  const item = (one: Item): ReadonlyArray<string> =>
    one._tag === "Box"
      ? [box(one)]
      : [`subgraph ${identifier(one.key)}[${label(groupTitle(one))}]`, ...indent(one.items.flatMap(item)), "end"]
  const edge = (one: Edge): string => {
    const arrow = one.kind === "Timeout" ? "-.->" : one.kind === "Always" ? "==>" : "-->"
    const shown = one.label.map(Escape.mermaid).join(one.label.join(" ").length > 24 ? "<br/>" : " ")
    return `${identifier(one.from)} ${arrow}${one.label.length === 0 ? "" : `|"${shown}"|`} ${identifier(one.to)}`
  }
  const taken = scene.edges.flatMap((one, index) => (one.taken ? [index] : []))
  return text([
    `flowchart ${options.direction === "right" ? "LR" : "TD"}`,
    ...indent([
      ...(initial ? [`${identifier(Scenes.startKey)}(( ))`] : []),
      ...scene.items.flatMap(item),
      ...(scene.any === undefined ? [] : [box(scene.any)]),
      ...scene.stops.map((stop) => `${identifier(stop.key)}(${label(`⊗ ${stop.reason}`)})`),
      ...scene.edges.map(edge),
      ...(initial ? [`class ${identifier(Scenes.startKey)} initial`, `classDef initial fill:${light.line},stroke:${light.line}`] : []),
      ...scene.groups.filter(isRegion).map(({ key }) => `style ${identifier(key)} stroke-dasharray:4 3`),
      ...classes(scene, identifier),
      ...(taken.length === 0 ? [] : [`linkStyle ${taken.join(",")} stroke:${light.taken},stroke-width:3px,color:${light.taken}`]),
    ]),
  ])
}

const text = (lines: ReadonlyArray<string>): string => `${lines.join("\n")}\n`

const markTaken = (one: Line | Edge, shown: string): string => (one.taken ? `● ${shown}` : shown)

const classes = (scene: Scene, identifier: (key: string) => string): ReadonlyArray<string> => {
  const styles: ReadonlyArray<readonly [name: string, keys: ReadonlyArray<string>, style: string]> = [
    ["final", scene.boxes.filter((box) => box.final).map((box) => box.key), "stroke-width:3px"],
    ["failure", scene.boxes.filter((box) => box.failure).map((box) => box.key), `stroke:${light.stop},color:${light.stop}`],
    ["anyState", scene.any === undefined ? [] : [scene.any.key], "stroke-dasharray:4 3"],
    ["stop", scene.stops.map((stop) => stop.key), `fill:${light.stopFill},stroke:${light.stop},color:${light.stop}`],
    [
      "visited",
      [
        ...scene.boxes.filter((box) => box.mark === "visited").map((box) => box.key),
        ...scene.stops.filter((stop) => stop.reached).map((stop) => stop.key),
      ],
      `fill:${light.visitedFill},stroke:${light.taken},color:${light.text}`,
    ],
    [
      "current",
      scene.boxes.filter((box) => box.mark === "current").map((box) => box.key),
      `fill:${light.currentFill},stroke:${light.currentFill},color:${light.currentText}`,
    ],
  ]
  return styles.flatMap(([name, keys, style]) =>
    keys.length === 0 ? [] : [`class ${keys.map(identifier).join(",")} ${name}`, `classDef ${name} ${style}`],
  )
}
