/**
 * The content of every diagram of a machine, in any notation: the states as nested boxes with their compartments,
 * and the edges between them. Transitions that keep the state are lines inside its box; only `reenter` is a loop. A
 * transition that all states of a group share starts at the group, a fallback at one box for any state.
 */

import type { Trace } from "../actor/Trace.ts"
import type { ActionBlueprint, Blueprint, MetaBlueprint, StateBlueprint, StayBlueprint } from "../contract/Blueprint.ts"
import { hidden } from "../schema/Sensitive.ts"
import { type Arrow, arrowsOf, type Edge, joinParallel, type Line } from "./Arrow.ts"
import { bundle } from "./Bundle.ts"
import { cut } from "./Escape.ts"
import { anyKey, groupKey, startKey, stateKey, stopKey } from "./Keys.ts"
import { type Nested, nest } from "./Nesting.ts"
import * as Path from "./Path.ts"

export type { Edge, Line } from "./Arrow.ts"
export { anyKey, startKey } from "./Keys.ts"

/** A machine, or its blueprint alone. */
export type Source = Blueprint | { readonly blueprint: Blueprint }

export interface SceneOptions {
  /** Colours the states visited, the current one and the edges taken. */
  readonly trace?: Trace | undefined
  /** Lists the fields of each state; sensitive ones as `•••`. */
  readonly fields?: boolean | undefined
}

export interface Box {
  readonly _tag: "Box"
  readonly key: string
  readonly name: string
  readonly final: boolean
  /** A final state in which the instance has failed. */
  readonly failure: boolean
  /** All lines of the state. */
  readonly lines: ReadonlyArray<Line>
  /** The lines without those its group lists. */
  readonly ownLines: ReadonlyArray<Line>
  readonly mark: Path.Mark
}

export interface Group {
  readonly _tag: "Group"
  readonly key: string
  readonly name: string
  /** Lines that every state inside has, then `stayLines`, for notations with room under the title. */
  readonly lines: ReadonlyArray<Line>
  /** Description, tags, hooks and work of the group itself. */
  readonly stayLines: ReadonlyArray<Line>
  /** It is active at the same time as the regions beside it. */
  readonly region: boolean
  readonly items: ReadonlyArray<Item>
}

export type Item = Box | Group

/** The end by `stop`. */
export interface StopMarker {
  readonly key: string
  readonly reason: string
  readonly reached: boolean
}

export interface Scene {
  readonly title: string
  readonly items: ReadonlyArray<Item>
  readonly boxes: ReadonlyArray<Box>
  readonly groups: ReadonlyArray<Group>
  readonly any: Box | undefined
  readonly stops: ReadonlyArray<StopMarker>
  readonly edges: ReadonlyArray<Edge>
}

export const blueprintOf = (source: Source): Blueprint => ("blueprint" in source ? source.blueprint : source)

export const make = (source: Source, options: SceneOptions = {}): Scene => {
  const blueprint = blueprintOf(source)
  const path = options.trace === undefined ? Path.none : Path.make(options.trace)
  const nested = nest(blueprint)
  const arrows = arrowsOf(blueprint, bundle(blueprint, nested), path)
  const ungrouped = arrowsOf(blueprint, bundle(blueprint, []), path)
  const edges = joinParallel([
    ...blueprint.states.filter((state) => state.initial).map((state) => initialEdge(state, options.trace)),
    ...arrows.flatMap((arrow) => (arrow._tag === "Edge" ? [arrow.edge] : [])),
  ])
  const boxOf = (state: StateBlueprint): Box => {
    const key = stateKey(state.tag)
    const fields = [...metaLines(state), ...(options.fields === true ? fieldLines(state) : [])]
    return {
      _tag: "Box",
      key,
      name: cut(state.tag),
      final: state.final,
      failure: state.outcome === "failure",
      mark: path.mark(state.tag),
      lines: [...fields, ...linesAt(ungrouped, key), ...workLines(state)],
      ownLines: [...fields, ...linesAt(arrows, key), ...workLines(state)],
    }
  }
  const stays = new Map(
    blueprint.stateGroups.map((group) => [group.name, [...metaLines(group), ...(group.stay === undefined ? [] : workLines(group.stay))]]),
  )
  const regions = new Set(blueprint.stateGroups.filter(({ region }) => region === true).map(({ name }) => name))
  const itemOf = (item: Nested): Item => {
    if (item._tag === "State") return boxOf(item.state)
    const { name, items } = item.group
    const stayLines = stays.get(name) ?? []
    return {
      _tag: "Group",
      key: groupKey(name),
      name: cut(name),
      lines: [...linesAt(arrows, groupKey(name)), ...stayLines],
      stayLines,
      region: regions.has(name),
      items: items.map(itemOf),
    }
  }
  const items = nested.map(itemOf)
  const any = linesAt(arrows, anyKey)
  return {
    title: `${cut(blueprint.name)} (version ${blueprint.version})`,
    items,
    boxes: blueprint.states.map(boxOf),
    groups: groupsIn(items),
    any:
      any.length > 0 || edges.some((edge) => edge.from === anyKey)
        ? { _tag: "Box", key: anyKey, name: "any state", final: false, failure: false, lines: any, ownLines: any, mark: undefined }
        : undefined,
    stops: stopsOf(blueprint, edges),
    edges,
  }
}

