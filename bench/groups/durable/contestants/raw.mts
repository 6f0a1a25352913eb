/**
 * The limits of PostgreSQL itself: one prepared statement that appends an event and updates the state of its instance, with a
 * check of the expected sequence; and, as the upper bound of batching, many events in one statement.
 */
import pg from "pg"
import { payload } from "../machines/toggle.ts"
import { sideBySide, type ThroughputOptions, throughputOf } from "../Throughput.ts"

const tables = `
  create table instances (id text primary key, sequence integer not null, tag text not null, updated_at bigint not null) with (fillfactor = 70);
  create table events (
    id text not null, sequence integer not null, at bigint not null, tag text not null, body text not null, primary key (id, sequence)
  )`

const append = {
  name: "append",
  text: `
    with moved as (
      update instances set sequence = $2::integer, tag = $3, updated_at = $4 where id = $1 and sequence = $2::integer - 1 returning id
    )
    insert into events (id, sequence, at, tag, body) select id, $2::integer, $4, $3, $5 from moved`,
}

const insertMany = {
  name: "insertMany",
  text: `
    insert into events (id, sequence, at, tag, body)
    select value ->> 0, (value ->> 1)::integer, (value ->> 2)::bigint, value ->> 3, value ->> 4 from jsonb_array_elements($1::jsonb)`,
}

const body = JSON.stringify(payload)

/** One connection per concurrent append. */
export const appends = async ({ database, concurrency }: ThroughputOptions) => {
  const clients = await connect(database, concurrency)
  await clients[0]?.query(tables)
  await Promise.all(clients.map((client, index) => client.query("insert into instances values ($1, 0, 'Even', 0)", [`instance-${index}`])))
  const sequences = clients.map(() => 0)
  return throughputOf({
    store: (isOver) =>
      sideBySide(concurrency, async (index) => {
        const client = clients[index] as pg.Client
        const first = sequences[index] ?? 0
        let sequence = first
        while (!isOver()) {
          sequence++
          const { rowCount } = await client.query({
            ...append,
            values: [`instance-${index}`, sequence, sequence % 2 === 0 ? "Even" : "Odd", Date.now(), body],
          })
          if (rowCount !== 1) throw new Error("an append found an unexpected sequence")
        }
        sequences[index] = sequence
        return sequence - first
      }),
    count: () => countEvents(clients),
    close: () => disconnect(clients),
  })
}

/** One connection, `concurrency` rows in a statement. */
export const batches = async ({ database, concurrency }: ThroughputOptions) => {
  const clients = await connect(database, 1)
  const [client] = clients as [pg.Client]
  await client.query(tables)
  let sequence = 0
  return throughputOf({
    store: async (isOver) => {
      let done = 0
      while (!isOver()) {
        sequence++
        const rows = Array.from({ length: concurrency }, (_, index) => [`instance-${index}`, sequence, Date.now(), "Even", body])
        await client.query({ ...insertMany, values: [JSON.stringify(rows)] })
        done += rows.length
      }
      return done
    },
    count: () => countEvents(clients),
    close: () => disconnect(clients),
  })
}

const connect = async (database: string, count: number) => {
  const clients = Array.from({ length: count }, () => new pg.Client(database))
  await Promise.all(clients.map((client) => client.connect()))
  return clients
}

const disconnect = async (clients: ReadonlyArray<pg.Client>) => {
  await Promise.all(clients.map((client) => client.end()))
}

const countEvents = async ([client]: ReadonlyArray<pg.Client>): Promise<number> => {
  const result = await client?.query("select count(*) as events from events")
  return Number(result?.rows[0].events)
}
