/**
 * Every refusal and failure is answered with problem details (RFC 9457, `application/problem+json`): the cause and the next step.
 * There is one class for each status, so that the typed client can distinguish them by their tag.
 */

import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"

const fields = {
  /** Names the kind of problem, such as `urn:detent:problem:InstanceNotFound`. */
  type: Schema.String,
  title: Schema.String,
  status: Schema.Int,
  /** The cause and the next step, as text for users. */
  detail: Schema.String,
}

export const problemType = "application/problem+json"

const asProblem = HttpApiSchema.asJson({ contentType: problemType })

/** The kind of problem, as a URN. */
export const kind = (name: string) => `urn:detent:problem:${name}`

export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", fields, { httpApiStatus: 400 }) {
  override get message() {
    return this.detail
  }
}

export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", fields, { httpApiStatus: 401 }) {
  override get message() {
    return this.detail
  }
}

export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", fields, { httpApiStatus: 403 }) {
  override get message() {
    return this.detail
  }
}

export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", fields, { httpApiStatus: 404 }) {
  override get message() {
    return this.detail
  }
}

const conflictFields = {
  ...fields,
  /** The earlier upload of the same file, for the kind `AlreadyUploaded`. */
  batchId: Schema.optionalKey(Schema.String),
}

export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", conflictFields, { httpApiStatus: 409 }) {
  override get message() {
    return this.detail
  }
}

export class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", fields, { httpApiStatus: 413 }) {
  override get message() {
    return this.detail
  }
}

export class UnsupportedType extends Schema.TaggedError<UnsupportedType>()("UnsupportedType", fields, { httpApiStatus: 415 }) {
  override get message() {
    return this.detail
  }
}

export class Unprocessable extends Schema.TaggedError<Unprocessable>()("Unprocessable", fields, { httpApiStatus: 422 }) {
  override get message() {
    return this.detail
  }
}

export class Failed extends Schema.TaggedError<Failed>()("Failed", fields, { httpApiStatus: 500 }) {
  override get message() {
    return this.detail
  }
}

export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", fields, { httpApiStatus: 503 }) {
  override get message() {
    return this.detail
  }
}

export class TimedOut extends Schema.TaggedError<TimedOut>()("TimedOut", fields, { httpApiStatus: 504 }) {
  override get message() {
    return this.detail
  }
}

/** Errors that any operation may return. */
export const problems = [
  BadRequest.pipe(asProblem),
  Unauthorized.pipe(asProblem),
  Forbidden.pipe(asProblem),
  NotFound.pipe(asProblem),
  Conflict.pipe(asProblem),
  TooLarge.pipe(asProblem),
  UnsupportedType.pipe(asProblem),
  Unprocessable.pipe(asProblem),
  Failed.pipe(asProblem),
  Unavailable.pipe(asProblem),
  TimedOut.pipe(asProblem),
] as const

/** The class of each status that operations answer with. */
export const problemClasses = {
  400: BadRequest,
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  413: TooLarge,
  415: UnsupportedType,
  422: Unprocessable,
  500: Failed,
  503: Unavailable,
  504: TimedOut,
} as const

export type Problem = InstanceType<(typeof problemClasses)[keyof typeof problemClasses]>

/** The class of a status. Undefined for one that no operation answers with. */
export const problemClassOf = (status: number): (typeof problemClasses)[keyof typeof problemClasses] | undefined =>
  (problemClasses as Readonly<Record<number, (typeof problemClasses)[keyof typeof problemClasses] | undefined>>)[status]

/** The JSON body of a problem, for refusals before routing. The tag is that of the status, so that the typed client decodes it. */
export const problemBody = (problem: {
  readonly status: number
  readonly name: string
  readonly title: string
  readonly detail: string
}): string => {
  const { status, name, title, detail } = problem
  return JSON.stringify({ _tag: problemClassOf(status)?.identifier ?? name, type: kind(name), title, status, detail })
}
