/** Changes the limits of a queue, of each of its groups, or of one group. Workers read them from the database. */
import { groupProblem } from "@detent/store/internal"
import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../Failure.ts"
import { changedHere } from "../workspace/Changing.ts"

export interface LimitRequest extends operations.QueueLimitChange {
  readonly queue: string
  /** Replaces the limits of this group; without a limit those of each group apply. */
  readonly group?: string | undefined
  /** The idempotency key. */
  readonly key: string | undefined
}

export const limitQueue = ({ queue, group, key, ...given }: LimitRequest) =>
  Effect.gen(function* () {
    const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    if (group === undefined) {
      if (Object.keys(change).length === 0)
        return yield* new WrongUsage({ problem: "no limit was given", nextStep: "give --concurrency, --rate or a limit per group" })
      return yield* changedHere({ operation: "commands.limit", params: { queue }, json: change, key }, operations.limitQueue(queue, change))
    }
    if (given.perGroup !== undefined)
      return yield* new WrongUsage({ problem: "limits of each group were given for one group", nextStep: "give --concurrency or --rate" })
    const problem = groupProblem(group)
    if (problem !== undefined)
      return yield* new WrongUsage({ problem: `--group: ${problem}`, nextStep: "see `detent queue groups` for the names of groups" })
    return yield* changedHere(
      { operation: "commands.limitGroup", params: { queue, group }, json: change, key },
      operations.limitGroup(queue, group, change),
    )
  })
