/** Kills and freezes worker processes at random for a while, lets everything end, and proves from their logs who ran what. */
import type { ForkOptions } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { Patience, slowness } from "../../../../store/test/support/patience.ts"
import { Chance } from "../../simulation/Chance.ts"
import type { StoreAddress } from "../Protocol.ts"
import { query } from "../query.ts"
import { type Blockage, type Freeze, type Kill, type OwnershipReport, proveOwnership } from "./OwnershipProof.ts"
import { monotonicMillis, type WorkRecord } from "./Shift.ts"
import { ShiftProcess } from "./ShiftProcess.ts"

export interface ChaosOptions {
  readonly store: StoreAddress
  readonly seconds: number
  /** It continues after its seconds until it has killed and frozen this often. Default: 0. */
  readonly leastKills?: number
  readonly leastFreezes?: number
  readonly seed: number
  readonly processes: number
  readonly instances: number
  readonly leaseMillis: number
  /** How much later than a lease allows a takeover may be on an idle machine. */
  readonly slackMillis: number
  /** The processes are nodes of a cluster at these addresses, and keep them when they are started again. */
  readonly addresses?: ReadonlyArray<string>
  /** Where each process runs. */
  readonly process?: (index: number) => ForkOptions
  /** Processes are also stopped and replaced by a newer version, one after the other. */
  readonly deploys?: boolean
  /** Further faults. They begin when all instances are at work, and end before the instances do. */
  readonly beside?: () => Promise<void>
  readonly say?: (line: string) => void
}

export interface ChaosReport extends OwnershipReport {
  readonly kills: number
  readonly freezes: number
  readonly deploys: number
  /** Work that was not done in the end. */
  readonly unfinished: ReadonlyArray<string>
  /** Where the logs of all processes are, if there were problems. */
  readonly logs: string | undefined
}

/** How long the instances may take to end on an idle machine, once nothing disturbs them any more. */
const endingMillis = 60_000

export const causeChaos = async (options: ChaosOptions): Promise<ChaosReport> => {
  const folder = mkdtempSync(join(tmpdir(), "detent-ownership-"))
  const closing = join(folder, "closing")
  const { store, leaseMillis, slackMillis, instances, say = () => undefined } = options
  const chance = new Chance(options.seed)
  const kills: Array<Kill> = []
  const freezes: Array<Freeze> = []
  let deploys = 0
  let newest = 1
  /** What processes wrote that have ended. */
  const errors: Array<string> = []
  const versions = new Map<ShiftProcess, number>()
  const frozenSince = new Map<ShiftProcess, Pick<Freeze, "from" | "owned">>()
  // Processes take over as late as the machine lets them run.
  let slowest = slowness()
  let started = 0
  const launch = (index: number) => {
    const address = options.addresses?.[index]
    const config = {
      store,
      leaseMillis,
      hasNodeId: true,
      instances,
      skipMillis: 400,
      log: join(folder, `${started++}.jsonl`),
      closing,
      shortestMillis: 200,
      longestMillis: 1_500,
      version: newest,
      ...(address === undefined ? {} : { address }),
    }
    const worker = new ShiftProcess(config, options.process?.(index))
    versions.set(worker, newest)
    return worker
  }
  let watch: LockWatch | undefined
  const workers: Array<ShiftProcess> = Array.from({ length: options.processes }, (_, index) => launch(index))

  /** Who can be disturbed so that one process remains that has been at work for longer than a takeover takes. */
  const victims = () => {
    const isSteady = (worker: ShiftProcess) =>
      worker.isAlive && !worker.isFrozen && worker.readyAt !== undefined && monotonicMillis() - worker.readyAt > leaseMillis + 1_000
    const steady = workers.filter(isSteady)
    return workers.filter(
      (worker) => worker.isAlive && worker.readyAt !== undefined && (steady.length > 1 || (steady.length === 1 && steady[0] !== worker)),
    )
  }

  const thaw = (worker: ShiftProcess) => {
    const from = frozenSince.get(worker)
    if (from === undefined) return
    frozenSince.delete(worker)
    worker.thaw()
    freezes.push({ pid: worker.pid, ...from, to: monotonicMillis() })
    // What it has become steady for is over.
    worker.readyAt = monotonicMillis()
  }

  const kill = async (worker: ShiftProcess) => {
    const at = monotonicMillis()
    const from = frozenSince.get(worker)
    frozenSince.delete(worker)
    if (from !== undefined) freezes.push({ pid: worker.pid, ...from, to: at })
    await worker.kill()
    kills.push({ pid: worker.pid, at, owned: await ownedBy(store, worker) })
    replace(worker)
  }

  const replace = (worker: ShiftProcess) => {
    // One that did not start in an outage is started again.
    if (worker.errors !== "" && worker.readyAt !== undefined) errors.push(worker.errors)
    const index = workers.indexOf(worker)
    workers[index] = launch(index)
  }

  const replaceEnded = () => {
    for (const worker of workers) {
      if (worker.isAlive) continue
      if (worker.readyAt !== undefined) errors.push(`process ${worker.pid} ended by itself`)
      replace(worker)
    }
  }

  /** Stops this process for a newer version, unless others are older. */
  const deploy = (worker: ShiftProcess) => {
    if (workers.every((one) => versions.get(one) === newest)) newest++
    return deployNewest(worker)
  }

  const deployNewest = async (worker: ShiftProcess) => {
    if (versions.get(worker) === newest) return
    deploys++
    await worker.stop()
    replace(worker)
  }

  try {
    await Promise.all(workers.map((worker) => worker.ready()))
    await workers[0]?.start()
    const beside = options.beside?.()
    watch = store._tag === "Sqlite" ? watchLock(store.filename) : undefined
    say(`${instances} instances on ${options.processes} processes, lease ${leaseMillis} ms`)
    const until = monotonicMillis() + options.seconds * 1000
    let saidAt = monotonicMillis()
    const { leastKills = 0, leastFreezes = 0 } = options
    const isEnough = () => kills.length >= leastKills && freezes.length + frozenSince.size >= leastFreezes
    while (monotonicMillis() < until || !isEnough()) {
      await sleep(chance.between(200, leaseMillis))
      slowest = Math.max(slowest, slowness())
      replaceEnded()
      for (const [worker, { from }] of [...frozenSince])
        if (monotonicMillis() - from > chance.between(100, 2.5 * leaseMillis + 2_000)) thaw(worker)
      const candidates = victims()
      const victim = candidates[chance.between(0, candidates.length - 1)]
      if (victim === undefined) continue
      if (options.deploys === true && !victim.isFrozen && chance.between(0, 2) === 0) await deploy(victim)
      else if (chance.between(0, 1) === 0) await kill(victim)
      else if (!victim.isFrozen) {
        const from = monotonicMillis()
        victim.freeze()
        frozenSince.set(victim, { from, owned: await ownedBy(store, victim) })
      }
      if (monotonicMillis() - saidAt > 15_000) {
        saidAt = monotonicMillis()
        say(`${Math.round((until - saidAt) / 1000)} s to go: ${kills.length} kills, ${freezes.length} freezes`)
      }
    }
    for (const worker of workers) thaw(worker)
    await beside
    replaceEnded()
    // Otherwise instances that the newer version has written would wait on an older process.
    for (const worker of [...workers]) await deployNewest(worker)
    writeFileSync(closing, "")
    await Promise.all(workers.map((worker) => worker.ready()))
    const unfinished = await awaitEnd(workers[0], instances)
    for (const worker of workers) await worker.stop()
    const proof = proveOwnership({
      records: recordsIn(folder),
      kills,
      freezes,
      blockages: watch?.stop() ?? [],
      leaseMillis,
      slackMillis: slackMillis * slowest,
    })
    const written = [...errors, ...workers.map(({ errors }) => errors)].filter((text) => text !== "")
    const problems = [...proof.problems, ...unfinished, ...written]
    const isProven = problems.length === 0
    if (isProven) rmSync(folder, { recursive: true, force: true })
    else
      writeFileSync(
        join(folder, "chaos.json"),
        JSON.stringify({ kills, freezes }, (_, value) => (value instanceof Set ? [...value] : value)),
      )
    return { ...proof, problems, unfinished, kills: kills.length, freezes: freezes.length, deploys, logs: isProven ? undefined : folder }
  } finally {
    watch?.stop()
    for (const worker of workers) if (worker.isAlive) await worker.kill()
  }
}

