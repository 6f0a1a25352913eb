/** The event that follows from what a command came to. */

import type { Declarations, Tagged } from "../define/Declarations.ts"
import { type CommandOutcome, isDeclaredFailure } from "./CommandOutcome.ts"
import { CommandFailed } from "./CommandResult.ts"

export interface ExecutedCommand {
  readonly slot: string
  readonly id: string
  readonly key: string
  readonly parameters: object
  readonly attempts: number
}

/** Undefined where the machine declares none. A throw is the machine's own. */
export const eventOf = (
  { commands, effectSlots }: Declarations,
  { slot, id, key, parameters, attempts }: ExecutedCommand,
  outcome: CommandOutcome,
): Tagged | undefined => {
  const settings = commands?.[slot]
  const context = { id, key, parameters }
  if (outcome._tag === "Done") return settings?.onSuccess?.(outcome.value, context)
  if (outcome._tag !== "Failed") return undefined
  const { error, problem } = outcome
  return settings?.onFailure?.(
    isDeclaredFailure(error, effectSlots[slot]) ? error : new CommandFailed({ slot, key, attempts, problem }),
    context,
  )
}
