/**
 * Reads the file of a multipart form while the form arrives. A form counts only as a whole: the content of its file ends successfully
 * after the closing boundary of the form has been read, and fails if the form ends before that or has a part after the file.
 *
 * Reads the body of the request with the parser of Effect instead of the parts that the endpoint decodes: the parser of the Node platform
 * throws where a form has no boundary or several malformed parts.
 */

import type { BadRequest } from "@detent/api/Problem"
import { formLimits } from "@detent/api/UploadApi"
import { Mapping } from "@detent/uploads"
import { FileMissing, PartAfterFile } from "@detent/workspace/errors"
import type { ReceivedFile } from "@detent/workspace/operations/uploads"
import { problemOfSchema } from "@detent/workspace/SchemaProblem"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Multipart from "effect/http/Multipart"
import * as Predicate from "effect/Predicate"
import * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { badRequest } from "../serve/ProblemOf.ts"

/** The names of the parts with the file and with its mapping. */
const fileKey = "file"
const mappingKey = "mapping"

const example = "such as with curl -F file=@items.json"

export interface FileForm {
  readonly file: ReceivedFile<BadRequest | PartAfterFile, never>
  readonly mapping: Mapping | "none" | undefined
}

/** The file of the form, and the mapping before it. Every other part belongs before the file: the file is stored while it arrives. */
export const readFile = (request: HttpServerRequest): Effect.Effect<FileForm, BadRequest | FileMissing, Scope.Scope> =>
  Effect.gen(function* () {
    const next = yield* partsOf(request)
    let mapping: string | undefined
    let part = yield* next
    while (part !== undefined && Multipart.isField(part)) {
      if (part.key === mappingKey) mapping = part.value
      part = yield* next
    }
    if (part === undefined) return yield* new FileMissing()
    const { key, name: fileName, contentType } = part
    if (key === mappingKey)
      return yield* formInvalid(`its ${mappingKey} is a file; send the text of it, such as with curl -F '${mappingKey}=<mapping.json'`)
    if (key !== fileKey) return yield* formInvalid(`its file is in the part ${nameOfPart(key)}; send it in the part ${fileKey}, ${example}`)
    const end = Effect.flatMap(next, (other): Effect.Effect<void, BadRequest | PartAfterFile> => {
      if (other === undefined) return Effect.void
      return Multipart.isFile(other) && other.key !== mappingKey
        ? formInvalid("it has more than one file; send each file in a request of its own")
        : Effect.fail(new PartAfterFile({ part: nameOfPart(other.key) }))
    })
    const content = Stream.concat(Stream.mapError(part.content, problemOf), Stream.drain(Stream.fromEffect(end)))
    return { file: { fileName, contentType, content }, mapping: yield* mappingIn(mapping) }
  })

const nameOfPart = (key: string): string => JSON.stringify(key.slice(0, 100))

const decodeMapping = Schema.decodeUnknownResult(Schema.fromJsonString(Mapping), { onExcessProperty: "error" })

const mappingIn = (text: string | undefined): Effect.Effect<Mapping | "none" | undefined, BadRequest> => {
  if (text === undefined || text === "none") return Effect.succeed(text)
  const decoded = decodeMapping(text)
  return Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : formInvalid(`its ${mappingKey} does not fit: ${problemOfSchema(decoded.failure)}; GET /openapi.json has the schema of mappings`)
}

/** Returns an Effect that reads the next part of the form; undefined after the closing boundary. */
const partsOf = (request: HttpServerRequest): Effect.Effect<Effect.Effect<Multipart.Part | undefined, BadRequest>, never, Scope.Scope> => {
  const body = NodeStream.fromReadable<Uint8Array, Multipart.MultipartError>({
    evaluate: () => toIncomingMessage(request),
    onError: (cause) => Multipart.MultipartError.fromReason("InternalError", cause),
    // Closing the body would close the connection before the answer to a form that is refused.
    closeOnDone: false,
  })
  const parts = Stream.pipeThroughChannel(body, Multipart.makeChannel<Multipart.MultipartError>(request.headers)).pipe(
    Stream.provideContext(Multipart.limitsServices(formLimits)),
  )
  return Effect.map(Stream.toPull(parts), (pull) => {
    const arrived: Array<Multipart.Part> = []
    const arriving = Pull.matchEffect(pull, {
      onSuccess: (some) => Effect.sync(() => arrived.push(...some)),
      onFailure: (cause) => Effect.failCause(cause),
      onDone: () => Effect.void,
    })
    const next = Effect.suspend(() => (arrived.length > 0 ? Effect.void : arriving))
    return Effect.mapError(
      Effect.map(next, () => arrived.shift()),
      problemOf,
    )
  })
}

const formInvalid = (problem: string): BadRequest => badRequest("FormInvalid", `the form cannot be read: ${problem}`)

const problemOf = ({ reason: { _tag, cause } }: Multipart.MultipartError): BadRequest => {
  switch (_tag) {
    case "Parse":
      return formInvalid(problemOfSyntax(cause))
    case "TooManyParts":
      return formInvalid(`it has more than ${formLimits.maxParts} parts; send only the file, ${example}`)
    case "FieldTooLarge":
      return formInvalid(`one of its fields is too large; send only the file, ${example}`)
    case "FileTooLarge":
    case "BodyTooLarge":
      return formInvalid(`it has more than ${formLimits.maxTotalSize}; split the file`)
    case "InternalError":
      return formInvalid("the connection failed before its end; send it again")
  }
}

const problemOfSyntax = (cause: unknown): string => {
  if (Predicate.isTagged(cause, "InvalidBoundary"))
    return `its content type has no boundary; let the HTTP client make the form and its content type, ${example}`
  if (Predicate.isTagged(cause, "EndNotReached"))
    return "it is empty or ends before its closing boundary, so its file may be incomplete; send the whole form again"
  if (Predicate.isTagged(cause, "InvalidDisposition"))
    return `one of its parts has no name; send the file in the part ${fileKey}, ${example}`
  return "a part has malformed headers, such as a file name with a control character; give the file another name, and send it again"
}
