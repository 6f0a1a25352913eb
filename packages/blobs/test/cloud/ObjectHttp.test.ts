import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Stream from "effect/Stream"
import { clientTransport, makeNodeTransport, nodeTransport, type Transport } from "../../src/cloud/ObjectHttp.ts"

const serving = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(listener).listen(0, "127.0.0.1")
      await once(server, "listening")
      return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
    }),
    ({ server }) =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise((resolve) => server.close(resolve))
      }),
  )

const fetching = Effect.map(HttpClient.HttpClient, clientTransport).pipe(Effect.provide(FetchHttpClient.layer))

const transports: Readonly<Record<string, Effect.Effect<Transport>>> = {
  "by Node's client": Effect.succeed(nodeTransport),
  "by an HttpClient": fetching,
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

const get = (url: string) => ({ method: "GET", url, headers: {} }) as const

for (const [name, making] of Object.entries(transports))
  describe(`a request ${name}`, () => {
    it.live("has its body sent, and the answer is read whole and as a stream", () =>
      Effect.gen(function* () {
        const { url } = yield* serving((request, response) => {
          const { method, headers } = request
          response.setHeader("x-seen", `${method} ${headers["content-length"]} ${headers["x-mine"]}`)
          request.pipe(response)
        })
        const send = yield* making
        const put = { method: "PUT", url, headers: { "x-mine": "1" }, body: new TextEncoder().encode("content") } as const
        const { status, headers, whole } = yield* send(put)
        assert.deepStrictEqual([status, headers["x-seen"]], [200, "PUT 7 1"])
        assert.strictEqual(text(yield* whole(100)), "content")
        const { stream } = yield* send(put)
        assert.strictEqual(text(yield* Stream.mkUint8Array(stream)), "content")
        const tooLong = yield* Effect.flip(Effect.flatMap(send(put), (answer) => answer.whole(6)))
        assert.strictEqual(tooLong.message, "the answer is too long")
      }).pipe(Effect.scoped),
    )

    it.live("has what is packed in a known way unpacked, and the rest as it is", () =>
      Effect.gen(function* () {
        const bodies: Readonly<Record<string, Uint8Array>> = {
          gzip: gzipSync("content"),
          br: brotliCompressSync("content"),
          "aws-chunked": Buffer.from("content"),
          identity: Buffer.from("content"),
        }
        const { url } = yield* serving((request, response) => {
          const encoding = (request.url ?? "/").slice(1)
          response.setHeader("content-encoding", encoding)
          response.end(request.method === "HEAD" ? undefined : bodies[encoding])
        })
        const send = yield* making
        for (const encoding of Object.keys(bodies)) {
          const { whole } = yield* send(get(`${url}${encoding}`))
          assert.strictEqual(text(yield* whole(100)), "content", encoding)
        }
        const head = yield* send({ method: "HEAD", url: `${url}gzip`, headers: {} })
        assert.strictEqual((yield* head.whole(100)).byteLength, 0)
      }).pipe(Effect.scoped),
    )

    it.live("fails where no answer comes, or not all of it", () =>
      Effect.gen(function* () {
        const { url } = yield* serving((request, response) => {
          if (request.url === "/none") {
            request.socket.destroy()
            return
          }
          const packed = gzipSync(Buffer.alloc(100_000, "content"))
          if (request.url === "/packed") response.setHeader("content-encoding", "gzip")
          response.setHeader("content-length", String(packed.length))
          response.write(packed.subarray(0, 60), () => setImmediate(() => request.socket.destroy()))
        })
        const send = yield* making
        assert.strictEqual((yield* Effect.flip(send(get(`${url}none`))))._tag, "ConnectionBroken")
        for (const path of ["plain", "packed"]) {
          const whole = yield* send(get(`${url}${path}`))
          assert.strictEqual((yield* Effect.flip(whole.whole(1000_000)))._tag, "ConnectionBroken")
          const { stream } = yield* send(get(`${url}${path}`))
          assert.strictEqual((yield* Effect.flip(Stream.runDrain(stream)))._tag, "ConnectionBroken")
        }
        // The connection breaks before the body is read.
        const late = yield* send(get(`${url}plain`))
        yield* Effect.sleep("50 millis")
        assert.strictEqual((yield* Effect.flip(late.whole(1000_000)))._tag, "ConnectionBroken")
      }).pipe(Effect.scoped),
    )

    it.live("is ended with its fiber, before the answer and in the midst of it", () =>
      Effect.gen(function* () {
        let closed = 0
        const { url } = yield* serving((request, response) => {
          response.on("close", () => closed++)
          if (request.url === "/begun") response.write("begun")
        })
        const send = yield* making
        const waiting = yield* Effect.forkChild(send(get(url)), { startImmediately: true })
        const begun = yield* send(get(`${url}begun`))
        const reading = yield* Effect.forkChild(begun.whole(100), { startImmediately: true })
        yield* Effect.sleep("20 millis")
        yield* Fiber.interrupt(waiting)
        yield* Fiber.interrupt(reading)
        yield* Effect.suspend(() => (closed === 2 ? Effect.void : Effect.fail("not yet"))).pipe(Effect.eventually)
      }).pipe(Effect.scoped),
    )
  })

describe("a connection of Node's client", () => {
  it.live("breaks when nothing comes any more, before the answer and in the middle of it", () =>
    Effect.gen(function* () {
      const { url } = yield* serving((request, response) => {
        if (request.url === "/begun") response.write("begun")
      })
      const send = makeNodeTransport(50)
      const messages = [
        yield* Effect.flip(send(get(url))),
        yield* Effect.flip(Effect.flatMap(send(get(`${url}begun`)), ({ whole }) => whole(100))),
        yield* Effect.flip(Effect.flatMap(send(get(`${url}begun`)), ({ stream }) => Stream.runDrain(stream))),
      ].map(({ message }) => message)
      assert.deepStrictEqual(new Set(messages), new Set(["the answer stopped arriving"]))
    }).pipe(Effect.scoped),
  )

  it.live("waits for a reader that is slower than that", () =>
    Effect.gen(function* () {
      const content = Buffer.alloc(1_000_000, "content")
      const { url } = yield* serving((_, response) => response.end(content))
      const { stream } = yield* makeNodeTransport(50)(get(url))
      let size = 0
      yield* Stream.runForEach(stream, (piece) =>
        Effect.suspend(() => {
          size += piece.byteLength
          return size === piece.byteLength ? Effect.sleep("300 millis") : Effect.void
        }),
      )
      assert.strictEqual(size, content.length)
    }).pipe(Effect.scoped),
  )
})
