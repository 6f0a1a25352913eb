/** XState as its documentation persists it: an actor, and its snapshot written to a row after each transition. */
import pg from "pg"
import { createActor } from "xstate"
import { sideBySide, type ThroughputOptions, throughputOf } from "../../durable/Throughput.ts"
import { checkout, events } from "../chart.ts"

const save = { name: "save", text: "update actors set snapshot = $2, transitions = transitions + 1 where id = $1" }

/** With the default pool of `pg`: 10 connections. */
export const pooled = (options: ThroughputOptions) => storing(options, new pg.Pool({ connectionString: options.database }))

/** With one connection per actor. */
export const connected = (options: ThroughputOptions) =>
  storing(options, new pg.Pool({ connectionString: options.database, max: options.concurrency }))

const storing = async ({ concurrency }: ThroughputOptions, pool: pg.Pool) => {
  await pool.query(
    "create table actors (id text primary key, snapshot jsonb not null, transitions integer not null) with (fillfactor = 70)",
  )
  const actors = Array.from({ length: concurrency }, () => createActor(checkout).start())
  await Promise.all(
    actors.map((_, index) =>
      pool.query("insert into actors values ($1, $2, 0)", [`checkout-${index}`, JSON.stringify(actors[index]?.getPersistedSnapshot())]),
    ),
  )
  const positions = actors.map(() => 0)
  return throughputOf({
    store: (isOver) =>
      sideBySide(concurrency, async (index) => {
        const actor = actors[index] as (typeof actors)[number]
        const first = positions[index] ?? 0
        let position = first
        while (!isOver()) {
          actor.send(events[position % events.length] as (typeof events)[number])
          position++
          await pool.query({ ...save, values: [`checkout-${index}`, JSON.stringify(actor.getPersistedSnapshot())] })
        }
        positions[index] = position
        return position - first
      }),
    count: async () => Number((await pool.query("select sum(transitions) as all from actors")).rows[0]?.all),
    close: () => pool.end(),
  })
}
