/**
 * The start page at `/`: what runs here, live, for people with a browser. It is a few plain files that ask the API like any other
 * client does, so they hold nothing secret and are given without a token; what they show is not.
 */
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/unstable/http/HttpRouter"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpStaticServer from "effect/unstable/http/HttpStaticServer"

/** The same place from the sources and from the build: the package brings both. */
const folder = fileURLToPath(new URL("../../../src/serve/page/assets/", import.meta.url))

/** The addresses of all files of the page. */
export const pageAddresses = (): ReadonlySet<string> => new Set(["/", ...readdirSync(folder).map((file) => `/page/${file}`)])

/** Nothing from elsewhere, nothing inline, and no text that could become markup: drawings are pictures, from `blob:`. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ")

const headers = {
  "content-security-policy": contentPolicy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
}

export const startPage = HttpRouter.use((router) =>
  Effect.gen(function* () {
    // Asked for each time, sent again only after an update.
    const files = yield* HttpStaticServer.make({ root: folder, cacheControl: "no-cache" })
    const guarded = Effect.map(files, HttpServerResponse.setHeaders(headers))
    yield* router.add("GET", "/", guarded)
    yield* router.prefixed("/page").add("GET", "/*", guarded)
  }),
)
