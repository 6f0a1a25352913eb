/** Checks of options. Each throws a `DefinitionError` for a value with which nothing could work, when the engine or worker is made. */
import { DefinitionError } from "@detent/machine"
import { boundedNameProblem } from "@detent/store/internal"
import * as Duration from "effect/Duration"

/** Returns the value of a numeric option. Throws if it is too small, or NaN, which would not limit anything. */
export const atLeast = (least: number, option: string, value: number): number => {
  if (value >= least) return value
  throw new DefinitionError({
    problem: `${option} is ${value}`,
    nextStep: `give it a number of at least ${least}, or leave it out`,
  })
}

/** The same for a duration, which becomes milliseconds. NaN would become 0. */
export const millisAtLeast = (least: number, option: string, duration: Duration.Input): number => {
  const millis = Number.isNaN(duration) ? Number.NaN : Duration.toMillis(Duration.fromInputUnsafe(duration))
  return atLeast(least, `${option} (in milliseconds)`, millis)
}

/** Returns the value of an option that counts something. */
export const countOf = (option: string, value: number): number => {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new DefinitionError({ problem: `${option} is ${value}`, nextStep: "give it a whole number from 1 on, or leave it out" })
}

/** Returns the name of a node. Throws for a name that no store can keep: the node would never get a lease. */
export const checkedNodeId = (nodeId: string): string => {
  const problem = boundedNameProblem("nodeId", nodeId)
  if (problem === undefined) return nodeId
  throw new DefinitionError({ problem: `no node can be started: ${problem}`, nextStep: "give it a short name, such as worker-1" })
}
