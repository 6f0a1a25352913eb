import { spawn } from "node:child_process"
import { once } from "node:events"
import { describe, expect, it } from "@effect/vitest"
import { unless } from "../../../store/test/support/skipping.ts"
import { hasEnded, processName } from "../../src/nodes/ProcessName.ts"

const nameOf = (pid: number, start?: string) => {
  const [prefix, host, , started, ending] = processName("x").split(".")
  return [prefix, host, pid.toString(36), start ?? started, ending].join(".")
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
    expect(hasEnded(`worker-1/${nameOf(pid)}`)).toBe(true)
  })

  const notLinux = process.platform === "linux" ? undefined : "only Linux says when a process was started"

  it("tells a process from a later one with the same number", unless(notLinux), () => {
    expect(hasEnded(nameOf(process.pid, "1"))).toBe(true)
  })

  it("says nothing of processes on other hosts, and of other names", () => {
    const [prefix, host = "", , ...rest] = processName("x").split(".")
    expect(hasEnded([prefix, host, "zzzzz", ...rest].join("."))).toBe(true)
    expect(hasEnded([prefix, "01234567", "zzzzz", ...rest].join("."))).toBe(false)
    for (const name of ["worker-1", "worker-1/life", "node-abc/def", "p", "p....", ""]) expect(hasEnded(name)).toBe(false)
  })
})
