/**
 * Several processes may work at one batch: the first to end a stage moves the batch on, and what the others have to say about
 * that stage is refused from then on.
 */
import type { SendError } from "@detent/machine"

export const isPassedBy = (error: { readonly _tag: string }): boolean => tags.has(error._tag)

const tags: ReadonlySet<string> = new Set(["InvalidTransition", "TransitionRefused", "MachineStopped"] satisfies ReadonlyArray<
  SendError["_tag"]
>)
