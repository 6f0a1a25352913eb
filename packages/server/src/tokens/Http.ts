/** Handlers of the API of tokens and of the audit log. */
import { CreateToken, RotateToken } from "@detent/api/AccessApi"
import { CoreApi } from "@detent/api/CoreApi"
import * as access from "@detent/workspace/operations/access"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { NamedTokens } from "../access/NamedTokens.ts"
import { makeOperating, refuseUnknownKeys } from "../serve/Operating.ts"

export const accessHandlers = HttpApiBuilder.group(
  CoreApi,
  "access",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    const named = yield* NamedTokens
    const createKeys = refuseUnknownKeys(CreateToken)
    const rotateKeys = refuseUnknownKeys(RotateToken)
    return handlers
      .handle("listTokens", () => operating(Effect.map(access.listTokens, (tokens) => ({ tokens }))))
      .handle("createToken", ({ request, payload }) =>
        Effect.andThen(createKeys(request), operating(Effect.tap(access.createToken(payload), () => named.refresh))),
      )
      .handle("rotateToken", ({ request, params: { name }, payload: { keep } }) =>
        Effect.andThen(rotateKeys(request), operating(Effect.tap(access.rotateToken(name, keep), () => named.refresh))),
      )
      .handle("revokeToken", ({ params: { name } }) => operating(Effect.tap(access.revokeToken(name), () => named.refresh)))
      .handle("audit", ({ query }) => operating(access.audit(query)))
  }),
)
