/**
 * Three nodes under load: one is killed, one is frozen for longer than its lease with commits in flight, and all are restarted
 * in turn.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Part } from "../../measure/Group.ts"
import { type Line, openLine } from "../../measure/Line.ts"
import { type Player, startPlayer } from "../../measure/Player.ts"
import { freePort, withPostgres } from "../../measure/Postgres.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import type { FaultOptions, UnderFaults } from "./contestants/detentUnderFaults.ts"
import { untilShared } from "./Team.ts"

/** How long a node without a heartbeat keeps its shards. */
export const leaseMillis = 3000

/** An instance that takes no event for this long after its node was killed is stuck. */
const stuckMillis = 20 * leaseMillis

/** Nodes that keep their addresses when they restart. */
class Nodes {
  readonly all: Array<Player<UnderFaults>> = []
  readonly notes: Array<string> = []
  /** The database address of each node: direct, or over a line that can hold data back. */
  readonly #databases: ReadonlyArray<string>
  readonly #ports: ReadonlyArray<number>
  readonly #file: (name: string) => string
  #lives = 0

  constructor(databases: ReadonlyArray<string>, ports: ReadonlyArray<number>, file: (name: string) => string) {
    this.#databases = databases
    this.#ports = ports
    this.#file = file
  }

  async startAll() {
    await Promise.all(this.#ports.map((_, index) => this.start(index)))
  }

  async start(index: number) {
    const name = `life-${this.#lives++}`
    const notes = this.#file(name)
    const options: FaultOptions = {
      database: this.#databases[index] ?? "",
      port: this.#ports[index] ?? 0,
      leaseMillis,
      notes,
      name,
    }
    const module = new URL("./contestants/detentUnderFaults.ts", import.meta.url).href
    this.notes.push(notes)
    this.all[index] = await startPlayer<UnderFaults>(`node ${index}`, module, "underFaults", { ...options })
  }

  node(index: number): Player<UnderFaults> {
    const found = this.all[index]
    if (found === undefined) throw new Error(`node ${index} was not started`)
    return found
  }

  others(index: number): ReadonlyArray<Player<UnderFaults>> {
    return this.all.filter((_, other) => other !== index)
  }

  shared = () => untilShared(this.all)
}

export const faults: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const folder = temporaryFolder()
    const ports = await Promise.all([freePort(), freePort(), freePort()])
    const database = await server.createDatabase("faults")
    const line = await openLine(database)
    const nodes = new Nodes([database, line.url, database], ports, (name) => folder.file(name))
    try {
      await nodes.startAll()
      await nodes.shared()
      await Promise.all(nodes.all.map((node) => node.tell("send")))
      await sleep(1000)
      const takeovers: Array<number> = []
      for (const index of quick ? [0] : [0, 1, 2]) takeovers.push(await killed(nodes, index))
      const fenced = await frozen(nodes, 1, line)
      const { errors, pauseMillis } = await restarted(nodes)
      await Promise.all(nodes.all.map((node) => node.tell("pause")))
      const { answered, lost, doubled } = await nodes.node(0).tell("prove", nodes.notes)
      await Promise.all(nodes.all.map((node) => node.leave()))
      const takeoverMillis = Math.max(...takeovers)
      return {
        tables: [
          {
            title: `three nodes under load, 50 instances, a lease of ${leaseMillis} ms`,
            columns: ["", ""],
            rows: [
              ["kill -9 until every instance of the node has handled an event elsewhere, ms", takeoverMillis.toFixed(0)],
              ["rolling restart: errors that senders on other nodes got", String(errors.length)],
              ["rolling restart: the longest of their sends, ms", pauseMillis.toFixed(0)],
              ["frozen past its lease with commits in flight: commits refused by the fence", String(fenced)],
              ["events answered", String(answered)],
              ["of them lost", String(lost)],
              ["events that are in the journal twice", String(doubled)],
            ],
            notes: errors.slice(0, 3),
          },
        ],
        figures: {
          "takeover.millis": takeoverMillis,
          "restart.callerErrors": errors.length,
          "restart.pauseMillis": pauseMillis,
          "faults.answered": answered,
          fenced,
          lost,
          doubled,
        },
      }
    } finally {
      await Promise.all(nodes.all.map((node) => node.kill()))
      await line.close()
      folder.remove()
    }
  })

/** Kills a node, returns the time until every instance of it has handled an event elsewhere, and restarts the node. */
const killed = async (nodes: Nodes, index: number): Promise<number> => {
  const owned = await nodes.node(index).tell("owned")
  const survivors = nodes.others(index)
  await nodes.node(index).kill()
  const at = Date.now()
  await Promise.all(survivors.map((node) => node.tell("observe")))
  for (;;) {
    const seen = await Promise.all(survivors.map((node) => node.tell("observed")))
    const first = owned.map((id) => Math.min(...seen.map(({ answeredAt }) => answeredAt[id] ?? Number.POSITIVE_INFINITY)))
    if (first.every(Number.isFinite)) {
      await nodes.start(index)
      await nodes.shared()
      await nodes.node(index).tell("send")
      return Math.max(...first) - at
    }
    if (Date.now() - at > stuckMillis) {
      const stuck = owned.filter((_, position) => !Number.isFinite(first[position]))
      throw new Error(`${stuck.length} instances handled no event within ${stuckMillis} ms of the kill of their node: ${stuck.join(", ")}`)
    }
    await sleep(50)
  }
}

/**
 * Freezes a node for longer than its lease. Its commits are in flight at that moment, and reach the database when other nodes
 * own its instances. Returns how many of its commits were refused.
 */
const frozen = async (nodes: Nodes, index: number, line: Line): Promise<number> => {
  const node = nodes.node(index)
  const before = await node.tell("fenced")
  await line.hold("payload")
  node.freeze()
  await sleep(1.5 * leaseMillis)
  await untilShared(nodes.others(index))
  line.release()
  node.thaw()
  await nodes.shared()
  const fenced = (await node.tell("fenced")) - before
  if (fenced === 0) throw new Error("the fence refused none of the commits that arrived after the lease of their node had ended")
  return fenced
}

/** Restarts all nodes in turn. The senders of a node stop before the node does, like the callers of a node that is no longer ready. */
const restarted = async (nodes: Nodes) => {
  await Promise.all(nodes.all.map((node) => node.tell("observe")))
  const errors: Array<string> = []
  let pauseMillis = 0
  const collect = async (node: Player<UnderFaults>) => {
    const observed = await node.tell("observed")
    errors.push(...observed.errors)
    pauseMillis = Math.max(pauseMillis, observed.longestMillis)
  }
  for (const index of nodes.all.keys()) {
    await nodes.node(index).tell("pause")
    await collect(nodes.node(index))
    await nodes.node(index).leave()
    await nodes.start(index)
    await nodes.shared()
    await nodes.node(index).tell("send")
  }
  for (const node of nodes.all) await collect(node)
  return { errors, pauseMillis }
}
