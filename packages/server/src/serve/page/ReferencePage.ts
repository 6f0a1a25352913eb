/**
 * Serves the reference of the API at `/docs`, one page with its script and styles in it. Its content policy allows that script by its
 * hash, and nothing of other hosts.
 */
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import { pathOf } from "../RequestGuard.ts"
import { inlineScripts } from "./pageHeaders.ts"

const path = "/docs"

export const referencePage = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  HttpApiScalar.layer(api, { path, scalar: { withDefaultFonts: false, favicon: "/icon.svg" } })

/** Adds the headers of the page to its response. */
export const withReferenceHeaders = <E, R>(
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest> => {
  /** The page is made once, so its policy is too. */
  let policy: string | undefined
  return Effect.flatMap(HttpServerRequest, ({ url }) =>
    pathOf(url) !== path
      ? app
      : Effect.map(app, (response) => {
          const { body, status } = response
          if (status !== 200 || body._tag !== "Uint8Array") return response
          policy ??= policyOf(new TextDecoder().decode(body.body))
          return HttpServerResponse.setHeaders(response, { "content-security-policy": policy, "cache-control": "no-cache" })
        }),
  )
}

const policyOf = (html: string): string =>
  [
    "default-src 'none'",
    ["script-src", ...inlineScripts(html)].join(" "),
    // The script writes styles and style attributes, which a hash cannot allow.
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ")
