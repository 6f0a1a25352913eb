/** Events and starts that clients of PostgreSQL send by SQL, in transactions of their own. */
import { Event, InvalidEvent, Machine, State } from "@detent/machine"
import { Commands, type StoredCommand } from "@detent/store"
import * as PostgresStore from "@detent/store/PostgresStore"
import { eventually } from "@detent/store/testing/CommandKit"
import { describe, expect, it } from "@effect/vitest"
import { sql as drizzleSql } from "drizzle-orm"
import { drizzle } from "drizzle-orm/node-postgres"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Kysely, sql as kyselySql, PostgresDialect } from "kysely"
import { Client, Pool } from "pg"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { Engine, type EngineService } from "../../src/Engine.ts"
import { sendStatement, startStatement } from "../../src/SqlStatements.ts"

const S = State({ Open: { notes: Schema.Array(Schema.String) }, Paused: { notes: Schema.Array(Schema.String) } })
const E = Event({ Note: { text: Schema.String }, At: { time: Schema.DateTimeUtcFromString }, Pause: {}, Resume: {} })

const Ledger = Machine.make({ name: "ledger", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Note, S.Open, ({ state, event }) => S.Open({ notes: [...state.notes, event.text] }))
  .on(S.Open, E.Pause, S.Paused, ({ state }) => S.Paused(state))
  .on(S.Paused, E.Resume, S.Open, ({ state }) => S.Open(state))
  .postpone(S.Paused, [E.Note])

const brisk = { claimDuration: "2 seconds", pollInterval: "100 millis", drainTimeout: "2 seconds" } as const

interface Node {
  readonly engine: EngineService
  readonly commands: typeof Commands.Service
  /** Stops it as a process does on SIGTERM. */
  readonly stop: Effect.Effect<void>
}

const openNode = (url: string): Effect.Effect<Node, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const layer = Engine.layer({ worker: brisk }).pipe(Layer.provideMerge(PostgresStore.layer({ url })))
    const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    const node = Effect.gen(function* () {
      const engine = yield* Engine
      yield* engine.register(Ledger)
      return { engine, commands: yield* Commands, stop: Scope.close(scope, Exit.void) }
    })
    return yield* Effect.provide(node, context)
  })

const connect = (connectionString: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end()),
  )

const opened = Effect.gen(function* () {
  const url = yield* freshDatabase
  const node = yield* openNode(url)
  const client = yield* connect(url)
  return { url, ...node, client, query: (text: string, values?: Array<unknown>) => Effect.promise(() => client.query(text, values)) }
})

const notesOf = (engine: EngineService, id: string) =>
  Effect.gen(function* () {
    const instance = yield* engine.get(Ledger, id)
    return instance._tag === "None" ? undefined : (yield* instance.value.state).notes
  })

const hasNotes = (engine: EngineService, id: string, expected: ReadonlyArray<string>) =>
  eventually(notesOf(engine, id), (notes) => JSON.stringify(notes) === JSON.stringify(expected))

const failedIn = (commands: typeof Commands.Service) =>
  Effect.map(commands.list({ status: "failed" }, 10), ({ commands: page }): ReadonlyArray<StoredCommand> => page)

const refusal = (client: Client, text: string): Effect.Effect<{ readonly message: string; readonly hint: string | undefined }> =>
  Effect.promise(() =>
    client.query(text).then(
      () => ({ message: "accepted", hint: undefined }),
      ({ message, hint }) => ({ message, hint }),
    ),
  )

