/**
 * Detent's part of the recovery: instances whose states have work that ends with the next event. They resume when their machine
 * is registered after a restart.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { Engine } from "@detent/durable"
import * as PgClient from "@detent/durable/PgClient"
import { Event, Machine, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { payload } from "../machines/toggle.ts"
import { allSteps, type Surviving, type SurvivingOptions, stepsEach, things } from "../Surviving.ts"
import { onPostgres } from "./detent.ts"

// Two alternating states, because an event that stays in its state does not restart the state's work.
const S = State({ Odd: { step: Schema.Number }, Even: { step: Schema.Number }, Done: {} })
const E = Event({ Next: { payload: Schema.String } })

const Worker = Machine.make({ name: "worker", state: S, event: E, initial: S.Odd({ step: 1 }) })
  .on(S.Odd, E.Next, S.Even, ({ state }) => S.Even({ step: state.step + 1 }))
  .on(S.Even, E.Next, [S.Odd, S.Done], ({ state }) => (state.step < stepsEach ? S.Odd({ step: state.step + 1 }) : S.Done()))
  .task([S.Odd, S.Even], () => Effect.succeed(payload), {
    onSuccess: (payload) => E.Next({ payload }),
    onFailure: () => E.Next({ payload }),
  })
  .final(S.Done)

export const surviving = async ({ database, notes, round = 0 }: SurvivingOptions): Promise<Surviving> => ({
  begin: async () => {
    await makeTables(database)
    const start = performance.now()
    const { runtime, engine } = await launch(database)
    const half = Promise.withResolvers<void>()
    let stored = 0
    engine.inspectUnsafe((inspection) => {
      if (inspection._tag !== "Decided") return
      // Written synchronously, so that a kill right afterwards cannot lose it.
      appendFileSync(notes, `${inspection.id}\n`)
      stored++
      if (stored === allSteps / 2) half.resolve()
    })
    const startAll = Effect.forEach(Array.from({ length: things }), (_, index) => engine.start(Worker, idOf(round, index)), {
      concurrency: things,
      discard: true,
    })
    runtime.runFork(startAll)
    await half.promise
    return { millis: performance.now() - start }
  },
  resume: async () => {
    const noted = stepsNoted(notes)
    const before = await journaled(database, round)
    const missing = things - before.ended
    const done = Promise.withResolvers<void>()
    let firstProgressMillis = Number.NaN
    let ended = 0
    const start = performance.now()
    const { runtime, engine } = await launch(database)
    engine.inspectUnsafe((inspection) => {
      if (inspection._tag === "Decided" && Number.isNaN(firstProgressMillis)) firstProgressMillis = performance.now() - start
      if (inspection._tag === "Ended" && ++ended === missing) done.resolve()
    })
    await runtime.runPromise(engine.register(Worker))
    // Instances whose start was not stored before the kill were never accepted: they are started now.
    const unknown = Array.from({ length: things }, (_, index) => idOf(round, index)).filter((id) => !before.sequences.has(id))
    await runtime.runPromise(Effect.forEach(unknown, (id) => engine.start(Worker, id), { concurrency: "unbounded", discard: true }))
    await done.promise
    const millis = performance.now() - start
    const after = await journaled(database, round)
    const steps = [...after.sequences.values()].reduce((sum, sequence) => sum + sequence, 0)
    if (after.ended !== things || steps !== allSteps || after.events !== allSteps)
      throw new Error(`${after.ended} of ${things} ended, at ${steps} steps, with ${after.events} events`)
    const lost = [...noted].reduce((sum, [id, count]) => sum + Math.max(0, count - (before.sequences.get(id) ?? 0)), 0)
    return { millis, firstProgressMillis, lost }
  },
})

const launch = async (database: string) => {
  const runtime = ManagedRuntime.make(onPostgres(database))
  return { runtime, engine: await runtime.runPromise(Effect.map(Engine, (engine) => engine)) }
}

/** Creates the tables, which is part of neither half. */
const makeTables = async (database: string) => {
  const { runtime } = await launch(database)
  await runtime.dispose()
}

const idOf = (round: number, index: number): string => `worker-${round}-${index}`

const journaled = async (database: string, round: number) => {
  const rows = await Effect.runPromise(Effect.provide(readJournal(`worker-${round}-%`), PgClient.layer({ url: Redacted.make(database) })))
  return {
    sequences: new Map(rows.map(({ id, sequence }) => [id, sequence])),
    ended: rows.filter(({ status }) => status === "final").length,
    events: rows.reduce((sum, { events }) => sum + Number(events), 0),
  }
}

const readJournal = Effect.fnUntraced(function* (ids: string) {
  const sql = yield* SqlClient
  return yield* sql<{ readonly id: string; readonly sequence: number; readonly status: string; readonly events: bigint }>`
    select id, sequence, status, (select count(*) from detent.events e where e.instance = i.instance) as events
    from detent.instances i where machine = 'worker' and id like ${ids}`
})

const stepsNoted = (notes: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  // The last line may be cut off by the kill.
  const lines = existsSync(notes) ? readFileSync(notes, "utf8").split("\n").slice(0, -1) : []
  for (const id of lines) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
