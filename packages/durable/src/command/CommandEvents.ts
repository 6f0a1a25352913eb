/** Events that commands send to the instance they belong to. */
import { DefinitionError, type SendError } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { ClaimedCommand } from "../Commands.ts"
import type { InstanceKey } from "../Commit.ts"
import type { EngineCore } from "../EngineCore.ts"
import { awaitEnvelope, Envelope } from "../Envelope.ts"
import type { InstanceNotFound } from "../InstanceNotFound.ts"
import { commandEventsRefused } from "./CommandMetrics.ts"

/** `Heard`: it was decided on, by being taken or refused. `Lost`: the store or a lock stood in the way. */
export type Delivered = { readonly _tag: "Heard" } | { readonly _tag: "Lost"; readonly problem: string }

export const deliver = (core: EngineCore, key: InstanceKey, event: Tagged, id: string): Effect.Effect<Delivered> =>
  Effect.matchEffect(send(core, key, event, id), {
    onSuccess: () => Effect.succeed<Delivered>({ _tag: "Heard" }),
    onFailure: (error) => {
      if (!isRefusal(error) || core.isClosed) return Effect.succeed<Delivered>({ _tag: "Lost", problem: error.message })
      const told = Effect.logWarning(`what followed from a command was refused: ${error.message}`)
      return Effect.as(Effect.andThen(Metric.update(commandEventsRefused, 1), told), { _tag: "Heard" } satisfies Delivered)
    },
  })

const send = (core: EngineCore, key: InstanceKey, event: Tagged, id: string): Effect.Effect<void, SendError | InstanceNotFound> =>
  Effect.flatMap(core.open(key), (cell) => Effect.asVoid(awaitEnvelope(cell.deliver(new Envelope(event, { dedupeId: id })))))

const isRefusal = ({ _tag }: SendError | InstanceNotFound): boolean =>
  _tag !== "PersistenceFailed" &&
  _tag !== "SequenceConflict" &&
  _tag !== "LockingFailed" &&
  _tag !== "EventReplayError" &&
  _tag !== "InstanceNotFound"

/**
 * The id of the event that follows from a command: one for each round. Whoever retries a command by hand after the instance was
 * told of its failure wants the instance to be told of its success too.
 */
export const eventIdOf = ({ key, round }: ClaimedCommand): string => (round === 0 ? `@command/${key}` : `@retry/${round}/${key}`)

/** The instance as the handler of a command sees it. What it sends has ids too: the first, the second, of this command. */
export const selfOfCommand = (core: EngineCore, key: InstanceKey, command: ClaimedCommand) => {
  let sent = 0
  const next = () => `${eventIdOf(command)}/${sent++}`
  return {
    id: key.id,
    send: (event: Tagged) => Effect.suspend(() => send(core, key, event, next())),
    tell: (event: Tagged) =>
      Effect.suspend(() =>
        Effect.catch(send(core, key, event, next()), (error) => Effect.logWarning(`what a command sent was not taken: ${error.message}`)),
      ),
    spawn: () =>
      Effect.die(
        new DefinitionError({
          machine: key.machine,
          problem: "a command of a durable instance cannot spawn an actor: it may run in another process",
          nextStep: "send the instance an event, and spawn in the state that leads to",
        }),
      ),
  }
}
