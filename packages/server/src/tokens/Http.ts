/** Handlers of the API of tokens and of the audit log. */
import { CreateToken, RotateToken } from "@detent/api/AccessApi"
import { CoreApi } from "@detent/api/CoreApi"
import * as access from "@detent/workspace/operations/access"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { NamedTokens } from "../access/NamedTokens.ts"
import { makeChanging, makeOperating, refuseUnknownKeys } from "../serve/Operating.ts"

export const accessHandlers = HttpApiBuilder.group(
  CoreApi,
  "access",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating()
    const changing = yield* makeChanging()
    const { refresh } = yield* NamedTokens
    const createKeys = refuseUnknownKeys(CreateToken)
    const rotateKeys = refuseUnknownKeys(RotateToken)
    return handlers
      .handle("listTokens", () => operating(Effect.map(access.listTokens, (tokens) => ({ tokens }))))
      .handle("createToken", (input) => {
        const { payload } = input
        const creating = Effect.tap(access.createToken(payload), () => refresh)
        const { name } = payload
        return Effect.andThen(createKeys(input.request), changing({ ...input, params: { name }, isSecret: true }, creating))
      })
      .handle("rotateToken", (input) => {
        const {
          params: { name },
          payload: { keep },
        } = input
        const rotating = Effect.tap(access.rotateToken(name, keep), () => refresh)
        return Effect.andThen(rotateKeys(input.request), changing({ ...input, isSecret: true }, rotating))
      })
      .handle("revokeToken", (input) =>
        changing(
          input,
          Effect.tap(access.revokeToken(input.params.name), () => refresh),
        ),
      )
      .handle("audit", ({ query }) => operating(access.audit(query)))
  }),
)
