/** The addresses of webhooks. Their senders have no token: each request is verified by its signature. */
import { kind, type Problem } from "@detent/api/Problem"
import { receive } from "@detent/workspace/operations/webhooks"
import type { Webhook } from "@detent/workspace/Webhook"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { makeOperating } from "../serve/Operating.ts"
import { problemResponse } from "../serve/ProblemResponse.ts"

export const webhookPath = (name: string): `/${string}` => `/webhooks/${name}`

export const webhookRoutes = (webhooks: ReadonlyArray<Webhook>) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const operating = yield* makeOperating()
      for (const webhook of webhooks) {
        const received = Effect.gen(function* () {
          const { text, headers } = yield* HttpServerRequest
          const delivery = { text: yield* text, headers }
          return yield* Effect.match(operating(receive(webhook, delivery)), { onSuccess: answered, onFailure: refused })
        })
        yield* router.add("POST", webhookPath(webhook.name), received)
      }
    }),
  )

const answered = (answer: { readonly accepted: boolean }) => HttpServerResponse.jsonUnsafe(answer)

const refused = ({ type, title, status, detail }: Problem) => problemResponse({ status, name: type.slice(kind("").length), title, detail })
