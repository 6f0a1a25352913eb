/**
 * Process names by which other processes on the same host detect that a process has ended, so that they need not wait for its lease.
 *
 *     p.<host>.<pid>.<when it started>.<ending>
 *
 * The numbers are written in base 36 to keep names short: they are stored with every claim of a command.
 *
 * A process with a name from another host, or one that cannot be parsed, counts as running until its lease has ended.
 */
import { createHash, randomUUID } from "node:crypto"
import { readFileSync, readlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The name of this process. Names with different endings are different nodes of one process. */
export const processName = (ending: string): string =>
  `p.${hostName()}.${process.pid.toString(36)}.${(startOf(process.pid)?.at ?? 0).toString(36)}.${ending}`

/** A name below a parent name. It identifies the process, even if the parent name does not. */
export const processNameIn = (parent: string, ending: string): string => `${parent}/${pattern.test(parent) ? ending : processName(ending)}`

/** Whether the process with this name has certainly ended. The name may be part of a path of names. */
export const hasEnded = (name: string): boolean => {
  const [, host, pid = "", at = ""] = pattern.exec(name) ?? []
  if (host === undefined || host !== hostName()) return false
  const number = Number.parseInt(pid, 36)
  if (!isRunning(number)) return true
  const found = startOf(number)
  // The operating system may give the id of an ended process to a new one.
  return found !== undefined && (found.isZombie || found.at !== Number.parseInt(at, 36))
}

const pattern = /(?:^|\/)p\.([0-9a-f]{8})\.([0-9a-z]+)\.([0-9a-z]+)\./

let host: string | undefined

const hostName = (): string => {
  host ??= createHash("sha256").update(hostIdentity()).digest("hex").slice(0, 8)
  return host
}

/** In all processes with the same identity, a process id means the same process. */
const hostIdentity = (): string => {
  if (process.platform !== "linux") return identityFile()
  try {
    // A container has a process id namespace of its own.
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8")} ${readlinkSync("/proc/self/ns/pid")}`
  } catch {
    // Without /proc other processes cannot be recognised: this returns an identity that no other process has.
    return randomUUID()
  }
}

/** Other systems than Linux: the identity is a file in the temporary folder, which belongs to one user on one host. */
const identityFile = (): string => {
  const file = join(tmpdir(), "detent-host")
  try {
    writeFileSync(file, randomUUID(), { flag: "wx", mode: 0o600 })
  } catch {
    // Another process has written the file before, or this one may not write: then the file cannot be read either.
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
    // EPERM: the process exists and belongs to another user.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH")
  }
}

interface Start {
  /** In ticks since the host was started. */
  readonly at: number
  /** It has ended, and its parent has not read its exit code yet. */
  readonly isZombie: boolean
}

/** Undefined where the operating system does not provide it. */
const startOf = (pid: number): Start | undefined => {
  if (process.platform !== "linux") return undefined
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The program name is in brackets and may contain any characters. The state is the first field after it, the start the 20th.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const at = Number(fields[19])
    return Number.isSafeInteger(at) ? { at, isZombie: fields[0] === "Z" || fields[0] === "X" } : undefined
  } catch {
    return undefined
  }
}
