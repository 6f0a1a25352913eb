/** Gives the operations that a handler calls the services of the workspace, and maps their errors to problems. */
import { RequestKeys } from "@detent/workspace/RequestKeys"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { HttpServerRequest } from "effect/unstable/http/HttpServerRequest"
import { IdempotencyKey } from "../api/Headers.ts"
import { answering, badRequest, type OperationError } from "./ProblemOf.ts"

/** `S` is what a system provides besides. */
export const makeOperating = <S = never>() =>
  Effect.map(
    Effect.context<WorkspaceServices | S>(),
    (workspace) =>
      <A, E extends OperationError, R>(operation: Effect.Effect<A, E, R>) =>
        answering(Effect.provideContext(operation, workspace)),
  )

/** The part of a handler's input that an idempotency key belongs to. */
interface Changing {
  readonly request: HttpServerRequest
  readonly endpoint: { readonly identifier: string }
  readonly group: { readonly identifier: string }
  readonly params?: unknown
  readonly payload?: unknown
}

const isKey = Schema.is(IdempotencyKey)

/** Runs an operation that changes something: with an Idempotency-Key once for each key. */
export const makeChanging = Effect.fnUntraced(function* <S = never>() {
  const operating = yield* makeOperating<S>()
  const keys = yield* RequestKeys
  return <A, E extends OperationError, R>({ request, endpoint, group, params, payload }: Changing, operation: Effect.Effect<A, E, R>) => {
    const key = request.headers["idempotency-key"]
    if (key === undefined) return operating(operation)
    if (!isKey(key)) return Effect.fail(keyInvalid)
    const name = `${group.identifier}.${endpoint.identifier} ${JSON.stringify(params ?? {})}`
    return operating(keys.once({ operation: name, key, content: payload ?? null }, operation))
  }
})

const keyInvalid = badRequest(
  "HeadersInvalid",
  "the Idempotency-Key does not fit: it has 1 to 200 visible ASCII characters; send another one",
)
