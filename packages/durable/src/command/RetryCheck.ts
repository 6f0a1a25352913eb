/**
 * Whether it makes sense to execute a dead letter again: its instance must be able to accept the event that follows. If the instance has
 * ended, or its state has no transition for that event, the result of the effect is lost, for example of a payment.
 */
import { compiledOf, type Tagged } from "@detent/machine/internal"
import type { StoredCommand } from "@detent/store"
import { Journal } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Engine, type KnownMachine } from "../Engine.ts"

/** Returns why a command should not be executed again; undefined if it can be. */
export type RetryCheck = (command: StoredCommand) => Effect.Effect<string | undefined>

/** The check with the available services: without a journal it refuses nothing, without an engine it does not check events. */
export const retryCheck: Effect.Effect<RetryCheck> = Effect.gen(function* () {
  const journal = Option.getOrUndefined(yield* Effect.serviceOption(Journal))
  const engine = Option.getOrUndefined(yield* Effect.serviceOption(Engine))
  return (command) => {
    const { instance } = command
    if (journal === undefined || instance === undefined) return Effect.undefined
    return Effect.map(Effect.option(journal.open(instance)), (found) => {
      const record = Option.getOrUndefined(Option.flatten(found))?.record
      if (record === undefined) return undefined
      const name = `${instance.machine} ${instance.id}`
      if (record.status === "final" || record.status === "stopped") return `${name} has ended in ${record.tag}`
      const machine = Option.getOrUndefined(engine?.machine(instance.machine) ?? Option.none())
      const event = machine === undefined ? undefined : followingTag(machine, command)
      return event === undefined || machine === undefined || accepts(machine, record.tag, event)
        ? undefined
        : `${name} is in ${record.tag}, which has no transition for ${event}`
    })
  }
})

/** The tag of the event that `onSuccess` makes. There is no result yet, so the function gets a stand-in. */
const followingTag = (machine: KnownMachine, { slot, key, instance }: StoredCommand): string | undefined => {
  const onSuccess = compiledOf(machine).declarations.commands?.[slot]?.onSuccess
  if (onSuccess === undefined) return undefined
  try {
    return (onSuccess(standIn, { id: instance?.id ?? "", key, parameters: standIn as object }) as Tagged | undefined)?._tag
  } catch {
    // It computes with the result, so its event cannot be predicted.
    return undefined
  }
}

/** Has every property, which again is a stand-in. */
const standIn: unknown = new Proxy(() => undefined, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : standIn),
  apply: () => standIn,
})

const accepts = (machine: KnownMachine, state: string, event: string): boolean => {
  const node = compiledOf(machine).nodes.get(state)
  return node === undefined || node.on.has(event) || node.postponed.has(event)
}
