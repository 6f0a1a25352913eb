/** A process with a journal and a log. It writes as fast as it can and reports what was stored, until it is killed. */
import { flushCompileCache } from "node:module"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { EventJournal } from "effect/eventlog/EventJournal"
import { EventLog } from "effect/eventlog/EventLog"
import { StoreId } from "effect/eventlog/EventLogMessage"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import * as SqlEventJournal from "../src/SqlEventJournal.ts"
import { clientOf, type DatabaseAddress } from "./Databases.ts"
import { PetLog, petLayer } from "./Pets.ts"

export type ToWorker =
  | { readonly _tag: "Open"; readonly address: DatabaseAddress; readonly name: string }
  /** Writes events until a stop is requested. */
  | { readonly _tag: "Write" }
  /** Adds one to a count this many times, reading it first, under a lock. */
  | { readonly _tag: "Count"; readonly times: number }
  | { readonly _tag: "Stop" }

export type FromWorker =
  | { readonly _tag: "Ready" | "Opened" | "Counted" }
  | { readonly _tag: "Failed"; readonly problem: string }
  | { readonly _tag: "Stored"; readonly where: "journal" | "log"; readonly key: string }

const tell = (message: FromWorker) => process.send?.(message)
const scope = Scope.makeUnsafe()
let name = ""
let plain: Context.Context<EventJournal | SqlClient>
let pets: Context.Context<EventLog>
let isWriting = true

const open = (address: DatabaseAddress) =>
  Effect.gen(function* () {
    const memo = Layer.makeMemoMapUnsafe()
    const client = clientOf(address)
    plain = yield* Layer.buildWithMemoMap(SqlEventJournal.layer({ journal: "plain" }).pipe(Layer.provideMerge(client)), memo, scope)
    pets = yield* Layer.buildWithMemoMap(petLayer({ journal: "pets" }).pipe(Layer.provide(client)), memo, scope)
  })

const writing = (fiber: number) =>
  Effect.gen(function* () {
    const journal = Context.get(plain, EventJournal)
    const log = Context.get(pets, EventLog)
    for (let n = 0; isWriting; n++) {
      const key = `${name}-${fiber}-${n}`
      if (fiber % 2 === 0)
        yield* journal.write({ event: "Noted", primaryKey: key, payload: new Uint8Array([n % 256]), effect: () => Effect.void })
      else yield* log.write({ schema: PetLog, event: "PetCreated", payload: { pet: key, name: key } })
      tell({ _tag: "Stored", where: fiber % 2 === 0 ? "journal" : "log", key })
    }
  })

const counting = (times: number) =>
  Effect.gen(function* () {
    const sql = Context.get(plain, SqlClient)
    const increment = Effect.gen(function* () {
      const [{ value } = { value: 0 }] = yield* sql<{ value: number }>`select value from counts`
      yield* Effect.sleep("1 millis")
      yield* sql`update counts set value = ${value + 1}`
    })
    yield* Effect.forEach(
      Array.from({ length: times }).keys(),
      () => Context.get(plain, EventJournal).withLock(StoreId.make("counts"))(increment),
      {
        concurrency: 4,
      },
    )
    tell({ _tag: "Counted" })
  })

const run = (effect: Effect.Effect<unknown, unknown>, done: () => void = () => undefined) =>
  Effect.runFork(effect).addObserver((exit) =>
    Exit.isSuccess(exit) ? done() : tell({ _tag: "Failed", problem: Cause.pretty(exit.cause).slice(0, 2_000) }),
  )

process.on("message", (message: ToWorker) => {
  switch (message._tag) {
    case "Open":
      name = message.name
      return run(open(message.address), () => tell({ _tag: "Opened" }))
    case "Write":
      return run(Effect.forEach(Array.from({ length: 12 }).keys(), writing, { concurrency: "unbounded" }))
    case "Count":
      return run(counting(message.times))
    case "Stop":
      isWriting = false
      return run(Effect.andThen(Effect.sleep("50 millis"), Scope.close(scope, Exit.void)), () => process.disconnect())
  }
})
// Ends with the process of the test.
process.on("disconnect", () => process.exit(0))
// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()
tell({ _tag: "Ready" })
