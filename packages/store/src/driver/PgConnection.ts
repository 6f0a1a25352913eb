/**
 * A connection to PostgreSQL over node-postgres: prepared statements, notifications, and statements that end when their fiber is interrupted.
 * Modes: open, until the socket or the server ends it; then every statement fails with the reason.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import pg from "pg"
import { type Address, type Resolved, resolve } from "./PgAddress.ts"
import { codeOf, failure } from "./PgFailure.ts"
import { type Encoded, encode, oidOf } from "./PgParameters.ts"
import { PgStatement, type Prepared, type Row, type Wire } from "./PgStatement.ts"
import type { ListenerConnection } from "./PostgresDriver.ts"

export interface Config extends Address {
  /** Default: 5 seconds. */
  readonly connectTimeout?: Duration.Input | undefined
  /** Whether statements are prepared under a name. Not behind a pooler that lends connections by transaction. Default: true. */
  readonly prepare?: boolean | undefined
  /** How many statements it keeps prepared. Default: 100. */
  readonly preparedStatements?: number | undefined
  /** The longest row that it reads, in characters; a longer one fails its statement. Default: 16 Mi. */
  readonly maxMessageSize?: number | undefined
  /**
   * How long a transaction may be open without a statement before the server ends its session. A process that is frozen, or whose machine
   * has disappeared, would otherwise keep its locks, for which the other processes wait. Not with `prepare: false`, where the server's own
   * setting applies. Default: 1 minute.
   */
  readonly idleTransactionTimeout?: Duration.Input | undefined
}

export interface Notification {
  readonly channel: string
  readonly payload: string
}

/** The first wait lets short statements end; the second ends a connection whose server does not answer the cancellation. */
const graceMillis = 10
const cancelMillis = 5000
const closeMillis = 1000

/** After this time without a packet the system asks whether the server is still there, ten times in ten seconds. */
const keepAliveMillis = 10_000

/** The server answers in real time, also under a test clock. The timer does not keep the process alive: the connection does. */
// @effect-diagnostics-next-line globalTimers:off
const later = (millis: number, run: () => void): NodeJS.Timeout => setTimeout(run, millis).unref()

type Client = pg.Client & {
  readonly connection: Wire
  readonly processID: number
  readonly secretKey: number
  getTransactionStatus(): "I" | "T" | "E" | null
}

export class PgConnection implements Connection, ListenerConnection {
  readonly #client: Client
  readonly #config: Config
  readonly #keep: number
  /** By text: a text of the program is the same string each time, and its hash is known. Last used last. */
  readonly #prepared = new Map<string, Array<Prepared>>()
  readonly #channels = new Map<string, Set<Queue.Queue<Notification, SqlError>>>()
  #kept = 0
  #names = 0
  readonly #forgotten: Array<string> = []
  #ended: SqlError | undefined
  #active: PgStatement | undefined
  /** Statements of concurrent fibers of one transaction. */
  readonly #waiting: Array<PgStatement> = []
  /** Called once, when a pool must not lend it again. */
  onRetire: () => void = () => {}

