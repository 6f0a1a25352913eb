/**
 * Fills a workspace and serves it to a browser. The kinds, each with its number: `rows` starts instances, `history` one instance with
 * events, `many` inserts instances as database rows, `documents` writes documents to a folder. Prints its port when it is ready, and
 * exits when its standard input ends.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig, Server, serve, Workspace } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"

const S = State({ Open: { count: Schema.Int }, Done: {} })
const E = Event({ Add: { by: Schema.Int }, Finish: {} })
const Tally = Machine.make({ name: "tally", state: S, event: E, initial: S.Open({ count: 0 }) })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ count: state.count + event.by }))
  .on(S.Open, E.Finish, S.Done)
  .final(S.Done)

const [, , data = "", database = "", kind = "rows", given = "0"] = process.argv
const total = Number(given)
const input = join(data, "input")
// A workspace opens only existing folders.
mkdirSync(input, { recursive: true })

const rows = Effect.gen(function* () {
  const engine = yield* Engine
  const ids = Array.from({ length: total }, (_, index) => `row-${String(index).padStart(6, "0")}`)
  yield* Effect.forEach(ids, (id) => engine.start(Tally, id), { concurrency: 500, discard: true })
})

const history = Effect.gen(function* () {
  const instance = yield* Effect.flatMap(Engine, (engine) => engine.start(Tally, "long"))
  const events = Array.from({ length: total }, (_, index) => E.Add({ by: index % 7 }))
  yield* Effect.forEach(events, (event) => instance.send(event), { concurrency: 500, discard: true })
})

/** Writes the rows that started instances would have: in the tables of instances, of the listing and of the counts. */
const many = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const [prefix, numbers, flag] = sql.onDialectOrElse({
    pg: () => ["detent.", `generate_series(1, ${total}) as s (n)`, "false"] as const,
    orElse: () =>
      ["detent_", `(with recursive c (n) as (select 1 union all select n + 1 from c where n < ${total}) select n from c)`, "0"] as const,
  })
  for (const statement of [
    `insert into ${prefix}instances (machine, id, tag, status, sequence, version, needs_owner, owes, started_at, updated_at)
     select 'tally', 'i-' || n, case when n % 10 = 0 then 'Open' else 'Done' end, case when n % 10 = 0 then 'running' else 'final' end,
       3, 1, ${flag}, n, n from ${numbers}`,
    `insert into ${prefix}listing (instance, machine, id, tag, status, updated_at)
     select instance, machine, id, tag, status, updated_at from ${prefix}instances`,
    `insert into ${prefix}counts (machine, tag, instances) select machine, tag, count(*) from ${prefix}instances group by machine, tag`,
  ])
    yield* sql.unsafe(statement)
  yield* sql.unsafe("analyze")
})

/** Documents and a manifest; the benchmark starts a batch of them over HTTP. */
const documents = Effect.sync(() => {
  writeFileSync(
    join(input, "firms.ttl"),
    `@prefix : <https://example.org/firms#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
     @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :Company a owl:Class ; rdfs:label "company" .
     :Person a owl:Class ; rdfs:label "person" .
     :founder a owl:ObjectProperty ; rdfs:label "founder" ; rdfs:domain :Company ; rdfs:range :Person .`,
  )
  for (let index = 0; index < total; index++)
    writeFileSync(join(input, `${index}.csv`), `company,founder\nFirm ${index},Ada Sol ${index}\n`)
  const manifest = { targetNamespace: "firms", ontology: "firms.ttl", documents: [] as Array<{ readonly source: string }> }
  for (let index = 0; index < total; index++) manifest.documents.push({ source: `${index}.csv` })
  writeFileSync(join(input, "manifest.json"), JSON.stringify(manifest))
})

const program = Effect.gen(function* () {
  yield* { rows, history, many, documents }[kind as "rows" | "history" | "many" | "documents"]
  const { port } = yield* Server
  console.log(JSON.stringify({ port, input }))
  return yield* Effect.never
})

const workspace = Workspace.open({
  data,
  role: "work",
  config: defineConfig({ machines: [Tally], ...(kind === "documents" ? { knowledge: {} } : {}) }),
  readable: [input],
  ...(database === "" ? {} : { database }),
})
// Ends with its parent process.
process.stdin.on("end", () => process.exit())
process.stdin.resume()
await Effect.runPromise(Effect.provide(program, serve({ port: 0 }).pipe(Layer.provideMerge(workspace))))
