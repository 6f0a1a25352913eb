/** Makes changes once per `--key`: through the server of the workspace, or in this process without a server. */
import { changeAudited } from "@detent/workspace/AuditLog"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../Failure.ts"
import type { RunningServer } from "./Server.ts"

export interface Change {
  /** The name of the operation in the API, such as `batches.cancel`: its idempotency keys hold with or without a server. */
  readonly operation: string
  /** The path parameters of the API: the object of the change. */
  readonly params: Readonly<Record<string, unknown>>
  /** The body of the request. */
  readonly json?: unknown
  /** The content of a request without a body. Default: the body. */
  readonly content?: unknown
  readonly key: string | undefined
  /** The answer has a secret, so it is not kept for the key. */
  readonly isSecret?: boolean
}

const isKey = (key: string): boolean => /^[\x21-\x7e]{1,200}$/.test(key)

/** Refuses a key that does not fit into a header, also without a server. */
export const checkKey = (key: string | undefined): Effect.Effect<void, WrongUsage> =>
  key === undefined || isKey(key)
    ? Effect.void
    : Effect.fail(new WrongUsage({ problem: "--key does not fit", nextStep: "it has 1 to 200 visible ASCII characters" }))

/** Changes the database directly: for changes that a running server does not cache. */
export const changedHere = <A, E, R>({ operation, params, json, content = json, key, isSecret }: Change, here: Effect.Effect<A, E, R>) =>
  Effect.andThen(checkKey(key), changeAudited({ operation, params, content, key, isSecret }, here))

/** Returns the server's answer, or the result of the operation in this process. */
export const changed = <A, E, R, Answer = unknown>(
  server: RunningServer | undefined,
  change: Change & { readonly path: string; readonly answer?: Schema.Codec<Answer, unknown> },
  here: Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    if (server === undefined) return yield* changedHere(change, here)
    const { path, json, key, answer = Schema.Unknown as unknown as Schema.Codec<Answer, unknown> } = change
    yield* checkKey(key)
    const given = yield* server.post(path, json === undefined ? undefined : { json }, headersOf(key))
    return yield* Schema.decodeUnknownEffect(answer)(given)
  })

export const headersOf = (key: string | undefined): Readonly<Record<string, string>> =>
  key === undefined ? {} : { "idempotency-key": key }
