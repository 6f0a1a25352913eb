/**
 * The body of a request with a manifest. A body of 1 MB names 25,000 documents, which take 80 ms to decode: they are decoded in
 * slices, and the handler yields to other requests in between. An unknown key is refused: a misspelt setting must not be ignored
 * silently.
 */

import { type StartBatch, StartManifest, StartManifestUri } from "@detent/api/BatchApi"
import type { BadRequest } from "@detent/api/Problem"
import { ManifestFile } from "@detent/knowledge/schemas"
import { decodeStrictly } from "@detent/workspace/SchemaProblem"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { badRequest } from "../serve/ProblemOf.ts"

/** Documents that are decoded before the handler yields to other requests: about 4 ms. */
const documentsAtOnce = 1000

const decodeDocuments = decodeStrictly(Schema.toCodecJson(ManifestFile.fields.documents))

/** Decodes a value that contains a manifest. The error is the problem as text. */
export const decodingManifest = <
  S extends Schema.Top & { readonly DecodingServices: never; readonly Type: { readonly manifest: ManifestFile } },
>(
  schema: S,
) => {
  const decode = decodeStrictly(schema)
  return (value: unknown): Effect.Effect<S["Type"], string> =>
    Effect.gen(function* () {
      const documents = documentsIn(value)
      if (documents.length <= documentsAtOnce) return yield* Effect.fromResult(decode(value))
      const first = yield* Effect.fromResult(decode(withDocuments(value, documents.slice(0, documentsAtOnce))))
      const [head, ...others] = first.manifest.documents
      for (let at = documentsAtOnce; at < documents.length; at += documentsAtOnce) {
        yield* Effect.yieldNow
        const some = yield* Effect.mapError(
          Effect.fromResult(decodeDocuments(documents.slice(at, at + documentsAtOnce))),
          (problem) => `in the documents from index ${at} on: ${problem}`,
        )
        for (const document of some) others.push(document)
      }
      return { ...first, manifest: { ...first.manifest, documents: [head, ...others] } }
    })
}

const documentsIn = (value: unknown): ReadonlyArray<unknown> => {
  const manifest = Predicate.hasProperty(value, "manifest") ? value.manifest : undefined
  return Predicate.hasProperty(manifest, "documents") && Array.isArray(manifest.documents) ? manifest.documents : []
}

const withDocuments = (value: unknown, documents: ReadonlyArray<unknown>): unknown =>
  Predicate.hasProperty(value, "manifest") && Predicate.hasProperty(value.manifest, "documents")
    ? { ...value, manifest: { ...value.manifest, documents } }
    : value

const decodeManifest = decodingManifest(Schema.toCodecJson(StartManifest))
const decodeManifestUri = decodeStrictly(Schema.toCodecJson(StartManifestUri))

type Start = typeof StartBatch.Type

/** Decodes the body of a request that starts or estimates a batch, and calls `use` with it. */
export const withStart = <A, E, R>(
  request: HttpServerRequest,
  use: (start: Start) => Effect.Effect<A, E, R>,
): Effect.Effect<A | HttpServerResponse.HttpServerResponse, E | BadRequest, R> =>
  isJson(request.headers["content-type"])
    ? Effect.flatMap(startOf(request), use)
    : Effect.succeed(HttpServerResponse.text("the body is not JSON", { status: 415 }))

const isJson = (contentType = "application/json"): boolean => /^\s*application\/json\s*(;|$)/i.test(contentType)

const startOf = (request: HttpServerRequest): Effect.Effect<Start, BadRequest> =>
  Effect.gen(function* () {
    const text = yield* Effect.orDie(request.text)
    const body = yield* Effect.try({ try: (): unknown => JSON.parse(text), catch: () => "Expected a valid JSON body" })
    // Decodes only the given form, so that the error names a misspelt key.
    const decoded: Effect.Effect<Start, string> = Predicate.hasProperty(body, "manifest")
      ? decodeManifest(body)
      : Effect.fromResult(decodeManifestUri(body))
    return yield* decoded
  }).pipe(Effect.mapError((problem) => badRequest("PayloadInvalid", `the body does not fit: ${problem}; GET /openapi.json has the schema`)))
