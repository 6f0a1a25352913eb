/** What must hold when the killing is over, proved from the tables. */
import { setTimeout as sleep } from "node:timers/promises"
import { Patience } from "../../../store/test/support/patience.ts"
import { judgeAnswers, type Known, type Sent, stateText } from "../simulation/Answers.ts"
import { judge } from "../simulation/Audit.ts"
import { type Driven, driven } from "../simulation/Machines.ts"
import type { StoreAddress } from "./Protocol.ts"
import { readTables, type Tables } from "./Tables.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"

export interface Proof {
  readonly problems: ReadonlyArray<string>
  /** Of the problems, those of work that is not done. */
  readonly unfinished: ReadonlyArray<string>
  readonly events: number
  readonly fired: number
  readonly commands: number
}

export interface Evidence {
  readonly store: StoreAddress
  readonly machines: ReadonlyArray<Driven>
  readonly sent: ReadonlyArray<Sent>
  /** Clocks were set: a deadline may have passed by one clock and not by another. */
  readonly clocksJump?: boolean
}

/**
 * Waits until nothing happens by itself any more: no timer is due, no work under way. A process whose clock jumps stores deadlines that are
 * far away until it has read the clock of its store again, and still fires them when their delay has passed: these show only by waiting.
 */
export const quiescence = async (evidence: Evidence, millis = 30_000): Promise<void> => {
  const until = awaitedUntil(evidence)
  const quietMillis = evidence.clocksJump === true ? 3_000 : 200
  const patience = new Patience(millis)
  let before = ""
  let unchangedSince = 0
  for (let waited = 0; !patience.isOver; waited += 200) {
    const { instances } = await readTables(evidence.store)
    const now = JSON.stringify(instances.map(({ machine, id, sequence }) => [machine, id, sequence]))
    const pending = instances.some(({ timers, needsOwner, owes }) => needsOwner || owes || timers.some(({ due }) => due < until))
    if (now !== before || pending) unchangedSince = waited
    if (waited - unchangedSince >= quietMillis) return
    before = now
    await sleep(200)
  }
}

/** `last` is the worker that wrote last, `fresh` one that has just opened the store. */
export const prove = async (evidence: Evidence, last: WorkerProcess | undefined, fresh: WorkerProcess): Promise<Proof> => {
  const tables = await readTables(evidence.store)
  const known = judgeTables(evidence, tables)
  const unfinished = left(tables, awaitedUntil(evidence))
  const of = ({ machine, id }: { readonly machine: string; readonly id: string }) => known.get(`${machine} ${id}`)
  const problems = [
    ...tables.problems,
    ...[...known.values()].flatMap((one) => one.problems),
    ...judgeAnswers(evidence.sent, of),
    ...unfinished,
  ]
  for (const { machine, id, sequence } of tables.instances) {
    const states = of({ machine, id })?.states ?? []
    for (const [name, worker] of [["the last process", last] as const, ["a fresh process", fresh] as const]) {
      if (worker === undefined) continue
      const reading = await worker.read(machine, id)
      const text = reading.state === undefined ? "nothing" : stateText(machine, reading.state)
      if (reading.sequence !== sequence || text !== states[sequence])
        problems.push(`${machine} ${id}: ${name} has ${text} at ${reading.sequence}, the journal ${states[sequence]} at ${sequence}`)
    }
  }
  const all = [...known.values()]
  return {
    problems,
    unfinished,
    events: all.reduce((sum, { states }) => sum + states.length - 1, 0),
    fired: all.reduce((sum, { fired }) => sum + fired, 0),
    commands: tables.instances.reduce((sum, { commands }) => sum + commands.length, 0),
  }
}

const judgeTables = ({ machines, clocksJump = false }: Evidence, { instances }: Tables): ReadonlyMap<string, Known> =>
  new Map(
    instances.map((stored) => [
      `${stored.machine} ${stored.id}`,
      { ...judge(driven(stored.machine, machines).machine, stored, clocksJump), status: stored.status, pruned: 0 },
    ]),
  )

/** A deadline that is further away than this was set by a clock that is ahead. */
const farMillis = 600_000

/** Timers that are due before that fire while a test waits for them. */
const awaitedUntil = ({ clocksJump = false }: Evidence): number => (clocksJump ? Date.now() + farMillis : Number.POSITIVE_INFINITY)

const left = ({ instances }: Tables, until: number): ReadonlyArray<string> =>
  instances.flatMap(({ machine, id, tag, status, timers, needsOwner, owes }) => [
    ...timers.filter(({ due }) => due < until).map(({ name }) => `${machine} ${id}: timer ${name} of ${tag} is left`),
    ...(needsOwner ? [`${machine} ${id}: the work of ${tag} does not continue`] : []),
    ...(owes ? [`${machine} ${id}: its parents do not know of its end`] : []),
    ...(status === "held" ? [`${machine} ${id} is held`] : []),
  ])
