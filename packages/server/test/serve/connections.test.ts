import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { request, served } from "../support/served.ts"

/** As many as this machine lets a process open; one without such a limit in sight gets them all. */
const openable = (): number => {
  try {
    const [, soft] = /Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return soft === undefined ? 10_000 : Number(soft) - 1000
  } catch {
    return 10_000
  }
}

/** Opened by a process of its own, so that both ends do not share one limit. It tells when all are open, and holds them. */
const holding = (port: number, count: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const opening = `
        const { connect } = require("node:net")
        let open = 0
        const next = (left) => {
          if (left === 0) return
          const socket = connect(${port}, "127.0.0.1", () => {
            open++
            if (open === ${count}) console.log("open")
            next(left - 100)
          })
          socket.on("error", (error) => { console.error(error.message); process.exit(1) })
        }
        for (let lane = 0; lane < 100; lane++) next(${count})`
      const child = spawn(process.execPath, ["-e", opening], { stdio: ["ignore", "pipe", "inherit"] })
      await Promise.race([
        once(child.stdout, "data"),
        once(child, "exit").then(([code]) => Promise.reject(new Error(`it ended with ${code}`))),
      ])
      return child
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL")),
  )

describe("ten thousand connections", () => {
  it.live("are held in bounded memory, and the server continues answering", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const before = process.memoryUsage().rss
      yield* holding(Number(new URL(url).port), Math.min(10_000, Math.floor(openable() / 100) * 100))
      assert.strictEqual((yield* request(`${url}/health/ready`)).status, 200)
      assert.isBelow(process.memoryUsage().rss - before, 400_000_000)
    }),
  )
})
