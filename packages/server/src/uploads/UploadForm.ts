/**
 * Reads the file of a multipart form while the form arrives. A form counts only as a whole: the content of its file ends successfully
 * after the closing boundary of the form has been read, and fails if the form ends before that or has a second file.
 *
 * Reads the body of the request with the parser of Effect instead of the parts that the endpoint decodes: the parser of the Node platform
 * throws where a form has no boundary or several malformed parts.
 */

import type { BadRequest } from "@detent/api/Problem"
import { formLimits } from "@detent/api/UploadApi"
import { Mapping } from "@detent/uploads"
import { FileMissing } from "@detent/workspace/errors"
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
  readonly file: ReceivedFile<BadRequest, never>
  readonly mapping: Mapping | "none" | undefined
}

/** The file of the form, and the mapping before it. Later parts of the form are read after its content. */
export const readFile = (request: HttpServerRequest): Effect.Effect<FileForm, BadRequest | FileMissing, Scope.Scope> =>
  Effect.gen(function* () {
    const fields = new Map<string, string>()
    const next = yield* filesOf(request, fields)
    const file = yield* next
    if (file === undefined) return yield* new FileMissing()
    const { key, name: fileName, contentType } = file
    if (key !== fileKey)
      return yield* formInvalid(`its file is in the part ${JSON.stringify(key.slice(0, 100))}; send it in the part ${fileKey}, ${example}`)
    const end = Effect.flatMap(next, (other) =>
      other === undefined ? Effect.void : formInvalid("it has more than one file; send each file in a request of its own"),
    )
    const content = Stream.concat(Stream.mapError(file.content, problemOf), Stream.drain(Stream.fromEffect(end)))
    return { file: { fileName, contentType, content }, mapping: yield* mappingIn(fields.get(mappingKey)) }
  })

const decodeMapping = Schema.decodeUnknownResult(Schema.fromJsonString(Mapping), { onExcessProperty: "error" })

const mappingIn = (text: string | undefined): Effect.Effect<Mapping | "none" | undefined, BadRequest> => {
  if (text === undefined || text === "none") return Effect.succeed(text)
  const decoded = decodeMapping(text)
  return Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : formInvalid(`its ${mappingKey} does not fit: ${problemOfSchema(decoded.failure)}; GET /openapi.json has the schema of mappings`)
}

/** Returns an Effect that reads up to the next file of the form; undefined after the closing boundary. Adds the fields on the way. */
const filesOf = (
  request: HttpServerRequest,
  fields: Map<string, string>,
): Effect.Effect<Effect.Effect<Multipart.File | undefined, BadRequest>, never, Scope.Scope> => {
  const body = NodeStream.fromReadable<Uint8Array, Multipart.MultipartError>({
    evaluate: () => toIncomingMessage(request),
    onError: (cause) => Multipart.MultipartError.fromReason("InternalError", cause),
    // Closing the body would close the connection before the answer to a form that is refused.
    closeOnDone: false,
  })
  const parts = Stream.pipeThroughChannel(body, Multipart.makeChannel<Multipart.MultipartError>(request.headers)).pipe(
    Stream.filter((part) => {
      if (Multipart.isField(part)) fields.set(part.key, part.value)
      return Multipart.isFile(part)
    }),
    Stream.provideContext(Multipart.limitsServices(formLimits)),
  )
  return Effect.map(Stream.toPull(parts), (pull) => {
    const arrived: Array<Multipart.File> = []
    const arriving = Pull.matchEffect(pull, {
      onSuccess: (files) => Effect.sync(() => arrived.push(...files)),
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