describe("detent.send and detent.start", () => {
  it.live("a start and events are carried out in order once the transaction of their client is committed", () =>
    Effect.gen(function* () {
      const { engine, query } = yield* opened
      yield* query("create table orders (id text primary key)")
      yield* query("begin")
      yield* query("insert into orders values ('o-1')")
      yield* query(`select detent.start('ledger', 'o-1', '{"notes": []}')`)
      for (const text of ["a", "b", "c"]) yield* query("select detent.send('ledger', 'o-1', $1)", [{ _tag: "Note", text }])
      yield* Effect.sleep("300 millis")
      expect(yield* notesOf(engine, "o-1")).toBeUndefined()
      yield* query("commit")
      yield* hasNotes(engine, "o-1", ["a", "b", "c"])
      // A second start of the same id changes nothing.
      yield* query(`select detent.start('ledger', 'o-1', '{"notes": ["other"]}')`)
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "d"}')`)
      yield* hasNotes(engine, "o-1", ["a", "b", "c", "d"])
    }),
  )

  it.live("nothing happens if the transaction is rolled back", () =>
    Effect.gen(function* () {
      const { engine, query } = yield* opened
      yield* engine.start(Ledger, "o-1", { notes: [] })
      yield* query("begin")
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "lost"}')`)
      yield* query("rollback")
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "kept"}')`)
      yield* hasNotes(engine, "o-1", ["kept"])
    }),
  )

  it.live("Drizzle and Kysely send in their transactions, and a trigger of a table does", () =>
    Effect.gen(function* () {
      const { url, engine, query } = yield* opened
      yield* engine.start(Ledger, "o-1", { notes: [] })
      yield* query("create table payments (id text primary key, instance text not null)")
      yield* query(`
        create function paid() returns trigger language plpgsql as $$
        begin
          perform detent.send('ledger', new.instance, jsonb_build_object('_tag', 'Note', 'text', new.id), key => new.id);
          return new;
        end $$`)
      yield* query("create trigger paid after insert on payments for each row execute function paid()")
      const pool = yield* Effect.acquireRelease(
        Effect.sync(() => new Pool({ connectionString: url, max: 2 })),
        (one) => Effect.promise(() => one.end()),
      )
      const database = drizzle(pool)
      yield* Effect.promise(() =>
        database.transaction(async (transaction) => {
          await transaction.execute(drizzleSql`insert into payments values ('p-1', 'o-1')`)
          await transaction.execute(drizzleSql`select detent.send('ledger', 'o-1', ${JSON.stringify(E.Note({ text: "drizzle" }))})`)
        }),
      )
      yield* hasNotes(engine, "o-1", ["p-1", "drizzle"])
      const kysely = new Kysely<never>({ dialect: new PostgresDialect({ pool }) })
      yield* Effect.promise(() =>
        kysely.transaction().execute(async (transaction) => {
          await kyselySql`insert into payments values ('p-2', 'o-1')`.execute(transaction)
          const { text, values } = sendStatement(Ledger, "o-1", E.Note({ text: "kysely" }), { key: "k-1" })
          expect([text, values]).toEqual([
            "select detent.send($1, $2, $3, $4)",
            ["ledger", "o-1", '{"_tag":"Note","text":"kysely"}', "k-1"],
          ])
          await kyselySql`select detent.send(${values[0]}, ${values[1]}, ${values[2]}::jsonb, ${values[3]})`.execute(transaction)
        }),
      )
      yield* hasNotes(engine, "o-1", ["p-1", "drizzle", "p-2", "kysely"])
    }),
  )

  it.live("typed statements start and send; an event that does not fit is refused before anything is sent", () =>
    Effect.gen(function* () {
      const { engine, client } = yield* opened
      yield* Effect.promise(() => client.query(startStatement(Ledger, "o-1", { input: { notes: ["first"] } })))
      yield* Effect.promise(() => client.query(sendStatement(Ledger, "o-1", E.Note({ text: "second" }))))
      yield* hasNotes(engine, "o-1", ["first", "second"])
      expect(() => sendStatement(Ledger, "o-1", { _tag: "Note", text: 5 } as never)).toThrow(InvalidEvent)
    }),
  )

  it.live("an event is accepted once for each key, also if it was sent over the API before", () =>
    Effect.gen(function* () {
      const { engine, query } = yield* opened
      const ledger = yield* engine.start(Ledger, "o-1", { notes: [] })
      yield* ledger.send(E.Note({ text: "stripe" }), { id: "stripe-99" })
      for (const text of ["again", "and again"])
        yield* query("select detent.send('ledger', 'o-1', $1, key => 'stripe-99')", [{ _tag: "Note", text }])
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "last"}')`)
      yield* hasNotes(engine, "o-1", ["stripe", "last"])
    }),
  )

  it.live("an event whose command is executed again, because a process was killed before it could record the end, is accepted once", () =>
    Effect.gen(function* () {
      const { engine, commands, query } = yield* opened
      yield* engine.start(Ledger, "o-1", { notes: [] })
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "once"}')`)
      const completed = Effect.map(commands.list({ status: "completed" }, 10), ({ commands: page }) => page.length)
      yield* eventually(completed, (count) => count === 1)
      yield* query("update detent.commands set status = 'pending', finished_at = null, claimed_by = null, claimed_until = null")
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "later"}')`)
      yield* eventually(completed, (count) => count === 2)
      expect(yield* notesOf(engine, "o-1")).toEqual(["once", "later"])
    }),
  )

  it.live("the inbox of a machine that no process has registered is reported", () =>
    Effect.gen(function* () {
      const { commands, query } = yield* opened
      yield* query(`select detent.send('journal', 'o-1', '{"_tag": "Note"}')`)
      yield* eventually(commands.unserved(0), (machines) => machines.length === 1 && machines[0] === "journal")
    }),
  )

  it.live("a postponed event does not hold up the event that it waits for", () =>
    Effect.gen(function* () {
      const { engine, query } = yield* opened
      const ledger = yield* engine.start(Ledger, "o-1", { notes: [] })
      yield* ledger.send(E.Pause())
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "postponed"}')`)
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Resume"}')`)
      yield* query(`select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "later"}')`)
      yield* hasNotes(engine, "o-1", ["postponed", "later"])
    }),
  )

  it.live("what cannot be carried out is a dead letter with the next step, and later events are carried out", () =>
    Effect.gen(function* () {
      const { engine, commands, query } = yield* opened
      yield* query(`select detent.send('ledger', 'missing', '{"_tag": "Pause"}')`)
      yield* query(`select detent.start('ledger', 'o-1', '{"notes": 5}')`)
      yield* query(`select detent.start('ledger', 'o-2', '{"notes": []}')`)
      yield* query(`select detent.send('ledger', 'o-2', '{"_tag": "Resume"}')`)
      yield* query(`select detent.send('ledger', 'o-2', '{"_tag": "Unknown"}')`)
      yield* query(`select detent.send('ledger', 'o-2', '{"_tag": "Note", "text": 7}')`)
      yield* query(`select detent.send('ledger', 'o-2', '{"_tag": "Note", "text": "kept"}')`)
      yield* hasNotes(engine, "o-2", ["kept"])
      const failed = yield* eventually(failedIn(commands), (found) => found.length === 5)
      expect(failed.map(({ queue }) => queue)).toEqual(Array(5).fill("@inbox/ledger"))
      expect(failed.map(({ problem }) => problem)).toEqual([
        expect.stringContaining("start it, for example with detent.start, then retry the command"),
        expect.stringContaining("notes"),
        expect.stringContaining("Resume"),
        expect.stringContaining("Unknown is not an event of this machine"),
        expect.stringContaining("text"),
      ])
      yield* engine.start(Ledger, "missing", { notes: [] })
      expect(yield* commands.retry({ status: "failed", key: failed[0]?.key ?? "" })).toBe(1)
      yield* eventually(
        Effect.flatMap(engine.get(Ledger, "missing"), (found) => (found._tag === "Some" ? found.value.state : Effect.undefined)),
        (state) => state?._tag === "Paused",
      )
    }),
  )

  it.live("calls that no instance could take are refused with the next step, and store nothing", () =>
    Effect.gen(function* () {
      const { client, commands } = yield* opened
      expect(yield* refusal(client, `select detent.send('ledger', '', '{"_tag": "Pause"}')`)).toMatchObject({
        message: "the machine and the id must not be empty",
        hint: "name the instance, as in ('order', 'o-7')",
      })
      expect(yield* refusal(client, "select detent.send('ledger', 'o-1', '5')")).toMatchObject({
        message: "the event is no object with a _tag",
      })
      expect(yield* refusal(client, `select detent.send('ledger', 'o-1', '{"_tag": "Pause"}', '@mine')`)).toMatchObject({
        message: "the key is empty, or begins with @, which is reserved",
      })
      expect(yield* refusal(client, `select detent.send('ledger', 'o-1', '{"_tag": "Pause"}', repeat('k', 1500))`)).toMatchObject({
        message: "the machine, or the id with the key, is too long",
      })
      expect(yield* refusal(client, "select detent.start('ledger', 'o-1', '[]')")).toMatchObject({ message: "the input is no object" })
      expect((yield* commands.list({}, 10)).commands).toEqual([])
    }),
  )

  it.live("a role needs no rights on the tables, but the right to execute the function", () =>
    Effect.gen(function* () {
      const { engine, client, query } = yield* opened
      yield* engine.start(Ledger, "o-1", { notes: [] })
      const role = `shop_${Math.floor(Math.random() * 1e9)}`
      yield* query(`create role ${role}`)
      yield* Effect.addFinalizer(() => Effect.ignore(query(`reset role; drop owned by ${role}; drop role ${role}`)))
      yield* query(`grant usage on schema detent to ${role}`)
      yield* query(`set role ${role}`)
      const send = `select detent.send('ledger', 'o-1', '{"_tag": "Note", "text": "granted"}')`
      expect((yield* refusal(client, send)).message).toContain("permission denied for function send")
      yield* query("reset role")
      yield* query(`grant execute on function detent.send to ${role}`)
      yield* query(`set role ${role}`)
      yield* query(send)
      yield* query("reset role")
      yield* hasNotes(engine, "o-1", ["granted"])
    }),
  )

  it.live("every event is accepted once and in order while nodes come and go", () =>
    Effect.gen(function* () {
      const { url, engine, query } = yield* opened
      const ids = ["o-0", "o-1", "o-2", "o-3"]
      const expected = Array.from({ length: 40 }, (_, index) => `${index}`)
      const churn = Effect.forever(
        Effect.gen(function* () {
          const node = yield* openNode(url)
          yield* Effect.sleep("150 millis")
          yield* node.stop
        }),
      )
      const churning = yield* Effect.forkScoped(Effect.scoped(churn))
      for (const id of ids) yield* query(`select detent.start('ledger', $1, '{"notes": []}')`, [id])
      for (const text of expected) for (const id of ids) yield* query("select detent.send('ledger', $1, $2)", [id, { _tag: "Note", text }])
      for (const id of ids) yield* hasNotes(engine, id, expected)
      expect(churning.pollUnsafe()).toBeUndefined()
    }),
  )
})
