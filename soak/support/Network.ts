/**
 * A network namespace for each node, joined by a bridge to that of this process: each node has an address of its own, and its links can be cut
 * and slowed down without those of the others. Needs root, and `unshare`, `ip`, `nsenter` and `tc`.
 */
import { type ForkOptions, spawn, spawnSync } from "node:child_process"
import { readlinkSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

export interface Host {
  readonly address: string
  /** Starts a process in the namespace. */
  readonly process: ForkOptions
  readonly faults: Readonly<Record<LinkKind, LinkFault>>
}

/**
 * - `cut`: the host reaches neither the database nor another host.
 * - `partition`: what it sends to the hosts of its cluster is lost; it still reaches the database.
 * - `slow`: a narrow line with a short queue, both ways.
 * - `lossy`: a tenth of what is sent to it is lost, for which the kernel needs `netem`.
 */
export const linkKinds = ["cut", "partition", "slow", "lossy"] as const
export type LinkKind = (typeof linkKinds)[number]

export interface LinkFault {
  /** False where that is not possible. */
  readonly begin: () => boolean
  readonly end: () => void
}

export interface Network {
  /** The address of this process for the hosts. */
  readonly address: string
  /** The addresses of all, for access rules. */
  readonly range: string
  /** By cluster. */
  readonly clusters: ReadonlyArray<ReadonlyArray<Host>>
  readonly remove: () => void
}

/** Set in the process that has a network namespace of its own. */
const ownNamespace = "DETENT_SOAK_NAMESPACE"

const works = (command: string, ...args: ReadonlyArray<string>): boolean => spawnSync(command, args, { stdio: "ignore" }).status === 0

const demand = (command: string, ...args: ReadonlyArray<string>): void => {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr}`)
}

/** Runs the program again in a namespace of its own, where that is possible, and exits with its code. Returns whether it is in one. */
export const inOwnNamespace = (): boolean => {
  if (process.env[ownNamespace] === "yes") return true
  if (process.getuid?.() !== 0 || !works("unshare", "-n", "ip", "link", "set", "lo", "up")) return false
  const env = { ...process.env, [ownNamespace]: "yes" }
  const args = ["-n", process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.exit(spawnSync("unshare", args, { stdio: "inherit", env }).status ?? 1)
}

const prefix = "10.77.0"
const bridge = "bridge0"

/** Nobody has this address of the link layer: what is sent to it is lost. */
const nowhere = "02:00:00:00:00:01"

export const openNetwork = async (clusters: number, hostsOfEach: number): Promise<Network> => {
  demand("ip", "link", "set", "lo", "up")
  demand("ip", "link", "add", bridge, "type", "bridge")
  demand("ip", "addr", "add", `${prefix}.1/24`, "dev", bridge)
  demand("ip", "link", "set", bridge, "up")
  const addressOf = (cluster: number, host: number) => `${prefix}.${10 * (cluster + 1) + host}`
  // A namespace exists as long as a process is in it: these end with this process.
  const holders = Array.from({ length: clusters * hostsOfEach }, () =>
    spawn("unshare", ["-n", "cat"], { stdio: ["pipe", "ignore", "inherit"] }),
  )
  const own = readlinkSync("/proc/self/ns/net")
  for (const { pid } of holders) while (readlinkSync(`/proc/${pid}/ns/net`) === own) await sleep(5)
  const open = (cluster: number, index: number): Host => {
    const number = cluster * hostsOfEach + index
    const pid = String(holders[number]?.pid)
    const link = `node${number}`
    const within = ["nsenter", "-t", pid, "-n"] as const
    demand("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", pid)
    demand("ip", "link", "set", link, "master", bridge, "up")
    demand(...within, "ip", "addr", "add", `${addressOf(cluster, index)}/24`, "dev", "eth0")
    demand(...within, "ip", "link", "set", "eth0", "up")
    demand(...within, "ip", "link", "set", "lo", "up")
    const others = Array.from({ length: hostsOfEach }, (_, other) => addressOf(cluster, other)).filter((_, other) => other !== index)
    /** Changes what the host receives and what it sends. */
    const shape = (...discipline: ReadonlyArray<string>): LinkFault => ({
      begin: () =>
        works("tc", "qdisc", "replace", "dev", link, "root", ...discipline) &&
        works(...within, "tc", "qdisc", "replace", "dev", "eth0", "root", ...discipline),
      end: () => {
        works("tc", "qdisc", "del", "dev", link, "root")
        works(...within, "tc", "qdisc", "del", "dev", "eth0", "root")
      },
    })
    return {
      address: addressOf(cluster, index),
      process: { execPath: "nsenter", execArgv: [...within.slice(1), process.execPath] },
      faults: {
        cut: { begin: () => works("ip", "link", "set", link, "down"), end: () => demand("ip", "link", "set", link, "up") },
        partition: {
          begin: () =>
            others.every((other) =>
              works(...within, "ip", "neigh", "replace", other, "lladdr", nowhere, "dev", "eth0", "nud", "permanent"),
            ),
          end: () => {
            for (const other of others) works(...within, "ip", "neigh", "del", other, "dev", "eth0")
          },
        },
        slow: shape("tbf", "rate", "1mbit", "burst", "32kb", "latency", "300ms"),
        lossy: shape("netem", "loss", "10%", "delay", "20ms", "20ms"),
      },
    }
  }
  return {
    address: `${prefix}.1`,
    range: `${prefix}.0/24`,
    clusters: Array.from({ length: clusters }, (_, cluster) => Array.from({ length: hostsOfEach }, (_, index) => open(cluster, index))),
    remove: () => {
      for (const holder of holders) holder.stdin.end()
    },
  }
}
