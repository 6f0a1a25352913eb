/** Fifty instances that three processes send to: with a cluster, without one, and on Effect's cluster and DBOS. */
import type { Part } from "../../measure/Group.ts"
import { freePort, type Postgres, withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { type Table, times } from "../../measure/Table.ts"
import { hotInstances, playTogether, sendsOfProcess, type Targets, type Team, untilShared, withTeams } from "./Team.ts"

const one = "detent, one process"
const busy = "detent, one process with the sends of three"
const nodes = "detent, three nodes"
const split = "the same, each sends to its own instances"
const remote = "the same, each sends to instances of the others"
const apart = "detent, three processes without a cluster"
const volatile = "Effect entities, volatile messages"
const persisted = "Effect entities, persisted messages"
const dbos = "DBOS, messages to workflows"

/** Processes that send for one or more entrants. */
interface Contestant {
  readonly name: string
  readonly from: readonly [file: string, name: string]
  readonly processes: number
  /** How many sends of each process are in flight. */
  readonly senders: number
  /** Its entrants: the name in the table, and the instances that it sends to. */
  readonly plays: Readonly<Record<string, Targets>>
}

const oneProcess: Contestant = { name: one, from: ["detent.ts", "alone"], processes: 1, senders: sendsOfProcess, plays: { [one]: "all" } }
const threeNodes: Contestant = {
  name: nodes,
  from: ["detent.ts", "node"],
  processes: 3,
  senders: sendsOfProcess,
  plays: { [nodes]: "all" },
}

const ways: ReadonlyArray<Contestant> = [
  oneProcess,
  { ...oneProcess, name: busy, senders: 3 * sendsOfProcess, plays: { [busy]: "all" } },
  { ...threeNodes, plays: { [nodes]: "all", [split]: "own", [remote]: "others" } },
  { name: apart, from: ["detent.ts", "alone"], processes: 3, senders: sendsOfProcess, plays: { [apart]: "all" } },
]

const peersOfNodes: ReadonlyArray<Contestant> = [
  threeNodes,
  { name: volatile, from: ["effect.ts", "volatile"], processes: 3, senders: sendsOfProcess, plays: { [volatile]: "all" } },
  { name: persisted, from: ["effect.ts", "persisted"], processes: 3, senders: sendsOfProcess, plays: { [persisted]: "all" } },
  { name: dbos, from: ["dbos.mts", "messages"], processes: 3, senders: sendsOfProcess, plays: { [dbos]: "all" } },
]

const lengthOf = (quick: boolean) =>
  quick ? { turns: 5, warmUpMillis: 1000, turnMillis: 400 } : { turns: 15, warmUpMillis: 3000, turnMillis: 1000 }

interface Result {
  readonly perSecond: number
  readonly nodeMicros: number
  readonly postgresMicros: number
  readonly failed: number
}

/** One process, three nodes, and three processes without a cluster. */
export const delivery: Part = async ({ quick }) => {
  const results = await contest(ways, lengthOf(quick))
  const of = (name: string) => results.get(name) as Result
  const faster = (name: string, other: string) => of(name).perSecond / of(other).perSecond
  return {
    tables: [
      tableOf("one process", results, [
        "Three processes and PostgreSQL share the cores of this machine. Each process has its own callers, with 50 sends in flight.",
        "One process with the sends of three stores three times as much with each statement, which costs less for each event.",
      ]),
    ],
    figures: {
      "one.perSecond": of(one).perSecond,
      "one.nodeCpuUs": of(one).nodeMicros,
      "one.pgCpuUs": of(one).postgresMicros,
      "hot.perSecond": of(nodes).perSecond,
      "hot.vsOneProcess": faster(nodes, one),
      "hot.vsOneProcessWithAllSends": faster(nodes, busy),
      "hot.vsNoCluster": faster(nodes, apart),
      "hot.failed": of(nodes).failed,
      "hot.nodeCpuUs": of(nodes).nodeMicros,
      "hot.pgCpuUs": of(nodes).postgresMicros,
      "split.vsOneProcess": faster(split, one),
      "split.vsOneProcessWithAllSends": faster(split, busy),
      "remote.perSecond": of(remote).perSecond,
      "remote.nodeCpuUs": of(remote).nodeMicros,
      "remote.pgCpuUs": of(remote).postgresMicros,
    },
  }
}

/** Three processes of each that send to the same instances. */
export const peers: Part = async ({ quick }) => {
  const results = await contest(peersOfNodes, lengthOf(quick))
  const faster = (other: string) => (results.get(nodes)?.perSecond ?? Number.NaN) / (results.get(other)?.perSecond ?? Number.NaN)
  return {
    tables: [
      tableOf("detent's nodes", results, [
        "Effect's entities with volatile messages store event and state in their handler; with persisted ones the cluster stores",
        "message and reply, and the handler nothing. DBOS answers a send before its workflow has the message.",
      ]),
    ],
    figures: {
      "hot.vsEffectVolatile": faster(volatile),
      "hot.vsEffectPersisted": faster(persisted),
      "hot.vsDbos": faster(dbos),
    },
  }
}

/** The results of all entrants. Fails where an answered event is not in the database. */
const contest = (contestants: ReadonlyArray<Contestant>, turns: ReturnType<typeof lengthOf>): Promise<ReadonlyMap<string, Result>> =>
  withPostgres(async (server) => {
    const plans = await Promise.all(
      contestants.map(async ({ name, from, processes, senders }, index) => {
        const ports = await Promise.all(Array.from({ length: processes }, freePort))
        return { name, from, database: await server.createDatabase(`contestant_${index}`), ports, senders }
      }),
    )
    return await withTeams(plans, (teams) => playInTurns(server, contestants, teams, turns))
  })

interface Entrant {
  readonly name: string
  readonly team: Team
  readonly targets: Targets
}

const playInTurns = async (
  server: Postgres,
  contestants: ReadonlyArray<Contestant>,
  teams: ReadonlyArray<Team>,
  { turns, warmUpMillis, turnMillis }: ReturnType<typeof lengthOf>,
): Promise<ReadonlyMap<string, Result>> => {
  const entrants = contestants.flatMap(({ name, plays }): ReadonlyArray<Entrant> => {
    const team = teams.find((found) => found.name === name) as Team
    return Object.entries(plays).map(([title, targets]) => ({ name: title, team, targets }))
  })
  for (const { name, members } of teams) if (name === nodes) await untilShared(members)
  const counted = new Map(teams.map((team) => [team, { done: 0, failed: 0 }]))
  const play = async ({ team, targets }: Entrant, millis: number) => {
    const before = server.cpuMicros()
    const sent = await playTogether(team, millis, targets)
    const count = counted.get(team)
    if (count !== undefined) {
      count.done += sent.done
      count.failed += sent.failed
    }
    return { ...sent, postgresMicros: server.cpuMicros() - before }
  }
  for (const entrant of entrants) await play(entrant, warmUpMillis)
  const results = new Map(entrants.map(({ name }) => [name, [] as Array<Result>]))
  for (let turn = 0; turn < turns; turn++) {
    for (const entrant of entrants) {
      const { done, failed, millis, cpuMicros, postgresMicros } = await play(entrant, turnMillis)
      const perSecond = (done / millis) * 1000
      results.get(entrant.name)?.push({ perSecond, nodeMicros: cpuMicros / done, postgresMicros: postgresMicros / done, failed })
    }
  }
  for (const [{ name, members }, { done, failed }] of counted) {
    const stored = await members[0]?.tell("stored")
    // A failed send may be stored anyway.
    if (stored === undefined || stored < done || stored > done + failed)
      throw new Error(`${name}: ${done} were answered, ${stored} are stored`)
  }
  return new Map([...results].map(([name, all]) => [name, middle(all)]))
}

const middle = (all: ReadonlyArray<Result>): Result => ({
  perSecond: median(all.map(({ perSecond }) => perSecond)),
  nodeMicros: median(all.map(({ nodeMicros }) => nodeMicros)),
  postgresMicros: median(all.map(({ postgresMicros }) => postgresMicros)),
  failed: all.reduce((sum, { failed }) => sum + failed, 0),
})

const tableOf = (first: string, results: ReadonlyMap<string, Result>, notes: ReadonlyArray<string>): Table => {
  const [compared] = [...results.values()]
  return {
    title: `PostgreSQL, fsync on: ${hotInstances} instances, ${sendsOfProcess} sends in flight for each process, 200 bytes each`,
    columns: ["", "per second", `of ${first}`, "node CPU µs", "PostgreSQL CPU µs", "failed"],
    rows: [...results].map(([name, { perSecond, nodeMicros, postgresMicros, failed }]) => [
      name,
      perSecond.toFixed(0),
      times(perSecond / (compared?.perSecond ?? Number.NaN)),
      nodeMicros.toFixed(1),
      Number.isNaN(postgresMicros) ? "n/a" : postgresMicros.toFixed(1),
      String(failed),
    ]),
    notes: ["Every answered event was found in the database afterwards.", ...notes],
  }
}
