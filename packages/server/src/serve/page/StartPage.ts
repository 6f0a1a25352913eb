/**
 * The start page at `/`: what runs here, live, for people with a browser. It is a few plain files that ask the API like any other
 * client does, so they hold nothing secret and are given without a token; what they show is not.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HttpRouter from "effect/unstable/http/HttpRouter"
import { HttpServerRequest } from "effect/unstable/http/HttpServerRequest"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"

/** The same place from the sources and from the build: the package brings both. */
const folder = new URL("../../../src/serve/page/assets/", import.meta.url)

const files = [
  "index.html",
  "page.css",
  "icon.svg",
  "page.mjs",
  "asking.mjs",
  "batches.mjs",
  "elements.mjs",
  "failures.mjs",
  "instance.mjs",
  "instances.mjs",
  "latest.mjs",
  "machines.mjs",
  "uploads.mjs",
] as const
type File = (typeof files)[number]

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  mjs: "text/javascript; charset=utf-8",
}

const addressOf = (file: File) => (file === "index.html" ? "/" : (`/page/${file}` as const))

const addresses: ReadonlySet<string> = new Set(files.map(addressOf))

export const isStartPage = (path: string): boolean => addresses.has(path)

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
  // Asked for each time, sent again only after an update.
  "cache-control": "no-cache",
}

const route = (file: File) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const content = yield* Effect.promise(() => readFile(new URL(file, folder)))
      const etag = `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`
      const whole = HttpServerResponse.uint8Array(content, {
        contentType: contentTypes[file.slice(file.lastIndexOf(".") + 1)],
        headers: { ...headers, etag },
      })
      const unchanged = HttpServerResponse.empty({ status: 304, headers: { ...headers, etag } })
      const answer = Effect.map(HttpServerRequest, (request) => (request.headers["if-none-match"] === etag ? unchanged : whole))
      yield* router.add("GET", addressOf(file), answer)
    }),
  )

export const startPage = Layer.mergeAll(route("index.html"), ...files.slice(1).map(route))
