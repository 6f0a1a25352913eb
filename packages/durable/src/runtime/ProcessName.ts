/**
 * Names for processes by which other processes on the same host see that one has ended, so that they need not wait for its lease.
 *
 *     p.<host>.<pid>.<when it started>.<ending>
 *
 * The numbers are written with 36 digits: names are stored with every claim of a command.
 *
 * A name from another host, or one that cannot be read, says nothing: such a process counts as running until its lease has ended.
 */
import { createHash, randomUUID } from "node:crypto"
import { readFileSync, readlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The name of this process. Names with different endings are different nodes of one process. */
export const processName = (ending: string): string =>
  `p.${hostName()}.${process.pid.toString(36)}.${(startOf(process.pid)?.at ?? 0).toString(36)}.${ending}`

/** A name below another one. It identifies the process as well. */
export const processNameIn = (parent: string, ending: string): string => `${parent}/${pattern.test(parent) ? ending : processName(ending)}`

/** Whether the process with this name certainly has ended. The name may be a part of a path of names. */
export const hasEnded = (name: string): boolean => {
  const [, host, pid = "", at = ""] = pattern.exec(name) ?? []
  if (host === undefined || host !== hostName()) return false
  const number = Number.parseInt(pid, 36)
  if (!isRunning(number)) return true
  const found = startOf(number)
  // The number of an ended process may be given to a new one.
  return found !== undefined && (found.isZombie || found.at !== Number.parseInt(at, 36))
}

const pattern = /(?:^|\/)p\.([0-9a-f]{8})\.([0-9a-z]+)\.([0-9a-z]+)\./

let host: string | undefined

const hostName = (): string => {
  host ??= createHash("sha256").update(hostIdentity()).digest("hex").slice(0, 8)
  return host
}

/** Process numbers mean the same in all processes with the same identity. */
const hostIdentity = (): string => {
  if (process.platform !== "linux") return identityFile()
  try {
    // A container counts its processes by itself, in a namespace of its own.
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8")} ${readlinkSync("/proc/self/ns/pid")}`
  } catch {
    // Without /proc no other process can be recognised: an identity that no other process has.
    return randomUUID()
  }
}

/** Elsewhere the temporary folder belongs to one user on one host. */
const identityFile = (): string => {
  const file = join(tmpdir(), "detent-host")
  try {
    writeFileSync(file, randomUUID(), { flag: "wx", mode: 0o600 })
  } catch {
    // Another process has written it before, or this one may not write: then it cannot be read either.
  }
  try {
    return readFileSync(file, "utf8")
  } catch {
    return randomUUID()
  }
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is there, and belongs to another user.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH")
  }
}

interface Start {
  /** In ticks since the host was started. */
  readonly at: number
  /** It has ended, and its parent has not asked for its exit code yet. */
  readonly isZombie: boolean
}

/** Undefined where the system does not say. */
const startOf = (pid: number): Start | undefined => {
  if (process.platform !== "linux") return undefined
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name of the program stands in brackets and may hold anything; the state is the first field after it, the start the 20th.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const at = Number(fields[19])
    return Number.isSafeInteger(at) ? { at, isZombie: fields[0] === "Z" || fields[0] === "X" } : undefined
  } catch {
    return undefined
  }
}
