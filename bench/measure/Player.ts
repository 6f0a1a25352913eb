/**
 * A contestant in a child process that lives for a whole contest and executes calls, so that contestants can take many short
 * turns without a restart, and so that one can be killed.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { atExit } from "./AtExit.ts"

/** The calls that a contestant answers. Arguments and results are sent between processes. */
export type Abilities = Readonly<Record<string, (...args: ReadonlyArray<never>) => Promise<unknown>>>

export interface Player<A extends Abilities> {
  readonly name: string
  /** Calls an ability in the process of the player. */
  tell<K extends keyof A & string>(ability: K, ...args: Parameters<A[K]>): ReturnType<A[K]>
  /** Ends it like a power failure. */
  kill(): Promise<void>
  /** Freezes it, like a suspended machine. */
  freeze(): void
  /** Resumes a frozen process. */
  thaw(): void
  /** Lets it close its resources and exit. */
  leave(): Promise<void>
}

export interface PlayerRequest {
  readonly number: number
  readonly ability: string
  readonly args: ReadonlyArray<unknown>
}

export interface PlayerAnswer {
  readonly number: number
  readonly result?: unknown
  readonly problem?: string
}

const program = join(import.meta.dirname, "playing.ts")

/** Starts a process in which `module` exports the abilities under `name`, made from the options. Returns when they are ready. */
export const startPlayer = async <A extends Abilities>(
  title: string,
  module: string,
  name: string,
  options: Readonly<Record<string, unknown>>,
): Promise<Player<A>> => {
  const child = spawn(process.execPath, ["--expose-gc", program, module, name, JSON.stringify(options)], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  })
  const gone = once(child, "exit")
  const kill = atExit(() => child.kill("SIGKILL"))
  child.once("exit", kill)
  const ask = asking(title, child)
  const player: Player<A> = {
    name: title,
    tell: (ability, ...args) => ask(ability, args) as ReturnType<A[keyof A & string]>,
    kill: async () => {
      kill()
      await gone
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    leave: async () => {
      if (child.connected) child.send({ number: -1, ability: "leave", args: [] } satisfies PlayerRequest)
      await gone
    },
  }
  await ask("ready", [])
  return player
}

/** Runs `use` with the players, and ends all of them afterwards. */
export const withPlayers = async <P extends Player<never>, A>(
  starting: ReadonlyArray<Promise<P>>,
  use: (players: ReadonlyArray<P>) => Promise<A>,
): Promise<A> => {
  const started = await Promise.allSettled(starting)
  const players = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
  try {
    for (const one of started) if (one.status === "rejected") throw one.reason
    const result = await use(players)
    await Promise.all(players.map((player) => player.leave()))
    return result
  } finally {
    await Promise.all(players.map((player) => player.kill()))
  }
}

/** Sends numbered requests and resolves their answers; all pending requests fail when the process ends. */
const asking = (title: string, child: ChildProcess) => {
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
  let problems = ""
  let number = 0
  child.stderr?.on("data", (text) => {
    problems = `${problems}${text}`.slice(-5000)
  })
  child.on("message", (answer: PlayerAnswer) => {
    const asked = waiting.get(answer.number)
    waiting.delete(answer.number)
    if (answer.problem === undefined) asked?.resolve(answer.result)
    else asked?.reject(new Error(`${title}: ${answer.problem}`))
  })
  child.on("exit", (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`${title} ended with ${code ?? signal}:\n${problems}`))
    waiting.clear()
  })
  return (ability: string, args: ReadonlyArray<unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (child.exitCode !== null || child.signalCode !== null) return reject(new Error(`${title} has ended:\n${problems}`))
      waiting.set(number, { resolve, reject })
      child.send({ number, ability, args } satisfies PlayerRequest)
      number++
    })
}
