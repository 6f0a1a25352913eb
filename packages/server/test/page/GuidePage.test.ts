import { createHash } from "node:crypto"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { request, served, temporaryFolder } from "../support/served.ts"

const inline = "document.documentElement.classList.add('dark')"
const page = `<!doctype html><title>Timers</title><script id="theme">${inline}</script><script type="module" src="/docs/guide/assets/app.js"></script>`

/** A folder as the build of the site makes it. */
const built = Effect.gen(function* () {
  const folder = join(yield* temporaryFolder, "dist")
  yield* Effect.promise(async () => {
    await mkdir(join(folder, "guides"), { recursive: true })
    await writeFile(join(folder, "index.html"), "<!doctype html><title>Detent</title>")
    await writeFile(join(folder, "guides/timers.html"), page)
    await writeFile(join(folder, "../outside.html"), "outside")
  })
  return folder
})

describe("the documentation at /docs/guide", () => {
  it.live("is served without a token, pages by their address without an ending", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { guide: yield* built, token: Redacted.make("operate-0123456789abcdef") } })
      const home = yield* request(`${url}/docs/guide`)
      assert.deepStrictEqual([home.status, home.type], [200, "text/html; charset=utf-8"])
      assert.include(home.text, "<title>Detent</title>")
      const timers = yield* request(`${url}/docs/guide/guides/timers`)
      assert.deepStrictEqual([timers.status, timers.text], [200, page])
      assert.strictEqual((yield* request(`${url}/docs/guide/guides/timers.html`)).text, page)
    }),
  )

  it.live("may run the scripts of its pages and no others", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { guide: yield* built } })
      const policy = (yield* request(`${url}/docs/guide/guides/timers`)).headers.get("content-security-policy") ?? ""
      const scripts = policy.split("; ").find((part) => part.startsWith("script-src"))
      assert.strictEqual(scripts, `script-src 'self' 'sha256-${createHash("sha256").update(inline).digest("base64")}'`)
      assert.include(policy, "default-src 'none'")
    }),
  )

  it.live("has the files of its folder only", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { guide: yield* built } })
      for (const path of ["/docs/guide/..%2Foutside", "/docs/guide/guides%2F..%2F..%2Foutside.html", "/docs/guide/none"]) {
        const answer = yield* request(`${url}${path}`)
        assert.deepStrictEqual([answer.status, answer.type], [404, "application/problem+json"], path)
      }
      assert.strictEqual((yield* request(`${url}/docs/guide/guides/timers`, { method: "POST" })).status, 404)
    }),
  )

  it.live("says how it is built where it is not", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { guide: join(yield* temporaryFolder, "none") } })
      const answer = yield* request(`${url}/docs/guide`)
      assert.strictEqual(answer.status, 404)
      assert.include(answer.text, "npm run docs")
    }),
  )
})