const awaitEnd = async (worker: ShiftProcess | undefined, instances: number): Promise<ReadonlyArray<string>> => {
  const patience = new Patience(endingMillis)
  let counts: Readonly<Record<string, number>> = {}
  while (!patience.isOver && worker !== undefined) {
    counts = await worker.counts()
    if (counts["Finished"] === instances) return []
    await sleep(250)
  }
  return [`not all work was done: of ${instances} instances, ${JSON.stringify(counts)}`]
}

/** A statement that a process sent before it was stopped may still be executed by the database: that takes milliseconds. */
const settlingMillis = 50

/** The instances whose work the store gives to a process. */
const ownedBy = async (store: StoreAddress, { nodeId }: ShiftProcess): Promise<ReadonlySet<string>> => {
  await sleep(settlingMillis)
  for (const patience = new Patience(outageMillis); ; await sleep(50)) {
    try {
      const rows = await query(store, `select id from detent.instances where needs_owner and owner like '${nodeId}/%'`)
      return new Set(rows.map(({ id }) => String(id)))
    } catch (cause) {
      if (patience.isOver) throw cause
    }
  }
}

/** The database may be restarted meanwhile. */
const outageMillis = 30_000

interface LockWatch {
  /** Ends the watch. Returns when the file was locked for so long that a frozen process must hold the lock. */
  readonly stop: () => ReadonlyArray<Blockage>
}

/** A transaction takes milliseconds: a lock that is never free for longer belongs to a process that does not run. */
const longestTransactionMillis = 1_000

const watchLock = (filename: string): LockWatch => {
  const database = new DatabaseSync(filename)
  const found: Array<Blockage> = []
  let lockedSince: number | undefined
  const look = () => {
    const at = monotonicMillis()
    try {
      database.exec("begin immediate; rollback")
      if (lockedSince !== undefined && at - lockedSince > longestTransactionMillis) found.push({ from: lockedSince, to: at })
      lockedSince = undefined
    } catch {
      lockedSince ??= at
    }
  }
  const timer = setInterval(look, 100)
  return {
    stop: () => {
      clearInterval(timer)
      if (database.isOpen) database.close()
      return found
    },
  }
}

/** A process that is killed may leave half a line at the end of its log. */
const recordsIn = (folder: string): ReadonlyArray<WorkRecord> =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .filter((line) => line.endsWith("}"))
    .map((line): WorkRecord => JSON.parse(line))
