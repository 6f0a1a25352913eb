/**
 * Measures contestants in turns within one process: A B C A B C. Other load on the machine affects all of them, and the median
 * over the turns removes disturbances of a single turn.
 *
 * The unit is CPU time of the whole process, not wall-clock time: other programs do not count, the threads of the garbage
 * collector do.
 */
import { join } from "node:path"
import { inTurns, runNode } from "./Processes.ts"
import { median } from "./Statistics.ts"

export interface Contestant<A> {
  readonly name: string
  /** Creates the input of a number of rounds. Not measured. */
  prepare(rounds: number): A
  /** Plays the rounds. The result is kept, so that no work can be optimised away. */
  play(prepared: A): unknown
}

export interface Timing {
  readonly turns: number
  /** The warm-up of each contestant, in CPU time, until its code is optimised. */
  readonly warmUpMillis: number
  /** How long one contestant's turn lasts, in CPU time. */
  readonly turnMillis: number
  /** How many rounds are prepared at once. */
  readonly chunk: number
  /** How often the whole contest is held. */
  readonly processes: number
}

/**
 * Holds a contest in several new processes and returns the medians: the JavaScript engine does not always optimise in the same
 * way, and its choice lasts for the life of a process. `name` is the export of `module` that has the contestants.
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
      // Collects the garbage of the previous contestant.
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
