/**
 * Exports the structure of any machine as an entity workflow: events become manual transitions, automatic transitions stay automatic,
 * guards become criteria, and requested effects become processors. Parts that a workflow cannot express are listed.
 */
import type { Blueprint } from "@detent/machine"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { updateTag } from "./EntityEvent.ts"
import { type TransitionDefinition, WorkflowDefinition } from "./WorkflowDefinition.ts"

export interface MachineExport {
  readonly definition: WorkflowDefinition
  /** Parts of the machine that a workflow cannot express, as text. */
  readonly omitted: ReadonlyArray<string>
}

type TransitionBlueprint = Blueprint["transitions"][number]

/** Exports a machine, or its blueprint. Fails with every name that a workflow cannot have. */
export const exportMachine = (source: { readonly blueprint: Blueprint } | Blueprint): Result.Result<MachineExport, string> => {
  const blueprint = "blueprint" in source ? source.blueprint : source
  const omitted: Array<string> = []
  const names = new Names()
  const transitions = blueprint.transitions.flatMap((one) => transitionsOf(one, names, omitted))
  for (const { tag, runs, working, requestsOnEnter, requestsOnExit } of blueprint.states) {
    if (working) omitted.push(`the work of ${tag}${runs.length === 0 ? "" : `: ${runs.join(", ")}`}`)
    for (const request of requestsOnEnter) omitted.push(`${request} on entering ${tag}`)
    for (const request of requestsOnExit) omitted.push(`${request} on leaving ${tag}`)
  }
  for (const { name } of blueprint.stateGroups) omitted.push(`the group ${name}: its states are exported without it`)
  const states = blueprint.states.map((state) => state.tag)
  const data = {
    name: blueprint.name,
    version: blueprint.version,
    initial: blueprint.states.find((state) => state.initial)?.tag ?? states[0] ?? "",
    states,
    ends: blueprint.states.filter((state) => state.final).map((state) => state.tag),
    transitions,
  }
  const decoded = Schema.decodeResult(WorkflowDefinition)(data)
  return Result.isSuccess(decoded) ? Result.succeed({ definition: decoded.success, omitted }) : Result.fail(String(decoded.failure))
}

const transitionsOf = (one: TransitionBlueprint, names: Names, omitted: Array<string>): ReadonlyArray<TransitionDefinition> => {
  const what = causeOf(one)
  if (one._tag === "Timeout" || one._tag === "Postpone") {
    omitted.push(`${one._tag === "Timeout" ? "the timeout" : "the postponing of"} ${what} of ${one.from}`)
    return []
  }
  return one.targets.flatMap((target) => {
    if (target._tag !== "State") {
      omitted.push(`${what} of ${one.from}: it ${target._tag === "Stay" ? "stays" : "stops the machine"}`)
      return []
    }
    const wanted = one._tag === "Event" ? one.event : `to_${target.state}`
    return [
      {
        name: names.unused(one.from, wanted === updateTag ? `${updateTag}_` : wanted, target.state),
        from: one.from,
        to: target.state,
        ...(one._tag === "Event" ? { manual: true } : {}),
        ...(one.requests.length === 0 ? {} : { processors: one.requests }),
        ...(one.guards.length === 0 ? {} : { criteria: one.guards }),
        ...(one.description === undefined ? {} : { description: one.description }),
      },
    ]
  })
}

const causeOf = (one: TransitionBlueprint): string =>
  one._tag === "Always" ? "an automatic transition" : one._tag === "Timeout" ? one.name : one.event

/** Makes names unique: a workflow distinguishes the transitions of a state by name alone. */
class Names {
  readonly #used = new Set<string>()

  unused(from: string, name: string, to: string): string {
    const candidates = [name, `${name}_to_${to}`]
    for (let count = 2; ; count++) {
      const found = candidates.find((one) => !this.#used.has(JSON.stringify([from, one])))
      if (found !== undefined) {
        this.#used.add(JSON.stringify([from, found]))
        return found
      }
      candidates.push(`${name}_${count}`)
    }
  }
}
