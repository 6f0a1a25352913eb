import { readdirSync, readlinkSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { createConnection } from "node:net"
import { join } from "node:path"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { within } from "../../../store/test/support/patience.ts"
import { unless } from "../../../store/test/support/skipping.ts"
import { request, served, temporaryFolder } from "../support/served.ts"

const noOpenFiles = process.platform === "linux" ? undefined : "only Linux lists the open files of a process"

const index = "<!doctype html><title>Detent</title>"
const script = "export const answer = 42\n"
const hashed = "/assets/index-BxF3a91c.js"

/** A folder as the build of the console makes it. */
const built = Effect.gen(function* () {
  const folder = join(yield* temporaryFolder, "dist")
  yield* Effect.promise(async () => {
    await mkdir(join(folder, "assets"), { recursive: true })
    await writeFile(join(folder, "index.html"), index)
    await writeFile(join(folder, hashed), script)
    await writeFile(join(folder, `${hashed}.br`), brotliCompressSync(script))
    await writeFile(join(folder, `${hashed}.gz`), gzipSync(script))
    await writeFile(join(folder, ".secret"), "secret")
    await writeFile(join(folder, "../outside.txt"), "outside")
  })
  return folder
})

const html = { headers: { accept: "text/html,application/xhtml+xml" } }

describe("the files of the console", () => {
  it.live("are served without a token: assets for ever, the page as it is now", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { console: yield* built, token: Redacted.make("operate-0123456789abcdef") } })
      const page = yield* request(`${url}/`, html)
      assert.deepStrictEqual([page.status, page.type, page.text], [200, "text/html; charset=utf-8", index])
      assert.strictEqual(page.headers.get("cache-control"), "no-cache")
      const policy = page.headers.get("content-security-policy") ?? ""
      for (const part of ["default-src 'none'", "script-src 'self'", "font-src 'self'", "trusted-types 'none'"])
        assert.include(policy, part)
      assert.notMatch(policy, /unsafe|https?:|\*|data:/)
      const again = yield* request(`${url}/`, { headers: { ...html.headers, "if-none-match": page.headers.get("etag") ?? "" } })
      assert.deepStrictEqual([again.status, again.text], [304, ""])
      const asset = yield* request(`${url}${hashed}`)
      assert.deepStrictEqual([asset.status, asset.type, asset.text], [200, "text/javascript; charset=utf-8", script])
      assert.strictEqual(asset.headers.get("cache-control"), "public, max-age=31536000, immutable")
    }),
  )

  it.live("are sent as the build compressed them", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { console: yield* built } })
      for (const [accepted, encoding] of [
        ["gzip, deflate, br", "br"],
        ["gzip", "gzip"],
        ["identity", null],
      ] as const) {
        const asset = yield* request(`${url}${hashed}`, { headers: { "accept-encoding": accepted } })
        assert.deepStrictEqual([asset.headers.get("content-encoding"), asset.text], [encoding, script])
      }
    }),
  )

  it.live("answer every address of a page with the page, and leave those of the server alone", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { console: yield* built } })
      for (const path of [
        "/instances?machine=order",
        "/instances/order/a%2Fb?at=3",
        "/knowledge/coast/sparql",
        "/machines/api",
        "/machines/%ff",
        "/%E0%A4%A",
      ])
        assert.strictEqual((yield* request(`${url}${path}`, html)).text, index, path)
      for (const path of ["/api/v1/nothing", "/api", "/health/none", "/metrics/none", "/rpc/none"])
        assert.strictEqual((yield* request(`${url}${path}`, html)).type, "application/problem+json", path)
      assert.include((yield* request(`${url}/docs`, html)).text, "openapi")
      const other = yield* request(`${url}/instances`, { headers: { accept: "application/json" } })
      assert.deepStrictEqual([other.status, other.type], [404, "application/problem+json"])
      assert.strictEqual((yield* request(`${url}/instances`, { ...html, method: "POST" })).status, 404)
    }),
  )

  it.live("are those of the folder only", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { console: yield* built } })
      for (const path of [
        "/..%2Foutside.txt",
        "/assets%2F..%2F..%2Foutside.txt",
        "/.secret",
        "/%2E%2E/outside.txt",
        `/${"a".repeat(3000)}`,
      ])
        assert.strictEqual((yield* request(`${url}${path}`)).status, 404, path)
    }),
  )

  it.live(
    "are closed when a browser leaves before it has read them",
    () =>
      Effect.gen(function* () {
        const folder = yield* built
        const file = join(folder, "assets", "large.js")
        yield* Effect.promise(() => writeFile(file, Buffer.alloc(20_000_000, " ")))
        const { url } = yield* served({ serve: { console: folder } })
        const port = Number(new URL(url).port)
        for (let count = 0; count < 5; count++)
          yield* Effect.callback<void>((resume) => {
            const socket = createConnection(port, "127.0.0.1", () =>
              socket.write("GET /assets/large.js HTTP/1.1\r\nhost: localhost\r\n\r\n"),
            )
            socket.once("data", () => socket.destroy())
            socket.once("close", () => resume(Effect.void))
          })
        yield* Effect.repeat(openCount(file), { until: (count) => count === 0, schedule: Schedule.spaced("20 millis") }).pipe(
          within("20 seconds"),
        )
      }),
    unless(noOpenFiles),
  )
})

/** How often this process has the file open. */
const openCount = (file: string) =>
  Effect.sync(
    () =>
      readdirSync("/proc/self/fd").filter((descriptor) => {
        try {
          return readlinkSync(`/proc/self/fd/${descriptor}`) === file
        } catch {
          // It was closed after the folder was read.
          return false
        }
      }).length,
  )
