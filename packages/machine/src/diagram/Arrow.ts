/**
 * How transitions are drawn: as an edge, or as a line inside the box where the state is kept, since a loop would
 * suggest that the state is left. Events that lead the same way share an edge.
 */
import type { Blueprint, TargetBlueprint, TransitionBlueprint } from "../contract/Blueprint.ts"
import { type Bundle, keeps } from "./Bundle.ts"
import { cut } from "./Escape.ts"
import { stateKey, stopKey } from "./Keys.ts"
import type * as Path from "./Path.ts"

/** A line inside a box. Lines of different groups are set apart. */
export interface Line {
  readonly kind: "Meta" | "Field" | "Update" | "Stay" | "Postpone" | "Action" | "Request" | "Work"
  readonly text: string
  readonly taken: boolean
}

export interface Edge {
  readonly kind: "Initial" | "Event" | "Reenter" | "Always" | "Timeout"
  /** A state, the start or any state; a group where all its states have this edge. */
  readonly from: string
  readonly to: string
  /** Events, `[guards]` and `/ commands`. The notation decides on one line or several. */
  readonly label: ReadonlyArray<string>
  /** The number of parts of the label that name its causes. */
  readonly causes: number
  readonly description: string | undefined
  readonly taken: boolean
}

export type Arrow =
  | { readonly _tag: "Edge"; readonly edge: Edge }
  /** `at`: the key of the state or group it is listed at. */
  | { readonly _tag: "Line"; readonly at: string; readonly line: Line }

export const arrowsOf = (blueprint: Blueprint, bundles: ReadonlyArray<Bundle>, path: Path.Path): ReadonlyArray<Arrow> => {
  const arrows: Array<Arrow> = []
  const fallbacks = new Set<string>()
  for (const bundle of bundles) {
    const { first } = bundle
    if (first._tag === "Postpone") {
      arrows.push(lineArrow(bundle, "Postpone", cut(first.event), () => false))
      continue
    }
    const fallback = first._tag === "Event" && first.fallback
    const handledBy = fallback ? statesHandling(blueprint, first.event) : undefined
    const label = labelOf(blueprint, first, bundle.transitions)
    first.targets.forEach((target, index) => {
      // Transitions of a bundle have their targets in the same order.
      const took = (one: TransitionBlueprint) => path.took(one, one.targets[index] ?? target, handledBy)
      const arrow = arrowOf(bundle, first, target, label, took)
      // A fallback is drawn once, whether the blueprint has it once or for each state that it applies to.
      const once = JSON.stringify([label.parts, target._tag, arrow._tag === "Edge" ? arrow.edge.to : arrow.line])
      if (fallback && fallbacks.has(once)) return
      if (fallback) fallbacks.add(once)
      arrows.push(arrow)
    })
  }
  return arrows
}

type Taken = Exclude<TransitionBlueprint, { readonly _tag: "Postpone" }>
type Took = (transition: TransitionBlueprint) => boolean

interface Label {
  readonly parts: ReadonlyArray<string>
  readonly causes: number
}

const lineArrow = (bundle: Bundle, kind: Line["kind"], text: string, took: Took): Arrow => ({
  _tag: "Line",
  at: bundle.key,
  line: { kind, text, taken: bundle.transitions.some(took) },
})

const arrowOf = (bundle: Bundle, first: Taken, target: TargetBlueprint, { parts, causes }: Label, took: Took): Arrow => {
  const text = parts.join(" ")
  const reenter = first._tag === "Event" && first.reenter
  if (target._tag === "Stay") return lineArrow(bundle, "Stay", `${text}${first.requests.length === 0 ? " /" : ","} stay`, took)
  if (first._tag === "Event" && first.fallback && reenter) return lineArrow(bundle, "Update", `${text} (reenter)`, took)
  if (keeps(first, target)) return lineArrow(bundle, "Update", text, took)
  return {
    _tag: "Edge",
    edge: {
      kind: reenter ? "Reenter" : first._tag,
      from: bundle.key,
      to: target._tag === "Stop" ? stopKey(target.reason) : stateKey(target.state),
      // The usual sign of history, at the state where the group is entered for the first time.
      label: target._tag === "State" && target.history !== undefined ? [...parts, target.history.deep ? "(H*)" : "(H)"] : parts,
      causes,
      description: first.description,
      taken: bundle.transitions.some(took),
    },
  }
}

const labelOf = (blueprint: Blueprint, first: Taken, transitions: ReadonlyArray<TransitionBlueprint>): Label => {
  if (first.label !== undefined) return { parts: first.label.map((part) => cut(part, 60)), causes: 1 }
  // A guard that chooses between targets holds for only one of them.
  const question = first.targets.length > 1 ? "?" : ""
  const guards = first.guards.map((guard) => cut(guard) + question)
  const requests = first.requests.map((request) => cut(request))
  const causes = causesOf(blueprint, first, transitions)
  return {
    parts: [
      ...causes,
      ...(guards.length === 0 ? [] : [`[${cut(guards.join(", "), 60)}]`]),
      ...(requests.length === 0 ? [] : [`/ ${cut(requests.join(", "), 60)}`]),
    ],
    causes: causes.length,
  }
}

const causesOf = (blueprint: Blueprint, first: Taken, transitions: ReadonlyArray<TransitionBlueprint>): ReadonlyArray<string> => {
  switch (first._tag) {
    case "Event":
      return [cut(first.event)]
    case "Always":
      return first.guards.length === 0 ? ["always"] : []
    case "Timeout": {
      // `timeout` is the default name: it is shown only where it distinguishes several timeouts.
      const several = transitions.some(
        ({ from }) => blueprint.transitions.filter((other) => other._tag === "Timeout" && other.from === from).length > 1,
      )
      const named = several || first.after === undefined || first.name !== "timeout" ? ` (${cut(first.name)})` : ""
      return [`after ${first.after === undefined ? "a time" : cut(first.after)}${first.idle ? " idle" : ""}${named}`]
    }
  }
}

const statesHandling = (blueprint: Blueprint, event: string): ReadonlySet<string> =>
  new Set(
    blueprint.transitions.flatMap((other) =>
      (other._tag === "Event" && !other.fallback && other.event === event) || (other._tag === "Postpone" && other.event === event)
        ? [other.from]
        : [],
    ),
  )

/**
 * Joins events with the same ends, guards and commands into one edge, in the place of the first. An edge that was taken is not
 * joined with one that was not: a reader would think that both events had occurred.
 */
export const joinParallel = (edges: ReadonlyArray<Edge>): ReadonlyArray<Edge> => {
  const ways = new Map<string, Array<Edge>>()
  edges.forEach((edge, index) => {
    const joins = edge.kind === "Event" || edge.kind === "Reenter"
    const way = joins ? JSON.stringify([edge.kind, edge.from, edge.to, edge.label.slice(edge.causes), edge.description, edge.taken]) : index
    const known = ways.get(String(way))
    if (known === undefined) ways.set(String(way), [edge])
    else known.push(edge)
  })
  return [...ways.values()].flatMap((same) => {
    const [first, ...others] = same
    if (first === undefined || others.length === 0) return same
    const causes = same.flatMap((edge) => edge.label.slice(0, edge.causes))
    const listed = causes.map((cause, index) => (index === causes.length - 1 ? cause : `${cause},`))
    return [{ ...first, label: [...listed, ...first.label.slice(first.causes)], causes: causes.length }]
  })
}
