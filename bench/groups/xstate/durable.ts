/** Fifty concurrent charts, each of which gets its next event when the last one is stored. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { times } from "../../measure/Table.ts"
import { contest, type Entrant, type Result } from "../durable/contest.ts"

const concurrency = 50

const ours = "detent, at most 10 connections"
const pooled = "XState, its snapshot written by hand, 10 connections"
const connected = "the same, 50 connections"

export const durable: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const folder = "../../xstate/contestants"
    const entrants: ReadonlyArray<Entrant> = [
      { name: ours, from: [`${folder}/detent.ts`, "postgres"], database: await server.createDatabase("detent"), concurrency },
      { name: pooled, from: [`${folder}/byHand.mts`, "pooled"], database: await server.createDatabase("pooled"), concurrency },
      { name: connected, from: [`${folder}/byHand.mts`, "connected"], database: await server.createDatabase("connected"), concurrency },
    ]
    const turns = quick ? { turns: 5, warmUpMillis: 500, turnMillis: 400 } : { turns: 25, warmUpMillis: 2000, turnMillis: 800 }
    const results = await contest(server, entrants, turns)
    const of = (name: string) => results.get(name) as Result
    const faster = (name: string) => of(ours).perSecond / of(name).perSecond
    const cpu = (name: string) => of(name).nodeMicros + of(name).postgresMicros
    return {
      tables: [
        {
          title: "PostgreSQL, fsync on: 50 checkouts at once, payment and shipping in parallel",
          columns: ["", "transitions per second", "detent is faster by", "node CPU µs", "PostgreSQL CPU µs", "WAL bytes"],
          rows: entrants.map(({ name }) => {
            const { perSecond, nodeMicros, postgresMicros, walBytes } = of(name)
            return [name, perSecond.toFixed(0), times(faster(name)), nodeMicros.toFixed(1), postgresMicros.toFixed(1), walBytes.toFixed(0)]
          }),
          notes: [
            "By hand: one prepared update of the row with the persisted snapshot after each transition. 10 connections are the default of",
            "a pg pool; 50 are one per checkout. Detent keeps every event; by hand, only the last snapshot is kept.",
          ],
        },
      ],
      figures: {
        "durable.perSecond": of(ours).perSecond,
        "durable.vsPersistByHand": faster(pooled),
        "durable.vsPersistByHandOn50Connections": faster(connected),
        "durable.cpuVsPersistByHand": cpu(pooled) / cpu(ours),
        "durable.nodeCpuUs": of(ours).nodeMicros,
        "durable.postgresCpuUs": of(ours).postgresMicros,
        "durable.walBytes": of(ours).walBytes,
      },
    }
  })
