/** How the commands show a machine. */
import type { Blueprint } from "@detent/machine"

export const countText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ")

type StateBlueprint = Blueprint["states"][number]
type Requesting = Pick<StateBlueprint, "requestsOnEnter" | "requestsOnExit" | "runs">

/** The slots that states request by themselves. States without requests are left out. */
export const stateRequests = (states: ReadonlyArray<StateBlueprint>): Readonly<Record<string, Requesting>> =>
  Object.fromEntries(
    states
      .filter(({ requestsOnEnter, requestsOnExit, runs }) => requestsOnEnter.length + requestsOnExit.length + runs.length > 0)
      .map(({ tag, requestsOnEnter, requestsOnExit, runs }) => [tag, { requestsOnEnter, requestsOnExit, runs }]),
  )

export const requestsText = ({ requestsOnEnter, requestsOnExit, runs }: Requesting): string =>
  [
    ...requestsOnEnter.map((slot) => `${slot} on enter`),
    ...requestsOnExit.map((slot) => `${slot} on exit`),
    ...runs.map((slot) => `${slot} while it lasts`),
  ].join(", ")
