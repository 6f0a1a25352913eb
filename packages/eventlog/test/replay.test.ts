/** The events that handlers get besides those written through them: at the start, and when other processes write. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as EventGroup from "effect/eventlog/EventGroup"
import { EventJournal, EventJournalError } from "effect/eventlog/EventJournal"
import * as EventLog from "effect/eventlog/EventLog"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import * as SqlEventLog from "../src/SqlEventLog.ts"
import { clientOf, type Database, onEachDatabase } from "./Databases.ts"
import { PetEvents, PetLog, petClient, petLayer, petRows, pets } from "./Pets.ts"

const quiet = Effect.provideService(References.MinimumLogLevel, "None")

/** Handlers that only record the events they get. */
const noting = (noted: Array<string>, onName: (name: string) => Effect.Effect<void> = () => Effect.void) =>
  EventLog.group(PetEvents, (handlers) =>
    handlers
      .handle("PetCreated", ({ payload }) =>
        Effect.andThen(
          onName(payload.name),
          Effect.sync(() => void noted.push(payload.name)),
        ),
      )
      .handle("PetRenamed", ({ payload }) =>
        Effect.andThen(
          onName(payload.name),
          Effect.sync(() => void noted.push(payload.name)),
        ),
      )
      .handle("PetWeighed", ({ payload }) => Effect.sync(() => void noted.push(`${payload.pet} ${payload.grams}`)))
      .handle("PetSold", ({ payload }) =>
        Effect.as(
          Effect.sync(() => noted.push(`sold ${payload.pet}`)),
          payload.to,
        ),
      ),
  )

/** A projection with a table that no test reads. */
const otherTable = (name: string): SqlEventLog.Projection => ({
  name,
  tables: [name],
  create: Effect.flatMap(SqlClient, (sql) => sql.unsafe(`create table ${name} (n integer)`)),
})

/** Programs on one database, each open until it is closed or the scope ends. */
const programsOn = (database: Database) =>
  Effect.gen(function* () {
    const address = yield* database.address
    const outer = yield* Effect.scope
    return <A, E>(layer: Layer.Layer<A, E, SqlClient>) =>
      Effect.gen(function* () {
        const scope = yield* Scope.fork(outer)
        const context = yield* Layer.buildWithMemoMap(layer.pipe(Layer.provideMerge(clientOf(address))), Layer.makeMemoMapUnsafe(), scope)
        return { context, close: Scope.close(scope, Exit.void) }
      })
  })

const create = (program: { readonly context: Context.Context<EventLog.EventLog> }, pet: string, name = pet) =>
  Effect.provideContext(
    Effect.flatMap(petClient, (write) => write({ event: "PetCreated", payload: { pet, name } })),
    program.context,
  )

const names = (count: number) => Array.from({ length: count }, (_, n) => `p${n}`)

