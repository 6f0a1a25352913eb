/**
 * The typed client, derived from the definition of the API.
 *
 * ```ts
 * const client = yield* makeClient({ url: "http://127.0.0.1:4400" })
 * const { instances } = yield* client.instances.list({ query: { machine: "order" } })
 * yield* client.batches.cancel({ params: { batchId } }).pipe(withIdempotencyKey("cancel-7"))
 * ```
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Redacted from "effect/Redacted"
import { Api } from "../Api.ts"

export interface ClientOptions {
  /** The address of the server, such as `http://127.0.0.1:4400`. */
  readonly url: string
  readonly token?: Redacted.Redacted | undefined
}

/** Adds the token to a request. */
export const withToken =
  (token: Redacted.Redacted | undefined) =>
  <E, R>(client: HttpClient.HttpClient.With<E, R>): HttpClient.HttpClient.With<E, R> =>
    token === undefined ? client : HttpClient.mapRequest(client, HttpClientRequest.bearerToken(Redacted.value(token)))

const CurrentKey = Context.Reference<string | undefined>("@detent/server/client/IdempotencyKey", { defaultValue: () => undefined })

/**
 * Sends a request that changes something with an Idempotency-Key: a repeated request returns the first answer, a different request
 * with the key is refused.
 */
export const withIdempotencyKey =
  (key: string) =>
  <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(request, CurrentKey, key)

const isChange = ({ method }: HttpClientRequest.HttpClientRequest): boolean => method !== "GET" && method !== "HEAD"

const withKey = <E, R>(client: HttpClient.HttpClient.With<E, R>): HttpClient.HttpClient.With<E, R> =>
  HttpClient.mapRequestEffect(client, (request) =>
    Effect.map(CurrentKey, (key) =>
      key === undefined || !isChange(request) ? request : HttpClientRequest.setHeader(request, "idempotency-key", key),
    ),
  )

/** A method for each endpoint, by group. */
export interface Client extends HttpApiClient.ForApi<typeof Api> {}

/** Creates a client that uses `fetch`. */
export const makeClient = ({ url, token }: ClientOptions): Effect.Effect<Client> =>
  HttpApiClient.make(Api, { baseUrl: url, transformClient: (client) => withKey(withToken(token)(client)) }).pipe(
    Effect.provide(FetchHttpClient.layer),
  )
