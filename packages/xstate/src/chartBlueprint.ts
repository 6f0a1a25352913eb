/** The blueprint of a chart, for diagrams: every state, inside the states and regions that contain it. */
import type { Blueprint } from "@detent/machine"
import type { AnyStateNode } from "xstate"
import { type Chart, rootTag, tagOfNode } from "./Chart.ts"
import { slots } from "./Slots.ts"

type StateBlueprint = Blueprint["states"][number]
type TransitionBlueprint = Blueprint["transitions"][number]
type TargetBlueprint = TransitionBlueprint["targets"][number]

export const chartBlueprint = (chart: Chart, name: string, version: number, effects: ReadonlyArray<string>): Blueprint => {
  const { root } = chart.machine
  const states = chart.nodes.filter(isLeaf)
  const groups = chart.nodes.filter((node) => groupName(node) !== undefined && !isLeaf(node) && node.type !== "history")
  const initial = new Set(initialLeaves(root))
  return {
    name,
    version,
    states: states.map((node) => stateOf(node, initial.has(node))),
    stateGroups: groups.map((node) => ({
      name: groupName(node) ?? rootTag,
      parent: groupOf(node),
      members: Object.values(node.states)
        .filter((child) => child.type !== "history")
        .map(tagOfNode),
      ...(node.parent?.type === "parallel" ? { region: true as const } : {}),
      ...metaOf(node),
    })),
    events: chart.eventTypes.map((tag) => ({ tag, fields: [], group: undefined, reply: false })),
    eventGroups: [],
    transitions: chart.nodes.flatMap((node) => transitionsOf(chart, node)),
    guards: [...new Set(chart.nodes.flatMap((node) => [...node.transitions.values()].flat().flatMap(({ guard }) => guardsOf(guard))))],
    effects,
  }
}

const isLeaf = (node: AnyStateNode): boolean => node.type === "atomic" || node.type === "final"

/** The machine ends in a final state of its root; any other final state only completes the state that contains it. */
const isEnd = ({ type, parent }: AnyStateNode): boolean => type === "final" && parent?.parent === undefined && parent?.type === "compound"

/** The root is a group if it has regions. */
const groupName = (node: AnyStateNode): string | undefined => {
  if (node.parent !== undefined) return tagOfNode(node)
  return node.type === "parallel" ? rootTag : undefined
}

const groupOf = ({ parent }: AnyStateNode): string | undefined => (parent === undefined ? undefined : groupName(parent))

const metaOf = ({ tags, description }: AnyStateNode) => ({
  ...(tags.length === 0 ? {} : { tags }),
  ...(description === undefined ? {} : { description }),
})

/** The group that a final state completes. */
const completedBy = (node: AnyStateNode) => {
  const group = node.type === "final" ? groupOf(node) : undefined
  return group === undefined ? {} : { completes: [group] }
}

const stateOf = (node: AnyStateNode, initial: boolean): StateBlueprint => {
  const runs = node.invoke.map(({ src }) => String(src))
  return {
    tag: tagOfNode(node) || node.key,
    fields: [],
    group: groupOf(node),
    initial,
    final: isEnd(node),
    requestsOnEnter: namesOf(node.entry),
    requestsOnExit: namesOf(node.exit),
    runs,
    working: runs.length > 0,
    ...completedBy(node),
    ...metaOf(node),
  }
}

/** Custom actions, by name. */
const namesOf = (actions: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  actions.flatMap((action) => {
    if (typeof action === "string") return [action]
    return typeof action === "object" && action !== null && "type" in action ? [String(action.type)] : []
  })

const guardsOf = (guard: unknown): ReadonlyArray<string> => {
  if (typeof guard === "string") return [guard]
  return typeof guard === "object" && guard !== null && "type" in guard ? [String(guard.type)] : []
}

/** The leaves that are entered with a state. */
const initialLeaves = (node: AnyStateNode): ReadonlyArray<AnyStateNode> => {
  if (node.type === "parallel") return Object.values(node.states).flatMap(initialLeaves)
  if (node.type === "compound") return node.initial.target.flatMap(initialLeaves)
  return node.type === "history" ? (node.parent === undefined ? [] : initialLeaves(node.parent)) : [node]
}

const leavesOf = (node: AnyStateNode): ReadonlyArray<AnyStateNode> => (isLeaf(node) ? [node] : Object.values(node.states).flatMap(leavesOf))

const transitionsOf = (chart: Chart, node: AnyStateNode): ReadonlyArray<TransitionBlueprint> => [
  ...[...node.transitions.values()].flat().flatMap((transition) => drawn(chart, node, transition)),
  ...(node.always ?? []).flatMap((transition) => drawn(chart, node, transition)),
]

/** The states that a transition enters: one state, one of each region, or those of the history. */
const targetsOf = (node: AnyStateNode): ReadonlyArray<TargetBlueprint> => {
  const { parent } = node
  const group = parent === undefined ? undefined : groupName(parent)
  const history =
    node.type === "history" && parent !== undefined && group !== undefined
      ? { history: { group, deep: node.history === "deep", states: leavesOf(parent).map(tagOfNode) } }
      : {}
  return initialLeaves(node).map((leaf) => ({ _tag: "State", state: tagOfNode(leaf), ...history }))
}

interface Drawable {
  readonly eventType: string
  readonly target: ReadonlyArray<AnyStateNode> | undefined
  readonly actions: ReadonlyArray<unknown>
  readonly guard?: unknown
  readonly description?: string | undefined
  readonly reenter: boolean
}

/** The transition of a state that contains others applies to each of them: the diagram draws it once, from the border. */
const drawn = (chart: Chart, node: AnyStateNode, transition: unknown): ReadonlyArray<TransitionBlueprint> => {
  const { eventType, target, actions, guard, description, reenter } = transition as Drawable
  const targets = target === undefined ? [{ _tag: "Stay" as const }] : target.flatMap(targetsOf)
  const common = { targets, guards: guardsOf(guard), requests: namesOf(actions), description }
  return leavesOf(node)
    .filter((leaf) => !isEnd(leaf))
    .map((leaf): TransitionBlueprint => {
      const from = tagOfNode(leaf) || leaf.key
      if (eventType === "") return { ...common, _tag: "Always", from }
      if (chart.delayTypes.includes(eventType)) {
        const after = eventType.slice("xstate.after.".length, -(node.id.length + 1))
        return {
          ...common,
          _tag: "Timeout",
          from,
          name: eventType,
          after: /^\d+$/.test(after) ? `${after}ms` : after,
          idle: false,
          label: [`after ${after}`],
        }
      }
      return { ...common, _tag: "Event", from, event: eventType, fallback: false, reenter, label: [labelOf(node, eventType)] }
    })
}

/** The end of an actor is named after the actor: by its id, or by its logic if the chart gives no id. */
const labelOf = (node: AnyStateNode, type: string): string => {
  const [, end = "", id = ""] = /^xstate\.(done|error)\.(?:actor|state)\.(.*)$/.exec(type) ?? []
  if (end === "") return type
  const index = node.invoke.findIndex((invocation) => invocation.id === id)
  const configured = [node.config.invoke ?? []].flat()[index]
  const isNamed = configured === undefined || configured.id !== undefined || typeof configured.src !== "string"
  return `${end} ${isNamed ? id : configured.src}`
}

export const effectNames = (chart: Chart, actions: ReadonlySet<string>): ReadonlyArray<string> => [
  ...actions,
  ...[...chart.actors].flatMap(([src, { kind }]) => (kind === "promise" ? [slots.invoke(src)] : [])),
]