onEachDatabase("replay", (database) => {
  it.live("handlers that keep their results in memory get all events at every start, in order, and then those of other processes", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const first: Array<string> = []
      const one = yield* open(SqlEventLog.layer(PetLog, noting(first), { replay: "everyStart" }))
      yield* Effect.forEach(names(5), (pet) => create(one, pet), { concurrency: "unbounded" })
      assert.deepStrictEqual(first, names(5))
      const second: Array<string> = []
      const two = yield* open(SqlEventLog.layer(PetLog, noting(second), { replay: "everyStart" }))
      assert.deepStrictEqual(second, names(5))
      yield* create(one, "from one")
      yield* create(two, "from two")
      yield* create(one, "again from one")
      while (second.length < 8 || first.length < 8) yield* Effect.sleep("10 millis")
      assert.deepStrictEqual(first, [...names(5), "from one", "from two", "again from one"])
      assert.deepStrictEqual(second, first)
    }),
  )

  it.live("a second projection of the same journal fills itself, and follows the first", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const one = yield* open(petLayer())
      yield* Effect.forEach(names(10), (pet) => create(one, pet), { concurrency: "unbounded" })
      const noted: Array<string> = []
      const two = yield* open(SqlEventLog.layer(PetLog, noting(noted), { replay: otherTable("others") }))
      assert.sameMembers(noted, names(10))
      yield* create(one, "later")
      while (!noted.includes("later")) yield* Effect.sleep("10 millis")
      yield* create(two, "from two")
      while ((yield* Effect.provideContext(petRows, one.context)).length < 12) yield* Effect.sleep("10 millis")
      assert.strictEqual(noted.length, 12)
      // Each gets an event once in the whole system, however often its program is started.
      yield* two.close
      const again: Array<string> = []
      yield* open(SqlEventLog.layer(PetLog, noting(again), { replay: otherTable("others") }))
      assert.deepStrictEqual(again, [])
    }),
  )

  it.live("events written past the handlers reach them in order, before the next event", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const one = yield* open(petLayer())
      yield* create(one, "p1")
      const payload = yield* Schema.encodeUnknownEffect(PetEvents.events["PetRenamed"]?.payloadSchemaBinary ?? Schema.Uint8Array)({
        pet: "p1",
        name: "Renamed",
      })
      const journal = Context.get(one.context, EventJournal)
      yield* journal.write({ event: "PetRenamed", primaryKey: "p1", payload: payload as Uint8Array, effect: () => Effect.void })
      yield* create(one, "p2")
      assert.deepStrictEqual(
        (yield* Effect.provideContext(petRows, one.context)).map(({ name }) => name),
        ["Renamed", "p2"],
      )
    }),
  )

  it.live("a replay that was stopped in the middle resumes there", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const writer = yield* open(SqlEventLog.layer(PetLog, noting([])))
      // More than two pages.
      yield* Effect.forEach(names(1_200), (pet) => create(writer, pet), { concurrency: "unbounded" })
      const [stopped, resumed]: [Array<string>, Array<string>] = [[], []]
      const stopAt = (name: string) => (name === "p700" ? Effect.die(new Error("the power is gone")) : Effect.void)
      const failure = yield* Effect.flip(open(SqlEventLog.layer(PetLog, noting(stopped, stopAt), { replay: otherTable("slow") })))
      assert.instanceOf(failure, SqlEventLog.ReplayFailed)
      assert.deepStrictEqual([failure.position, failure.event], [701, "PetCreated"])
      assert.include(failure.message, "its handler failed")
      yield* open(SqlEventLog.layer(PetLog, noting(resumed), { replay: otherTable("slow") }))
      // The first page was committed with its position; the second was rolled back.
      assert.deepStrictEqual(resumed, names(1_200).slice(500))
    }),
  )

  it.live("an event without a handler, or one that cannot be decoded, stops the start and is never skipped", () =>
    quiet(
      Effect.gen(function* () {
        const open = yield* programsOn(database)
        const one = yield* open(petLayer())
        const journal = Context.get(one.context, EventJournal)
        const write = (event: string, payload: Uint8Array) => journal.write({ event, primaryKey: "p", payload, effect: () => Effect.void })
        yield* create(one, "p1")
        yield* write("PetCloned", new Uint8Array([1]))
        // A write through stuck handlers fails, and its event is not stored.
        const refused = yield* Effect.flip(create(one, "p2"))
        assert.instanceOf(refused, EventJournalError)
        assert.include(String(refused.cause), "no handler is registered for it")
        yield* one.close
        const failure = yield* Effect.flip(open(petLayer()))
        assert.instanceOf(failure, SqlEventLog.ReplayFailed)
        assert.deepStrictEqual([failure.position, failure.event, failure.projection], [2, "PetCloned", "pets"])

        const sql = Context.get((yield* open(SqlEventLog.layer(PetLog, noting([])))).context, SqlClient)
        yield* sql`update ${sql.literal(database.events)} set event = 'PetSold' where position = 2`
        const undecodable = yield* Effect.flip(open(petLayer()))
        assert.instanceOf(undecodable, SqlEventLog.ReplayFailed)
        assert.include(undecodable.message, "its payload cannot be decoded")

        yield* sql`delete from ${sql.literal(database.events)} where position = 2`
        const repaired = yield* open(petLayer())
        yield* create(repaired, "p2")
        assert.strictEqual((yield* Effect.provideContext(petRows, repaired.context)).length, 2)
      }),
    ),
  )

  it.live("a new version creates the tables again; a process with the old one fails, and changes nothing", () =>
    quiet(
      Effect.gen(function* () {
        const open = yield* programsOn(database)
        const old = yield* open(petLayer())
        for (const pet of names(3)) yield* create(old, pet)
        const renewed = yield* open(petLayer({ replay: { ...pets, version: 2 } }))
        assert.strictEqual((yield* Effect.provideContext(petRows, renewed.context)).length, 3)
        const failure = yield* Effect.flip(create(old, "p9"))
        assert.include(String(failure instanceof EventJournalError && failure.cause), "it has version 2 now, and this process has 1")
        yield* create(renewed, "p3")
        assert.deepStrictEqual(
          (yield* Effect.provideContext(petRows, renewed.context)).map(({ pet, changes }) => [pet, changes]),
          names(4).map((pet) => [pet, 1]),
        )
      }),
    ),
  )

  it.live("a table that it did not create is not touched", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const plain = yield* open(Layer.empty)
      const sql = Context.get(plain.context as Context.Context<SqlClient>, SqlClient)
      yield* sql`create table pets (value integer)`
      yield* sql`insert into pets values (1)`
      const failure = yield* Effect.flip(open(petLayer()))
      assert.instanceOf(failure, SqlEventLog.ProjectionRefused)
      assert.include(failure.message, "table pets exists already")
      assert.deepStrictEqual(yield* sql`select value from pets`, [{ value: 1 }])
      for (const [tables, problem] of [
        [[], "it names no table"],
        [["x; drop table pets"], "is not a plain name"],
        [["pots"], "create does not create table pots"],
      ] as const) {
        const create = Effect.flatMap(SqlClient, (sql) => sql`select 1`)
        const refused = yield* Effect.flip(open(petLayer({ replay: { name: "odd", tables, create } })))
        assert.include(String(refused), problem)
      }
    }),
  )

  it.live("an emptied log has empty tables, and takes new events", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const one = yield* open(petLayer())
      for (const pet of names(3)) yield* create(one, pet)
      yield* Context.get(one.context, EventLog.EventLog).destroy
      assert.deepStrictEqual(yield* Effect.provideContext(petRows, one.context), [])
      yield* create(one, "p0", "anew")
      assert.deepStrictEqual(
        (yield* Effect.provideContext(petRows, one.context)).map(({ name, changes }) => [name, changes]),
        [["anew", 1]],
      )
    }),
  )

  it.live("a handler cannot write events: a replay would write them again", () =>
    Effect.gen(function* () {
      const open = yield* programsOn(database)
      const Echoes = EventGroup.empty.add({ tag: "Said", primaryKey: () => "one", payload: Schema.String, error: Schema.String })
      const EchoLog = EventLog.schema(Echoes)
      let write: ((text: string) => Effect.Effect<unknown, unknown>) | undefined
      const handlers = EventLog.group(Echoes, (handlers) =>
        handlers.handle("Said", ({ payload }) =>
          Effect.mapError(Effect.asVoid(write?.(`${payload}!`) ?? Effect.void), (error) =>
            error instanceof EventJournalError ? String(error.cause) : String(error),
          ),
        ),
      )
      const { context } = yield* open(SqlEventLog.layer(EchoLog, handlers, { journal: "echo" }))
      const client = yield* Effect.provideContext(EventLog.makeClient(EchoLog), context)
      write = (text) => client({ event: "Said", payload: text })
      const failure = yield* Effect.flip(client({ event: "Said", payload: "hello" }))
      assert.include(String(failure), "the handler of Said writes it")
      assert.deepStrictEqual(yield* Context.get(context, EventJournal).entries, [])
    }),
  )
})