  constructor(client: Client, config: Config) {
    this.#client = client
    this.#config = config
    this.#keep = config.preparedStatements ?? 100
    client.on("error", (cause) => this.end(cause))
    client.on("end", () => this.end(new Error("Connection closed")))
    client.on("notification", ({ channel, payload = "" }) => {
      for (const queue of this.#channels.get(channel) ?? []) Queue.offerUnsafe(queue, { channel, payload })
    })
  }

  get ended(): SqlError | undefined {
    return this.#ended
  }

  /** Whether no transaction is open, and no statement runs that may open one. */
  get isIdle(): boolean {
    return this.#active === undefined && this.#client.getTransactionStatus() === "I"
  }

  /** Fails everything that waits for it. */
  end(cause: unknown): void {
    if (this.#ended !== undefined) return
    const error = failure(cause, "query")
    this.#ended = error
    this.#client.connection.stream.destroy()
    const unfinished = this.#active === undefined ? [] : [this.#active, ...this.#waiting.splice(0)]
    for (const statement of unfinished) statement.abandon(cause)
    for (const queues of this.#channels.values()) for (const queue of queues) Queue.failCauseUnsafe(queue, Cause.fail(error))
    this.#channels.clear()
    this.onRetire()
  }

  readonly close: Effect.Effect<void> = Effect.sync(() => {
    this.onRetire = () => {}
    if (this.#ended !== undefined) return
    this.#client.end(() => {})
    later(closeMillis, () => this.#client.connection.stream.destroy())
  })

  execute(sql: string, params: ReadonlyArray<unknown>, transform: Transform) {
    return Effect.map(this.run(sql, params), ({ rows }) => (transform === undefined ? rows : transform(rows as Array<Row>)))
  }

  executeUnprepared(sql: string, params: ReadonlyArray<unknown>, transform: Transform) {
    return Effect.map(this.run(sql, params, { prepare: false }), ({ rows }) => transform?.(rows as Array<Row>) ?? rows)
  }

  executeRaw(sql: string, params: ReadonlyArray<unknown>) {
    return this.run(sql, params)
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.run(sql, params, { asArrays: true }), valuesOf)
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.run(sql, params, { asArrays: true, prepare: false }), valuesOf)
  }

  /** Reads all rows first. */
  executeStream(sql: string, params: ReadonlyArray<unknown>, transform: Transform) {
    return Stream.fromIterableEffect(this.execute(sql, params, transform))
  }

  /** Also after an interruption it returns only when the connection is free again, or ended. */
  run(sql: string, params: ReadonlyArray<unknown>, options: RunOptions = {}): Effect.Effect<PgStatement, SqlError> {
    return Effect.callback<PgStatement, SqlError>((resume) => {
      if (this.#ended !== undefined) return resume(Effect.fail(this.#ended))
      let statement: PgStatement
      try {
        statement = this.#prepare(sql, params, options, resume)
      } catch (cause) {
        return resume(Effect.fail(failure(cause, "query")))
      }
      if (this.#active === undefined) this.#start(statement)
      else this.#waiting.push(statement)
      return this.#abort(statement)
    })
  }

  #prepare(
    text: string,
    params: ReadonlyArray<unknown>,
    options: RunOptions,
    resume: (effect: Effect.Effect<PgStatement, SqlError>) => void,
  ): PgStatement {
    const oids = params.map(oidOf)
    const values: ReadonlyArray<Encoded> = params.map(encode)
    const prepared = options.prepare === false || this.#config.prepare === false ? undefined : this.#preparedFor(text, oids)
    const mayRetry = this.isIdle
    const statement: PgStatement = new PgStatement(
      {
        text,
        oids,
        values,
        prepared,
        forgotten: this.#forgotten,
        asArrays: options.asArrays === true,
        longest: this.#config.maxMessageSize ?? 16 * 1024 * 1024,
      },
      (error) => {
        const isStale = prepared?.columns !== undefined && staleCodes.has(codeOf(error) ?? "")
        if (error !== undefined && prepared !== undefined && (isStale || prepared.columns === undefined)) this.#forget(prepared)
        this.#next(statement)
        if (error === undefined) return resume(Effect.succeed(statement))
        if (isStale && mayRetry) return resume(this.run(text, params, { ...options, prepare: false }))
        resume(Effect.fail(failure(error, "query")))
      },
    )
    return statement
  }

  #start(statement: PgStatement): void {
    this.#active = statement
    this.#client.query(statement as never)
  }

  /** The statement has ended: the next one begins. */
  #next(statement: PgStatement): void {
    if (this.#active !== statement) return
    this.#active = undefined
    const next = this.#waiting.shift()
    if (next !== undefined) this.#start(next)
  }

  /** The queue fails when the connection ends. */
  listen(channel: string): Effect.Effect<Queue.Dequeue<Notification, SqlError>, SqlError, Scope.Scope> {
    const name = `"${channel.replaceAll('"', '""')}"`
    return Effect.gen({ self: this }, function* () {
      const queue = yield* Queue.unbounded<Notification, SqlError>()
      const queues = this.#channels.get(channel) ?? new Set()
      this.#channels.set(channel, queues.add(queue))
      yield* Effect.addFinalizer(() => {
        queues.delete(queue)
        const last = queues.size === 0 && this.#channels.delete(channel) && this.#ended === undefined
        return Effect.andThen(
          last ? Effect.ignore(this.run(`unlisten ${name}`, [], { prepare: false })) : Effect.void,
          Queue.shutdown(queue),
        )
      })
      yield* this.run(`listen ${name}`, [], { prepare: false })
      return queue
    })
  }

  notify(channel: string, payload: string): Effect.Effect<void, SqlError> {
    return Effect.asVoid(this.run("select pg_notify($1, $2)::text", [channel, payload]))
  }

  #preparedFor(text: string, oids: ReadonlyArray<number>): Prepared {
    const alike = this.#prepared.get(text) ?? []
    this.#prepared.delete(text)
    this.#prepared.set(text, alike)
    const known = alike.find((each) => each.oids.length === oids.length && each.oids.every((oid, index) => oid === oids[index]))
    if (known !== undefined) return known
    const prepared: Prepared = { name: `detent_${++this.#names}`, text, oids, columns: undefined, isKept: true }
    alike.push(prepared)
    this.#kept++
    for (const [oldest, statements] of this.#prepared) {
      if (this.#kept <= this.#keep || oldest === text) break
      for (const each of [...statements]) this.#forget(each)
    }
    return prepared
  }

  #forget(prepared: Prepared): void {
    const alike = this.#prepared.get(prepared.text)
    const index = alike?.indexOf(prepared) ?? -1
    if (alike === undefined || index < 0) return
    alike.splice(index, 1)
    if (alike.length === 0) this.#prepared.delete(prepared.text)
    this.#kept--
    prepared.isKept = false
    this.#forgotten.push(prepared.name)
  }

  /** A late cancellation would hit the next statement, so the connection is not used again. */
  #abort(statement: PgStatement): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const index = this.#waiting.indexOf(statement)
      if (index >= 0) this.#waiting.splice(index, 1)
      if (index >= 0 || statement.isEnded) return resume(Effect.void)
      const cancel = later(graceMillis, () => {
        this.onRetire()
        sendCancel(this.#client)
      })
      const limit = later(cancelMillis, () => this.end(new Error("The server did not cancel a statement")))
      statement.onSettled = () => {
        clearTimeout(cancel)
        clearTimeout(limit)
        resume(Effect.void)
      }
    })
  }
}

