/**
 * Shared by handlers: provides operations with the services of the workspace, maps their errors to problems, makes changes once per
 * idempotency key, and refuses unknown keys of bodies.
 */

import { IdempotencyKey } from "@detent/api/Headers"
import type { BadRequest } from "@detent/api/Problem"
import type { QueryParameter } from "@detent/api/QueryParameter"
import { CurrentActor } from "@detent/durable"
import { changeAudited } from "@detent/workspace/AuditLog"
import { decodeStrictly, problemOfSchema } from "@detent/workspace/SchemaProblem"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { answering, badRequest, type OperationError } from "./ProblemOf.ts"
import { RequestGrants } from "./Tokens.ts"

/** The person of a request that names none: a token identifies a role, not a person. */
export const operator = "operator"

/** `S` are the additional services of a system. */
export const makeOperating = <S = never>() =>
  Effect.map(
    Effect.context<WorkspaceServices | RequestGrants | S>(),
    (workspace) =>
      <A, E extends OperationError, R>(operation: Effect.Effect<A, E, R>) =>
        answering(
          Effect.withFiber((fiber) => {
            const request = Context.getOption(fiber.context, HttpServerRequest)
            const grant = Option.isSome(request) ? Context.get(workspace, RequestGrants).get(request.value.source) : undefined
            const provided = Effect.provideContext(operation, workspace)
            return grant === undefined ? provided : Effect.provideService(provided, CurrentActor, grant.actor)
          }),
        ),
  )

/** The part of a handler's input that identifies a change for its idempotency key. */
interface Changing {
  readonly request: HttpServerRequest
  readonly endpoint: { readonly identifier: string }
  readonly group: { readonly identifier: string }
  readonly params?: unknown
  readonly payload?: unknown
  /** The content of a request without a body. Default: the body. */
  readonly content?: unknown
  /** The answer has a secret, so it is not kept for the key. */
  readonly isSecret?: boolean
}

const isKey = Schema.is(IdempotencyKey)

/** Runs an operation that changes something. With an Idempotency-Key, it runs once per key. */
export const makeChanging = <S = never>() =>
  Effect.map(makeOperating<S>(), (operating) => <A, E extends OperationError, R>(input: Changing, operation: Effect.Effect<A, E, R>) => {
    const { request, endpoint, group, params, payload, content = payload, isSecret } = input
    const key = request.headers["idempotency-key"]
    if (key !== undefined && !isKey(key)) return Effect.fail(keyInvalid)
    const change = operating(
      changeAudited({ operation: `${group.identifier}.${endpoint.identifier}`, params, content, key, isSecret }, operation),
    )
    return payload === undefined ? Effect.andThen(refuseFields(request), change) : change
  })

/** Refuses fields in the body of a request that takes none: a setting must not be ignored silently. */
const refuseFields = (request: HttpServerRequest): Effect.Effect<void, BadRequest> =>
  Effect.flatMap(Effect.orDie(request.text), (text) => {
    const body = text.trim() === "" ? {} : Option.getOrUndefined(readJson(text))
    if (!Predicate.isObject(body)) return Effect.fail(bodyInvalid("this request takes no body"))
    const [name] = Object.keys(body)
    return name === undefined
      ? Effect.void
      : Effect.fail(bodyInvalid(`${name.slice(0, longestName)} is not known; this request takes no fields`))
  })

/** The value of a query parameter; undefined where the request has none. */
export const readParameter = <A>(
  request: HttpServerRequest,
  { name, schema }: QueryParameter<A>,
): Effect.Effect<A | undefined, BadRequest> => {
  const given = new URLSearchParams(request.url.slice(request.url.indexOf("?") + 1)).get(name)
  if (!request.url.includes("?") || given === null) return Effect.undefined
  const decoded = Schema.decodeUnknownResult(schema)(given)
  return Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(
        badRequest(
          "QueryInvalid",
          `the query does not fit: ${problemOfSchema(decoded.failure)} (${name}); GET /openapi.json has the schema`,
        ),
      )
}

const readJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

const longestName = 100

const bodyInvalid = (problem: string): BadRequest =>
  badRequest("PayloadInvalid", `the body does not fit: ${problem}; GET /openapi.json has the schema`)

const keyInvalid = badRequest(
  "HeadersInvalid",
  "the Idempotency-Key does not fit: it has 1 to 200 visible ASCII characters; send another one",
)

/**
 * Refuses a body with unknown keys: a misspelt setting must not be ignored silently. The body has been read and decoded, so this reads
 * it again from memory.
 */
export const refuseUnknownKeys = <S extends Schema.Top & { readonly DecodingServices: never }>(
  schema: S,
): ((request: HttpServerRequest) => Effect.Effect<void, BadRequest>) => {
  const decode = decodeStrictly(schema)
  return (request) =>
    Effect.flatMap(Effect.orDie(request.json), (body) => {
      const decoded = decode(body)
      return Result.isSuccess(decoded) ? Effect.void : Effect.fail(bodyInvalid(decoded.failure))
    })
}
