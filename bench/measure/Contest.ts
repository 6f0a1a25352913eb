/**
 * Measures contestants in turns within one process: A B C A B C. Whatever else the machine is doing hits all of them, and
 * the median over the turns leaves out what hit only one.
 *
 * The unit is CPU time of the whole process, not the clock on the wall: other programs do not count, the threads of the
 * garbage collector do.
 */
import { join } from "node:path"
import { inTurns, runNode } from "./Processes.ts"
import { median } from "./Statistics.ts"

export interface Contestant<A> {
  readonly name: string
  /** Makes what a number of rounds is played with. Its time does not count. */
  prepare(rounds: number): A
  /** Plays the rounds. The result is kept, so that no work can be optimised away. */
  play(prepared: A): unknown
}

export interface Timing {
  readonly turns: number
  /** How long each plays before anything counts, in CPU time: until its code is compiled for good. */
  readonly warmUpMillis: number
  /** How long one contestant's turn lasts, in CPU time. */
  readonly turnMillis: number
  /** How many rounds are prepared at once. */
  readonly chunk: number
  /** How often the whole contest is held. */
  readonly processes: number
}

/**
 * Holds a contest in several fresh processes and returns the medians: the compiler of the engine does not always take the
 * same way, and what it has settled on stays for the life of a process. `name` is what `module` exports the contestants by.
 */
export const contestInProcesses = async (module: string, name: string, timing: Timing): Promise<ReadonlyMap<string, number>> => {
  const program = join(import.meta.dirname, "contesting.ts")
  const hold = () => runNode(["--expose-gc", program, module, name, JSON.stringify(timing)])
  const { held = {} } = await inTurns({ held: hold }, timing.processes)
  return new Map(Object.entries(held))
}

/** Nanoseconds of CPU time per round, by the contestant's name. */
export const contest = (contestants: ReadonlyArray<Contestant<unknown>>, timing: Timing): ReadonlyMap<string, number> => {
  const players = contestants.map((contestant) => ({
    contestant,
    chunks: chunksThatLast(contestant, timing),
    results: [] as Array<number>,
  }))
  for (let turn = 0; turn < timing.turns; turn++) {
    for (const { contestant, chunks, results } of players) {
      // What the one before left behind is not this one's to collect.
      globalThis.gc?.({ type: "minor" })
      results.push(playChunks(contestant, timing.chunk, chunks) / (chunks * timing.chunk))
    }
  }
  return new Map(players.map(({ contestant, results }) => [contestant.name, median(results)]))
}

/** Keeps the last result reachable. */
export const sink: { last: unknown } = { last: undefined }

/**
 * Plays rounds one by one. All contestants of this kind share the loop, so that none of them is inlined into it and has
 * its short-lived objects removed, as no real program would.
 */
export const oneByOne =
  <A>(play: (prepared: A) => unknown) =>
  (all: ReadonlyArray<A>) => {
    for (const prepared of all) sink.last = play(prepared)
  }

/** Warms up, then counts how many chunks fill a turn. */
const chunksThatLast = (contestant: Contestant<unknown>, { warmUpMillis, turnMillis, chunk }: Timing): number => {
  for (let spent = 0; spent < warmUpMillis * 1e6; ) spent += playChunks(contestant, chunk, 1)
  let chunks = 0
  for (let spent = 0; spent < turnMillis * 1e6; chunks++) spent += playChunks(contestant, chunk, 1)
  return chunks
}

/** Nanoseconds of CPU time. */
const playChunks = (contestant: Contestant<unknown>, chunk: number, chunks: number): number => {
  let microseconds = 0
  for (let played = 0; played < chunks; played++) {
    const prepared = contestant.prepare(chunk)
    const before = process.cpuUsage()
    sink.last = contestant.play(prepared)
    const { user, system } = process.cpuUsage(before)
    microseconds += user + system
  }
  return microseconds * 1000
}