/** The server has lost the statement, or its plan no longer fits the tables. */
const staleCodes = new Set(["26000", "0A000"])

interface RunOptions {
  readonly prepare?: boolean
  readonly asArrays?: boolean
}

type Transform = (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

const valuesOf = ({ rows }: PgStatement) => rows as unknown as ReadonlyArray<ReadonlyArray<unknown>>

/** Closed with the scope. */
export const make = (config: Config): Effect.Effect<PgConnection, SqlError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.suspend(() => connect(config, resolve(config))).pipe(Effect.catchDefect((defect) => Effect.fail(failure(defect, "connect")))),
    (connection) => connection.close,
    { interruptible: true },
  )

/** The letter N: the server's first answer if it has no TLS. */
const refusesTls = 78

const connect = (config: Config, { isTlsOptional, ...address }: Resolved): Effect.Effect<PgConnection, SqlError> =>
  Effect.callback((resume) => {
    const client = new pg.Client({
      ...address,
      // Otherwise a statement would wait for hours when the server has disappeared without closing the connection.
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMillis,
      connectionTimeoutMillis: Duration.toMillis(config.connectTimeout ?? "5 seconds"),
    }) as Client
    let hasNoTls = false
    if (isTlsOptional) client.connection.stream.once("data", ([answer]) => (hasNoTls = answer === refusesTls))
    // Until it is connected, errors come to the callback too.
    client.on("error", () => {})
    client.connect((cause: Error | null) => {
      if (!cause) return resume(prepareSession(new PgConnection(client, config), config))
      client.connection.stream.destroy()
      resume(hasNoTls ? connect(config, { ...address, ssl: false, isTlsOptional: false }) : Effect.fail(failure(cause, "connect")))
    })
    return Effect.sync(() => client.connection.stream.destroy())
  })

/** By a statement: a pooler refuses a session that begins with settings that it does not know. */
const prepareSession = (connection: PgConnection, { prepare, idleTransactionTimeout }: Config): Effect.Effect<PgConnection, SqlError> => {
  if (prepare === false) return Effect.succeed(connection)
  const millis = Math.ceil(Duration.toMillis(idleTransactionTimeout ?? "1 minute"))
  return connection.run(`set idle_in_transaction_session_timeout = ${millis}`, [], { prepare: false }).pipe(
    Effect.as(connection),
    Effect.onError(() => Effect.sync(() => connection.end(new Error("The session was not prepared")))),
  )
}

const sendCancel = (client: Client): void => {
  const { host, port, processID, secretKey } = client
  const wire = new pg.Connection({ ssl: client.ssl } as pg.ConnectionConfig) as unknown as CancelWire
  const send = () => wire.cancel(processID, secretKey)
  wire.on("error", () => {})
  wire.on("connect", () => (client.ssl ? wire.requestSsl() : send()))
  wire.on("sslconnect", send)
  wire.connect(...((host.startsWith("/") ? [`${host}/.s.PGSQL.${port}`] : [port, host]) as [number, string]))
  later(cancelMillis, () => wire.stream.destroy())
}

interface CancelWire {
  readonly stream: { destroy(): void }
  on(event: string, listener: () => void): void
  connect(port: number, host: string): void
  cancel(processID: number, secretKey: number): void
  requestSsl(): void
}
