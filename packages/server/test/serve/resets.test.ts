/** A client that ends its connection in any way ends nothing but its connection. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { resetMany, upgrading } from "../../../store/test/support/resets.ts"
import { tokens } from "../support/hostile.ts"
import { request, temporaryFolder } from "../support/served.ts"
import { killServer, startServer } from "../support/serverProcess.ts"

const requests: ReadonlyArray<readonly [what: string, text: string]> = [
  ["an upgrade at an address without a token", upgrading("/api/v1/machines")],
  ["an upgrade of procedures without a token", upgrading("/rpc/socket")],
  ["an upgrade at an address that is no WebSocket", upgrading("/api/v1/machines", tokens.read)],
  ["an upgrade at an address that does not exist", upgrading("/rpc/socket/x", tokens.operate)],
  ["an upgrade of procedures", upgrading("/rpc/socket", tokens.read)],
  ["an upgrade of procedures with half a frame", `${upgrading("/rpc/socket", tokens.read)}\x81`],
  ["an upgrade with a body", upgrading("/rpc/socket").replace("\r\n\r\n", "\r\ncontent-length: 9\r\n\r\nabc")],
  ["text that is no request", "what is this?\r\n\r\n"],
  ["a tunnel", "CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere\r\n\r\n"],
  ["half of its headers", "GET /health/live HTTP/1.1\r\nhost: 127"],
  ["half of its body", "POST /api/v1/session HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 20\r\n\r\n{"],
  ["a page", "GET /docs HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"],
  ["a live stream", `GET /api/v1/live HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${tokens.read}\r\n\r\n`],
  ["a body that it is to be asked for", "POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n"],
]

describe("a server", () => {
  it.live("outlives clients that reset their connections after any request", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const server = yield* Effect.acquireRelease(startServer("servingLimited.ts", data, "0"), (one) =>
        Effect.suspend(() => (one.child.exitCode === null ? killServer(one, "SIGKILL") : Effect.void)),
      )
      const port = Number(new URL(server.url).port)
      for (const [what, text] of requests) {
        yield* resetMany(port, text)
        const live = yield* Effect.exit(request(`${server.url}/health/live`))
        assert.isTrue(live._tag === "Success" && live.value.status === 200, `after ${what}; exit code ${server.child.exitCode}`)
      }
    }),
  )
})
