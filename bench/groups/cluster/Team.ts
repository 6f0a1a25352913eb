/** A contestant of several processes that play at the same time. */
import { type Abilities, type Player, startPlayer } from "../../measure/Player.ts"

/** How many instances all processes of a contestant send to. */
export const hotInstances = 50

/** How many sends of a contestant are under way at a time, over all of its processes: three for each instance. */
export const sendsUnderWay = 150

/** How many shards a cluster of Detent has. */
const allShards = 300

/** Which instances a process sends to: all, those that it has itself, or those that other processes have. */
export type Targets = "all" | "own" | "others"

export interface Sent {
  /** How many were stored and answered. */
  readonly done: number
  /** How many senders got an error. */
  readonly failed: number
  readonly millis: number
  /** Of this process. */
  readonly cpuMicros: number
}

export interface Sending extends Abilities {
  readonly play: (millis: number, targets: Targets) => Promise<Sent>
  /** How many events the database has, of all processes. */
  readonly stored: () => Promise<number>
  /** How many shards this process has; 0 where it knows of none. */
  readonly shards: () => Promise<number>
}

export interface MemberOptions {
  readonly database: string
  /** Which of the processes this is, from 0, and of how many. */
  readonly member: number
  readonly members: number
  /** How many sends of this process are under way at a time. */
  readonly senders: number
  /** A port of its own. */
  readonly port: number
}

export interface TeamPlan {
  readonly name: string
  /** A file of contestants/, and what it exports. */
  readonly from: readonly [file: string, name: string]
  readonly database: string
  readonly ports: ReadonlyArray<number>
}

export interface Team {
  readonly name: string
  readonly members: ReadonlyArray<Player<Sending>>
}

/** Uses teams, and sees that none of their processes outlives it. */
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

/** Starts the first process before the others, which then find the tables made: not every contestant can make them at once. */
const startTeam = async (
  { name, from: [file, ability], database, ports }: TeamPlan,
  started: (player: Player<Sending>) => void,
): Promise<Team> => {
  const module = new URL(`./contestants/${file}`, import.meta.url).href
  const start = async (port: number, member: number) => {
    const options: MemberOptions = { database, member, members: ports.length, senders: sendsUnderWay / ports.length, port }
    const player = await startPlayer<Sending>(`${name}, process ${member}`, module, ability, { ...options })
    started(player)
    return player
  }
  const [port = 0, ...others] = ports
  const first = await start(port, 0)
  return { name, members: [first, ...(await Promise.all(others.map((other, index) => start(other, index + 1))))] }
}

/** What the processes sent together. */
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

/** How long nodes may take to share the shards between them, also on a machine that is busy. */
const sharingMillis = 120_000

/** Until the processes have all shards between them, and each of them some. Fails where they do not get there. */
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
