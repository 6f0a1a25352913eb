import { readdir } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { request, served } from "../support/served.ts"

const assets = fileURLToPath(new URL("../../src/serve/page/assets/", import.meta.url))

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml; charset=utf-8",
  mjs: "text/javascript; charset=utf-8",
}

/** Every file of the page, by where it is served. */
const files = Effect.map(
  Effect.promise(() => readdir(assets)),
  (names) => names.map((name) => ({ name, path: name === "index.html" ? "/" : `/page/${name}` })),
)

describe("the start page", () => {
  it.live("is served with all its files, each as what it is, and lets nothing run that is not its own", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      for (const { name, path } of yield* files) {
        const answer = yield* request(`${url}${path}`)
        assert.strictEqual(answer.status, 200, name)
        assert.strictEqual(answer.type, types[name.slice(name.lastIndexOf(".") + 1)])
        assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
        const policy = answer.headers.get("content-security-policy") ?? ""
        assert.include(policy, "default-src 'none'")
        assert.include(policy, "script-src 'self';")
        assert.include(policy, "style-src 'self';")
        assert.notMatch(policy, /unsafe|https?:|\*|data:/)
      }
    }),
  )

  it.live("has nothing inline and nothing from elsewhere", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const { text } = yield* request(url)
      const addresses = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = ""]) => address)
      assert.deepStrictEqual([...new Set(addresses)].sort(), ["docs", "page/icon.svg", "page/page.css", "page/page.mjs"])
      assert.notMatch(text, /<style|style="|\son\w+="|<script(?! type="module" src=)/)
    }),
  )

  it.live("is not sent again while it is the same", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const first = yield* request(`${url}/page/page.css`)
      assert.strictEqual(first.headers.get("cache-control"), "no-cache")
      const again = yield* request(`${url}/page/page.css`, { headers: { "if-none-match": first.headers.get("etag") ?? "" } })
      assert.deepStrictEqual([again.status, again.text], [304, ""])
    }),
  )

  it.live("comes without a token where one is needed, but what it shows does not", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { token: Redacted.make("operate-0123456789abcdef") } })
      for (const { path } of yield* files) assert.strictEqual((yield* request(`${url}${path}`)).status, 200, path)
      for (const path of ["/page", "/page/", "/page/other.mjs", "/page/../api/v1/machines", "/api/v1/machines", "/docs"])
        assert.strictEqual((yield* request(`${url}${path}`)).status, 401, path)
      assert.strictEqual((yield* request(`${url}/`, { method: "POST" })).status, 401)
    }),
  )
})
