import { spawn } from "node:child_process"
import { once } from "node:events"
import { describe, expect, it } from "@effect/vitest"
import { hasEnded, processName } from "../../src/runtime/ProcessName.ts"

const nameOf = (pid: number, start?: string) => {
  const [process, host, , started, ending] = processName("x").split(".")
  return [process, host, pid, start ?? started, ending].join(".")
}

describe("the name of a process", () => {
  it("does not say that a running process has ended", () => {
    expect(hasEnded(processName("x"))).toBe(false)
    expect(hasEnded(`${processName("x")}/life`)).toBe(false)
  })

  it("says that a process has ended", async () => {
    const child = spawn(process.execPath, ["-e", ""])
    const pid = child.pid ?? expect.fail("it was not started")
    await once(child, "exit")
    expect(hasEnded(nameOf(pid))).toBe(true)
  })

  it.runIf(process.platform === "linux")("tells a process from a later one with the same number", () => {
    expect(hasEnded(nameOf(process.pid, "1"))).toBe(true)
  })

  it("says nothing of processes on other hosts, and of other names", () => {
    const [process, , ...rest] = processName("x").split(".")
    expect(hasEnded([process, "0123456789abcdef", ...rest].join("."))).toBe(false)
    for (const name of ["worker-1", "worker-1/life", "node-abc/def", "process", "process...", ""]) expect(hasEnded(name)).toBe(false)
  })
})
