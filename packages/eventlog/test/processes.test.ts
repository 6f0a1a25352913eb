/** Several processes on one database, some of them killed: no acknowledged event is lost, doubled or out of order. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { EventJournal } from "effect/eventlog/EventJournal"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { EventFeed } from "../src/journal/EventFeed.ts"
import * as SqlEventJournal from "../src/SqlEventJournal.ts"
import { clientOf, type DatabaseAddress, onEachDatabase } from "./Databases.ts"
import { PetEvents, petLayer, petRows } from "./Pets.ts"
import { WorkerProcess } from "./WorkerProcess.ts"

/** How many processes are killed while they write. */
const kills = 2

/** How long after its beginning a replay is killed. */
const replayMillis = [60, 250]

/** Processes that have loaded their modules, and are killed at the end of the test at the latest. */
const loading = (count: number) =>
  Effect.acquireRelease(
    Effect.sync(() => Array.from({ length: count }, () => new WorkerProcess())),
    (workers) => Effect.promise(() => Promise.all(workers.map((worker) => worker.kill()))),
  ).pipe(Effect.tap((workers) => Effect.promise(() => Promise.all(workers.map((worker) => worker.hears("Ready"))))))

const opening = (address: DatabaseAddress, names: ReadonlyArray<string>) =>
  Effect.flatMap(loading(names.length), (workers) =>
    Effect.promise(() => Promise.all(workers.map((worker, index) => worker.open(address, names[index] ?? "worker")))),
  )

/** All events of the journals, and the rows that the handlers wrote. */
const evidence = (address: DatabaseAddress) =>
  Effect.scoped(
    Effect.gen(function* () {
      const read = (layer: Layer.Layer<EventFeed | SqlClient, unknown>) =>
        Effect.gen(function* () {
          const context = yield* Layer.build(layer)
          const feed = Context.get(context, EventFeed)
          const last = yield* feed.position
          return { entries: yield* Stream.runCollect(Stream.take(feed.stream(), last)), context }
        })
      const client = clientOf(address)
      const plain = yield* read(SqlEventJournal.layer({ journal: "plain" }).pipe(Layer.provideMerge(client)))
      const pets = yield* read(petLayer({ journal: "pets" }).pipe(Layer.provideMerge(client)))
      const rows = yield* Effect.provideContext(petRows, pets.context)
      return { plain: plain.entries, pets: pets.entries, rows }
    }),
  )

/** The position of the tables; none before they are created. */
const positionOf = (address: DatabaseAddress, projections: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sql = Context.get(yield* Layer.build(clientOf(address)), SqlClient)
      const rows = yield* Effect.orElseSucceed(sql<{ position: number }>`select position from ${sql.literal(projections)}`, () => [])
      return Number(rows[0]?.position ?? 0)
    }),
  )

const assertWhole = ({ plain, pets, rows }: Effect.Success<ReturnType<typeof evidence>>, workers: ReadonlyArray<WorkerProcess>) => {
  for (const [entries, where] of [
    [plain, "journal"],
    [pets, "log"],
  ] as const) {
    assert.deepStrictEqual(
      entries.map(({ position }) => position),
      entries.map((_, index) => index + 1),
    )
    const keys = new Set(entries.map(({ entry }) => entry.primaryKey))
    assert.strictEqual(keys.size, entries.length)
    for (const worker of workers) for (const key of worker.stored[where]) assert.isTrue(keys.has(key), `${key} was acknowledged`)
  }
  assert.sameMembers(
    rows.map(({ pet }) => pet),
    pets.map(({ entry }) => entry.primaryKey),
  )
  assert.isTrue(rows.every(({ changes }) => changes === 1))
}

onEachDatabase("processes", (database) => {
  it.live("several start at once on an empty database, write, and see each other's events in one order without holes", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const workers = yield* opening(address, ["a", "b", "c"])
      const feed = Context.get(
        yield* Layer.build(SqlEventJournal.layer({ journal: "plain" }).pipe(Layer.provide(clientOf(address)))),
        EventFeed,
      )
      const followed = yield* Effect.forkChild(Stream.runCollect(Stream.take(feed.stream(), 300)))
      for (const worker of workers) worker.write()
      const entries = yield* Fiber.join(followed)
      assert.deepStrictEqual(
        entries.map(({ position }) => position),
        entries.map((_, index) => index + 1),
      )
      yield* Effect.promise(() => Promise.all(workers.map((worker) => worker.stop())))
      for (const worker of workers) assert.isUndefined(worker.problem)
      assertWhole(yield* evidence(address), workers)
    }),
  )

  it.live("acknowledged events survive kill -9 in the middle of writes, and the tables fit the events", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const victims = yield* loading(kills)
      const [steady] = yield* opening(address, ["steady"])
      steady?.write()
      yield* Effect.promise(async () => {
        for (const [kill, victim] of victims.entries()) {
          await victim.open(address, `victim-${kill}`)
          victim.write()
          await sleep(60 + kill * 80)
          await victim.kill()
        }
        await steady?.stop()
      })
      const workers = [...victims, ...(steady === undefined ? [] : [steady])]
      for (const worker of workers) assert.isUndefined(worker.problem)
      const found = yield* evidence(address)
      assert.isAbove(
        workers.reduce((sum, { stored }) => sum + stored.journal.size, 0),
        0,
      )
      assert.isAbove(
        workers.reduce((sum, { stored }) => sum + stored.log.size, 0),
        0,
      )
      assertWhole(found, workers)
    }),
  )

  it.live("a replay resumes where the process that ran it was killed", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const journal = Context.get(
        yield* Layer.build(SqlEventJournal.layer({ journal: "pets" }).pipe(Layer.provide(clientOf(address)))),
        EventJournal,
      )
      const encode = Schema.encodeUnknownEffect(PetEvents.events["PetCreated"]?.payloadSchemaBinary ?? Schema.Uint8Array)
      yield* Effect.forEach(
        Array.from({ length: 4_000 }, (_, n) => `p${n}`),
        (pet) =>
          Effect.flatMap(encode({ pet, name: pet }), (payload) =>
            journal.write({ event: "PetCreated", primaryKey: pet, payload: payload as Uint8Array, effect: () => Effect.void }),
          ),
        { concurrency: "unbounded" },
      )
      const positions: Array<number> = []
      for (const millis of replayMillis) {
        yield* Effect.promise(() => new WorkerProcess().openAndKill(address, millis))
        positions.push(yield* positionOf(address, database.projections))
      }
      // It never decreases.
      assert.deepStrictEqual(
        positions,
        [...positions].sort((left, right) => left - right),
      )
      const found = yield* evidence(address)
      assert.strictEqual(found.rows.length, 4_000)
      assertWhole(found, [])
    }),
  )

  it.live("only one at a time is under the lock of a store, in all processes together", () =>
    Effect.gen(function* () {
      const address = yield* database.address
      const sql = Context.get(yield* Layer.build(clientOf(address)), SqlClient)
      yield* sql`create table counts (value integer)`
      yield* sql`insert into counts values (0)`
      const workers = yield* opening(address, ["a", "b", "c"])
      yield* Effect.promise(() => Promise.all(workers.map((worker) => worker.count(20))))
      assert.deepStrictEqual(yield* sql`select value from counts`, [{ value: 60 }])
    }),
  )
})
