/**
 * The start page at `/`: what runs here, live, for people with a browser. It is a few plain files that ask the API like any other
 * client does, so they hold nothing secret and are given without a token; what they show is not.
 */
import { readdirSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/unstable/http/HttpRouter"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpStaticServer from "effect/unstable/http/HttpStaticServer"
import { pathOf } from "../RequestGuard.ts"
import { pageHeaders } from "./pageHeaders.ts"

/** The same place from the sources and from the build: the package brings both. */
const folder = fileURLToPath(new URL("../../../src/serve/page/assets/", import.meta.url))

const addresses: ReadonlySet<string> = new Set(["/", ...readdirSync(folder).map((file) => `/page/${file}`)])

/** Whether the request is for a file of the page. */
export const isStartPage = ({ method, url = "" }: IncomingMessage): boolean =>
  (method === "GET" || method === "HEAD") && addresses.has(pathOf(url))

export const startPage = HttpRouter.use((router) =>
  Effect.gen(function* () {
    // Asked for each time, sent again only after an update.
    const files = yield* HttpStaticServer.make({ root: folder, cacheControl: "no-cache" })
    const guarded = Effect.map(files, HttpServerResponse.setHeaders(pageHeaders))
    yield* router.add("GET", "/", guarded)
    yield* router.prefixed("/page").add("GET", "/*", guarded)
  }),
)
