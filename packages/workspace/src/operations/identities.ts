/** Corrections of the entities of a graph: two are one, one is several, or two are not the same. */
import { Identities, type IdentityDecision, type IdentityRequest, type Namespace } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import { optional, paged } from "../optional.ts"
import { CurrentAttempt } from "../RequestKeys.ts"
import { actorName } from "./batches.ts"
import { current } from "./graph.ts"

/** How many decisions are searched for the one that an earlier attempt at the same request has made. */
const attemptsWithin = 100

const longestReason = 1000

export interface IdentityChange extends IdentityRequest {
  readonly by: string
  readonly reason?: string | undefined
}

/** Decides, and changes the graph. */
export const decide = Effect.fn("identities.decide")(function* (namespace: Namespace, { by, reason, ...request }: IdentityChange) {
  const identities = yield* Identities
  yield* current(namespace)
  const actor = { by: actorName(by), ...optional({ reason: reason?.trim().slice(0, longestReason) || undefined }) }
  const { isRepeated } = yield* CurrentAttempt
  if (isRepeated) {
    // An earlier attempt at the request may have decided: its entities are then no longer as the request names them.
    yield* identities.finish
    const isSame = (one: IdentityDecision) =>
      one.kind === request.kind && one.by === actor.by && request.entities.every((entity, index) => one.entities[index] === entity)
    const [latest] = (yield* identities.list(namespace, { limit: attemptsWithin })).filter(isSame)
    if (latest?.state === "pending" || latest?.state === "applied") return { ...latest, state: "applied" as const }
  }
  return yield* identities.decide(namespace, request, actor)
})

/** Takes a decision back. */
export const undo = (namespace: Namespace, decision: number, by: string) =>
  Effect.flatMap(Identities, (identities) => identities.undo(namespace, decision, { by: actorName(by) }))

/** A page of decisions, newest first. */
export const list = Effect.fn("identities.list")(function* (
  namespace: Namespace,
  { limit, after }: { readonly limit: number; readonly after?: number | undefined },
) {
  yield* current(namespace)
  const found = yield* Effect.flatMap(Identities, (identities) => identities.list(namespace, { limit: limit + 1, before: after }))
  const decisions = found.slice(0, limit)
  return paged({ decisions }, found.length > limit ? decisions.at(-1)?.id : undefined)
})