/** The lines of a box or group. */
const linesAt = (arrows: ReadonlyArray<Arrow>, key: string): ReadonlyArray<Line> =>
  arrows.flatMap((arrow) => (arrow._tag === "Line" && arrow.at === key ? [arrow.line] : []))

const initialEdge = (state: StateBlueprint, trace: Trace | undefined): Edge => ({
  kind: "Initial",
  from: startKey,
  to: stateKey(state.tag),
  label: [],
  causes: 0,
  description: undefined,
  taken: trace?.initial === state.tag,
})

const fieldLines = (state: StateBlueprint): ReadonlyArray<Line> =>
  state.fields.map((field) => ({ kind: "Field", text: field.sensitive ? `${cut(field.name)} ${hidden}` : cut(field.name), taken: false }))

/** The description, the tags, and the groups that a state completes. */
const metaLines = ({ description, tags = [], completes = [] }: MetaBlueprint & { readonly completes?: ReadonlyArray<string> }) => [
  ...(description === undefined ? [] : [line("Meta", cut(description, 60))]),
  ...(tags.length === 0 ? [] : [line("Meta", cut(tags.map((tag) => `#${tag}`).join(" "), 60))]),
  ...(completes.length === 0 ? [] : [line("Meta", `completes ${cut(completes.join(", "), 60)}`)]),
]

/** Named hooks and work with the slots they use, then the slots of unnamed ones. */
const workLines = (state: StayBlueprint): ReadonlyArray<Line> => {
  const { actions = [] } = state
  const named = (phase: ActionBlueprint["phase"]) => actions.filter((action) => action.phase === phase)
  const unnamed = (phase: ActionBlueprint["phase"], slots: ReadonlyArray<string>) =>
    slots.filter((slot) => !named(phase).some((action) => action.slots.includes(slot)))
  const hooks = (phase: "enter" | "exit", slots: ReadonlyArray<string>): ReadonlyArray<Line> => [
    ...named(phase).map((action) => line(action.slots.length === 0 ? "Action" : "Request", `${phase}: ${described(action)}`)),
    ...unnamed(phase, slots).map((slot) => line("Request", `${cut(slot)} on ${phase}`)),
  ]
  return [
    ...hooks("enter", state.requestsOnEnter),
    ...hooks("exit", state.requestsOnExit),
    ...named("work").map((action) => line("Work", described(action))),
    ...unnamed("work", state.runs).map((slot) => line("Work", cut(slot))),
    ...(state.working && state.runs.length === 0 && named("work").length === 0 ? [line("Work", "work")] : []),
  ]
}

const described = ({ name, slots }: ActionBlueprint): string =>
  slots.length === 0 ? cut(name) : `${cut(name)} / ${cut(slots.join(", "), 60)}`

const line = (kind: Line["kind"], text: string): Line => ({ kind, text, taken: false })

const stopsOf = (blueprint: Blueprint, edges: ReadonlyArray<Edge>): ReadonlyArray<StopMarker> => {
  const reasons = blueprint.transitions.flatMap(({ targets }) =>
    targets.flatMap((target) => (target._tag === "Stop" ? [target.reason] : [])),
  )
  return [...new Set(reasons)].map((reason) => {
    const key = stopKey(reason)
    return { key, reason: cut(reason ?? "stopped"), reached: edges.some((edge) => edge.to === key && edge.taken) }
  })
}

const groupsIn = (items: ReadonlyArray<Item>): ReadonlyArray<Group> =>
  items.flatMap((item) => (item._tag === "Group" ? [item, ...groupsIn(item.items)] : []))
