/** A machine in the output of commands. */
import type { Blueprint } from "@detent/machine"

export const countText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ")

type StateBlueprint = Blueprint["states"][number]
type Requesting = Pick<StateBlueprint, "requestsOnEnter" | "requestsOnExit" | "runs">

/** The slots that hooks and tasks of states and groups request. States and groups without requests are omitted. */
export const stateRequests = ({ states, stateGroups }: Blueprint): Readonly<Record<string, Requesting>> =>
  Object.fromEntries(
    [...states, ...stateGroups.flatMap(({ name, stay }) => (stay === undefined ? [] : [{ tag: name, ...stay }]))]
      .filter(({ requestsOnEnter, requestsOnExit, runs }) => requestsOnEnter.length + requestsOnExit.length + runs.length > 0)
      .map(({ tag, requestsOnEnter, requestsOnExit, runs }) => [tag, { requestsOnEnter, requestsOnExit, runs }]),
  )

/** Tags and descriptions of states and groups. States and groups without either are omitted. */
export const stateMeta = ({ states, stateGroups }: Blueprint): Readonly<Record<string, Pick<StateBlueprint, "tags" | "description">>> =>
  Object.fromEntries(
    [...states.map((state) => ({ ...state, name: state.tag })), ...stateGroups]
      .filter(({ tags, description }) => tags !== undefined || description !== undefined)
      .map(({ name, tags = [], description }) => [name, { tags, ...(description === undefined ? {} : { description }) }]),
  )

export const requestsText = ({ requestsOnEnter, requestsOnExit, runs }: Requesting): string =>
  [
    ...requestsOnEnter.map((slot) => `${slot} on enter`),
    ...requestsOnExit.map((slot) => `${slot} on exit`),
    ...runs.map((slot) => `${slot} while in the state`),
  ].join(", ")
