/** Diagrams of machines are laid out beside the server, once, whatever their viewers do. */
import { connect } from "node:net"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { meshOf } from "../support/mesh.ts"
import { request, served } from "../support/served.ts"

const config = defineConfig({ machines: [meshOf("dense", 60, 3), meshOf("endless", 301, 1)] })

describe("the diagram of a machine", () => {
  it.live("is laid out without keeping the server from other requests", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ config })
      let longest = 0
      // Processor time of this thread, which the machine's other work does not add to.
      let cpu = process.threadCpuUsage()
      const watch = setInterval(() => {
        const { user, system } = process.threadCpuUsage(cpu)
        cpu = process.threadCpuUsage()
        longest = Math.max(longest, (user + system) / 1000)
      }, 5)
      const answers = yield* Effect.all(
        ["layout", "svg", "layout?direction=right"].map((path) => request(`${url}/api/v1/machines/dense/diagram/${path}`)),
        { concurrency: 3 },
      )
      clearInterval(watch)
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200],
      )
      assert.isBelow(longest, 200)
    }),
  )

  it.live("is there for the next viewer although the first one left while it was drawn", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ config })
      const path = "/api/v1/machines/dense/diagram/svg"
      yield* Effect.callback<void>((resume) => {
        const socket = connect(Number(new URL(url).port), "127.0.0.1", () => {
          socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
          setTimeout(() => socket.destroy(), 30)
        })
        socket.once("close", () => resume(Effect.void))
      })
      for (let viewer = 0; viewer < 2; viewer++) {
        const { status, text } = yield* request(`${url}${path}`)
        assert.deepStrictEqual([status, text.startsWith("<svg")], [200, true], text.slice(0, 200))
      }
    }),
  )

  it.live("is refused at once for a machine that no drawing could show, with another way to see it", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ config })
      for (const path of ["layout", "svg"]) {
        const { status, text } = yield* request(`${url}/api/v1/machines/endless/diagram/${path}`)
        assert.deepStrictEqual([status, JSON.parse(text).type], [422, "urn:detent:problem:DiagramTooLarge"])
        assert.strictEqual(
          JSON.parse(text).detail,
          "endless has 301 states, and a drawing shows at most 300; read its transitions as a table, or draw it from the format mermaid or dot",
        )
      }
      assert.strictEqual((yield* request(`${url}/api/v1/machines/endless/diagram/mermaid`)).status, 200)
    }),
  )
})
