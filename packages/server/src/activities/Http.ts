/** The handler of activities. Callers are operators, whose token the guard checks, or Cloud Tasks, whose token is verified here. */

import { KnowledgePart } from "@detent/api/KnowledgePart"
import { Forbidden, kind, Unauthorized } from "@detent/api/Problem"
import { TaskCallers } from "@detent/knowledge/tasks"
import * as activities from "@detent/workspace/operations/activities"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { makeOperating } from "../serve/Operating.ts"
import { problemOf } from "../serve/ProblemOf.ts"
import { RequestGrants } from "../serve/Tokens.ts"

/** The retry header that Cloud Tasks sets, and the header with the key of the task. */
const [retryCount, taskKey] = ["x-cloudtasks-taskretrycount", "x-detent-task"]

export const activityHandlers = HttpApiBuilder.group(
  KnowledgePart,
  "activities",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating<KnowledgeServices>()
    const grants = yield* RequestGrants
    const callers = yield* TaskCallers
    return handlers.handle("run", ({ params: { name }, payload, request }) =>
      Effect.gen(function* () {
        const isOperator = grants.get(request.source)?.role === "operate"
        if (!isOperator) yield* verified(callers, request)
        // Operators may call any number of times.
        const isLast = !isOperator && retriesOf(request) + 1 >= callers.maxAttempts
        return yield* operating(activities.deliver(name, payload, { key: keyOf(request), isLast }))
      }),
    )
  }),
)

const verified = (callers: TaskCallers["Service"], { headers }: HttpServerRequest) =>
  Effect.suspend(() => callers.verify(/^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1] ?? "")).pipe(
    Effect.mapError((error) => {
      if (error._tag === "KeysUnavailable") return problemOf(error)
      const fields = { type: kind("CallerRefused"), detail: error.message }
      return error.foreign
        ? new Forbidden({ ...fields, title: "Another account is required", status: 403 })
        : new Unauthorized({ ...fields, title: "The token is not valid", status: 401 })
    }),
    Effect.tapError(({ detail }) => Effect.logWarning(`a call of an activity was refused: ${detail}`)),
  )

/** How often the task was delivered before. */
const retriesOf = ({ headers }: HttpServerRequest): number => {
  const count = Number(headers[retryCount] ?? 0)
  return Number.isSafeInteger(count) && count >= 0 ? count : 0
}

/** Keys are printable. Any other value is ignored. */
const keyOf = ({ headers }: HttpServerRequest): string | undefined => {
  const key = headers[taskKey]
  return key !== undefined && /^[\x21-\x7e]{1,500}$/.test(key) ? key : undefined
}
