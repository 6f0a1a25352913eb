/** A contestant of several processes that send at the same time. */
import { type Abilities, type Player, startPlayer } from "../../measure/Player.ts"

/** How many instances all processes of a contestant send to. */
export const hotInstances = 50

/** How many sends of a process are in flight: one for each instance. More processes bring more callers. */
export const sendsOfProcess = 50

/** How many shards a cluster of Detent has. */
const allShards = 300

/** Which instances a process sends to: all, those that it owns, or those that other processes own. */
export type Targets = "all" | "own" | "others"

export interface Sent {
  /** How many were stored and answered. */
  readonly done: number
  /** How many senders got an error. */
  readonly failed: number
  readonly millis: number
  /** CPU time of this process. */
  readonly cpuMicros: number
}

export interface Sending extends Abilities {
  readonly play: (millis: number, targets: Targets) => Promise<Sent>
  /** How many events the database has, of all processes. */
  readonly stored: () => Promise<number>
  /** How many shards this process has; 0 for a contestant without shards. */
  readonly shards: () => Promise<number>
}

export interface MemberOptions {
  readonly database: string
  /** The index of this process, from 0, and the number of processes. */
  readonly member: number
  readonly members: number
  /** How many sends of this process are in flight. */
  readonly senders: number
  /** A port of its own. */
  readonly port: number
}

export interface TeamPlan {
  readonly name: string
  /** A file of contestants/, and the name of its export. */
  readonly from: readonly [file: string, name: string]
  readonly database: string
  readonly ports: ReadonlyArray<number>
  /** How many sends of each process are in flight. */
  readonly senders: number
}

export interface Team {
  readonly name: string
  readonly members: ReadonlyArray<Player<Sending>>
}

/** Starts teams, runs `use`, and ends all of their processes afterwards. */
export const withTeams = async <A>(plans: ReadonlyArray<TeamPlan>, use: (teams: ReadonlyArray<Team>) => Promise<A>): Promise<A> => {
  const started: Array<Player<Sending>> = []
  try {
    const teams = await Promise.all(plans.map((plan) => startTeam(plan, (player) => started.push(player))))
    const result = await use(teams)
    await Promise.all(started.map((player) => player.leave()))
    return result
  } finally {
    await Promise.all(started.map((player) => player.kill()))
  }
}

/** Starts the first process before the others: not every contestant can create its tables from several processes at once. */
const startTeam = async (
  { name, from: [file, ability], database, ports, senders }: TeamPlan,
  started: (player: Player<Sending>) => void,
): Promise<Team> => {
  const module = new URL(`./contestants/${file}`, import.meta.url).href
  const start = async (port: number, member: number) => {
    const options: MemberOptions = { database, member, members: ports.length, senders, port }
    const player = await startPlayer<Sending>(`${name}, process ${member}`, module, ability, { ...options })
    started(player)
    return player
  }
  const [port = 0, ...others] = ports
  const first = await start(port, 0)
  return { name, members: [first, ...(await Promise.all(others.map((other, index) => start(other, index + 1))))] }
}

/** The sum of what all processes sent. */
export const playTogether = async ({ members }: Team, millis: number, targets: Targets): Promise<Sent> => {
  const all = await Promise.all(members.map((member) => member.tell("play", millis, targets)))
  const sum = (of: (one: Sent) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    done: sum(({ done }) => done),
    failed: sum(({ failed }) => failed),
    millis: Math.max(...all.map((one) => one.millis)),
    cpuMicros: sum(({ cpuMicros }) => cpuMicros),
  }
}

/** How long nodes may take to distribute the shards, also on a busy machine. */
const sharingMillis = 120_000

/** Waits until the processes together have all shards, and each has some. Fails after a time-out. */
export const untilShared = async (members: ReadonlyArray<Player<{ readonly shards: () => Promise<number> }>>): Promise<void> => {
  const start = performance.now()
  for (;;) {
    const shards = await Promise.all(members.map((member) => member.tell("shards")))
    if (shards.every((count) => count > 0) && shards.reduce((sum, count) => sum + count, 0) === allShards) return
    if (performance.now() - start > sharingMillis)
      throw new Error(`the nodes did not share ${allShards} shards within ${sharingMillis} ms: they have ${shards.join(", ")}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
