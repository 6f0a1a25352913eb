/** The blueprint of a workflow for drawings: its own states and transitions, with processors and criteria at the edges. */
import type { Blueprint } from "@detent/machine"
import { updateTag } from "./EntityEvent.ts"
import { anyState, endsOf, processorName, sourcesOf, type TransitionDefinition, type WorkflowDefinition } from "./WorkflowDefinition.ts"

type TransitionBlueprint = Blueprint["transitions"][number]

export const workflowBlueprint = (definition: WorkflowDefinition): Blueprint => {
  const { name, version = 1, initial, states, transitions, failure } = definition
  const ends = endsOf(definition)
  const manual = [...new Set(transitions.filter((one) => one.manual === true).map((one) => one.name))]
  const criteria = new Set(transitions.flatMap((one) => one.criteria ?? []))
  const processors = new Set(transitions.flatMap((one) => (one.processors ?? []).map(processorName)))
  return {
    name,
    version,
    states: states.map((tag) => ({
      tag,
      fields: [],
      group: undefined,
      initial: tag === initial,
      final: ends.has(tag),
      requestsOnEnter: [],
      requestsOnExit: [],
      runs: [],
      working: false,
    })),
    stateGroups: [],
    events: [...manual.map((tag) => eventOf(tag, ["patch", "argument"])), eventOf(updateTag, ["patch"])],
    eventGroups: [],
    transitions: transitions.flatMap((one) => drawn(one, one.name === failure)),
    guards: [...criteria],
    effects: [...processors],
  }
}

const eventOf = (tag: string, fields: ReadonlyArray<string>): Blueprint["events"][number] => ({
  tag,
  fields: fields.map((name) => ({ name, sensitive: false })),
  group: undefined,
  reply: false,
})

const drawn = (transition: TransitionDefinition, isFailure: boolean): ReadonlyArray<TransitionBlueprint> => {
  const { name, to, criteria = [], processors = [], description } = transition
  const sources = sourcesOf(transition)
  const shared = {
    targets: [{ _tag: "State", state: to } as const],
    guards: criteria,
    requests: processors.map(processorName),
    description,
    label: labelOf(transition, isFailure),
  }
  // An automatic transition from any state is drawn once, like a fallback; it has no event.
  if (sources === anyState) return [{ ...shared, _tag: "Event", from: anyState, event: name, fallback: true, reenter: false }]
  return sources.map((from) =>
    transition.manual === true || isFailure
      ? { ...shared, _tag: "Event", from, event: name, fallback: false, reenter: from === to }
      : { ...shared, _tag: "Always", from },
  )
}

/** Such as `validate_file (ValidationProcessor + ValidCriterion) [manual]`, in parts that may be drawn on separate lines. */
const labelOf = ({ name, manual, criteria = [], processors = [] }: TransitionDefinition, isFailure: boolean): ReadonlyArray<string> => {
  const inside = [...processors.map(processorName), ...criteria]
  const listed = inside.map((one, index) => `${index === 0 ? "(" : ""}${one}${index === inside.length - 1 ? ")" : " +"}`)
  return [name, ...listed, ...(manual === true ? ["[manual]"] : []), ...(isFailure ? ["[on failure]"] : [])]
}
