/**
 * A connection to PostgreSQL over node-postgres: prepared statements, notifications, and statements that end when their fiber is interrupted.
 * Modes: open, until the socket or the server ends it; then every statement fails with the reason.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Connection } from "effect/sql/SqlConnection"
import * as Sql from "effect/sql/SqlError"
import pg from "pg"
import { type Encoded, encode, oidOf } from "./PgParameters.ts"
import { PgStatement, type Prepared, type Row, type Wire } from "./PgStatement.ts"

export interface Config {
  readonly url?: Redacted.Redacted | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly database?: string | undefined
  readonly username?: string | undefined
  readonly password?: Redacted.Redacted | undefined
  readonly ssl?: pg.ClientConfig["ssl"] | undefined
  /** Default: 5 seconds. */
  readonly connectTimeout?: Duration.Input | undefined
  readonly applicationName?: string | undefined
  /** Whether statements are prepared under a name. Not behind a pooler that lends connections by transaction. Default: true. */
  readonly prepare?: boolean | undefined
  /** How many statements it keeps prepared. Default: 100. */
  readonly preparedStatements?: number | undefined
  /** The longest row that it reads; a longer one fails its statement. Default: 16 MiB. */
  readonly maxMessageSize?: number | undefined
}

export interface Notification {
  readonly channel: string
  readonly payload: string
}

/** The first wait lets short statements end; the second ends a connection whose server does not answer the cancellation. */
const graceMillis = 10
const cancelMillis = 5000
const closeMillis = 1000

type Client = pg.Client & {
  readonly connection: Wire
  readonly processID: number
  readonly secretKey: number
  getTransactionStatus(): "I" | "T" | "E" | null
}

export class PgConnection implements Connection {
  readonly #client: Client
  readonly #config: Config
  readonly #keep: number
  /** By text: a text of the program is the same string each time, and its hash is known. Last used last. */
  readonly #prepared = new Map<string, Array<Prepared>>()
  readonly #channels = new Map<string, Set<Queue.Queue<Notification, Sql.SqlError>>>()
  #kept = 0
  #names = 0
  #forgotten: Array<string> = []
  #ended: Sql.SqlError | undefined
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

  get ended(): Sql.SqlError | undefined {
    return this.#ended
  }

  /** Whether no transaction is open. */
  get isIdle(): boolean {
    return this.#client.getTransactionStatus() === "I"
  }

  /** Fails everything that waits for it. */
  end(cause: unknown): void {
    if (this.#ended !== undefined) return
    const error = failure(cause, "query")
    this.#ended = error
    this.#client.connection.stream.destroy()
    for (const queues of this.#channels.values()) for (const queue of queues) Queue.failCauseUnsafe(queue, Cause.fail(error))
    this.#channels.clear()
    this.onRetire()
  }

  readonly close: Effect.Effect<void> = Effect.sync(() => {
    this.onRetire = () => {}
    if (this.#ended !== undefined) return
    this.#client.end(() => {})
    setTimeout(() => this.#client.connection.stream.destroy(), closeMillis).unref()
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

  /** Reads all rows first: see the report for what a cursor takes. */
  executeStream(sql: string, params: ReadonlyArray<unknown>, transform: Transform) {
    return Stream.fromIterableEffect(this.execute(sql, params, transform))
  }

  /** Also after an interruption it returns only when the connection is free again, or ended. */
  run(sql: string, params: ReadonlyArray<unknown>, options: RunOptions = {}): Effect.Effect<PgStatement, Sql.SqlError> {
    return Effect.callback<PgStatement, Sql.SqlError>((resume) => {
      if (this.#ended !== undefined) return resume(Effect.fail(this.#ended))
      const retry = () => resume(this.run(sql, params, { ...options, prepare: false }))
      let statement: PgStatement
      try {
        const oids = params.map(oidOf)
        const values: ReadonlyArray<Encoded> = params.map(encode)
        const prepared = options.prepare === false || this.#config.prepare === false ? undefined : this.#preparedFor(sql, oids)
        const forgotten = this.#forgotten
        this.#forgotten = []
        const mayRetry = this.isIdle
        statement = new PgStatement(
          {
            text: sql,
            oids,
            values,
            prepared,
            forgotten,
            asArrays: options.asArrays === true,
            longest: this.#config.maxMessageSize ?? 16 * 1024 * 1024,
          },
          (error) => {
            if (error === undefined) return resume(Effect.succeed(statement))
            if (prepared !== undefined && prepared.columns === undefined) this.#forget(prepared)
            if (prepared?.columns !== undefined && isStale(error)) {
              this.#forget(prepared)
              if (mayRetry) return retry()
            }
            resume(Effect.fail(this.#ended ?? failure(error, "query")))
          },
        )
      } catch (cause) {
        return resume(Effect.fail(failure(cause, "query")))
      }
      this.#client.query(statement as never)
      return this.#abort(statement)
    })
  }

  /** The queue fails when the connection ends. */
  listen(channel: string): Effect.Effect<Queue.Dequeue<Notification, Sql.SqlError>, Sql.SqlError, Scope.Scope> {
    const name = `"${channel.replaceAll('"', '""')}"`
    return Effect.gen({ self: this }, function* () {
      const queue = yield* Queue.unbounded<Notification, Sql.SqlError>()
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

  #preparedFor(text: string, oids: ReadonlyArray<number>): Prepared {
    const alike = this.#prepared.get(text) ?? []
    this.#prepared.delete(text)
    this.#prepared.set(text, alike)
    const known = alike.find((each) => each.oids.length === oids.length && each.oids.every((oid, index) => oid === oids[index]))
    if (known !== undefined) return known
    const prepared: Prepared = { name: `detent_${++this.#names}`, text, oids, columns: undefined }
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
    this.#forgotten.push(prepared.name)
  }

  /** A late cancellation would hit the next statement, so the connection is not used again. */
  #abort(statement: PgStatement): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const poll = setInterval(() => statement.isEnded && finish(), 1)
      const cancel = setTimeout(() => {
        this.onRetire()
        sendCancel(this.#client, this.#config)
      }, graceMillis)
      const limit = setTimeout(() => this.end(new Error("The server did not cancel a statement")), cancelMillis)
      const finish = () => {
        clearInterval(poll)
        clearTimeout(cancel)
        clearTimeout(limit)
        resume(Effect.void)
      }
    })
  }
}

interface RunOptions {
  readonly prepare?: boolean
  readonly asArrays?: boolean
}

type Transform = (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

const valuesOf = ({ rows }: PgStatement) => rows as unknown as ReadonlyArray<ReadonlyArray<unknown>>

/** The server has lost the statement, or its plan no longer fits the tables. */
const isStale = (error: unknown): boolean => ["26000", "0A000"].includes(codeOf(error) ?? "")

const clientConfig = (config: Config): pg.ClientConfig => ({
  ...(config.url === undefined ? {} : { connectionString: Redacted.value(config.url) }),
  ...(config.host === undefined ? {} : { host: config.host }),
  ...(config.port === undefined ? {} : { port: config.port }),
  ...(config.database === undefined ? {} : { database: config.database }),
  ...(config.username === undefined ? {} : { user: config.username }),
  ...(config.password === undefined ? {} : { password: Redacted.value(config.password) }),
  ...(config.ssl === undefined ? {} : { ssl: config.ssl }),
  application_name: config.applicationName ?? "detent",
  connectionTimeoutMillis: Duration.toMillis(config.connectTimeout ?? "5 seconds"),
})

/** The address names no user, and neither does the operating system. */
export class UserMissing extends Error {
  readonly _tag = "UserMissing"
  override readonly message = "the address names no user, and neither does USER"
}

const isUserKnown = ({ url, username }: Config): boolean =>
  (username ?? process.env["USER"] ?? process.env["USERNAME"]) !== undefined ||
  (url !== undefined && new URL(Redacted.value(url)).username !== "")

/** Closed with the scope. */
export const make = (config: Config): Effect.Effect<PgConnection, Sql.SqlError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<PgConnection, Sql.SqlError>((resume) => {
      let client: Client
      try {
        if (!isUserKnown(config)) throw new UserMissing()
        client = new pg.Client(clientConfig(config)) as Client
      } catch (cause) {
        return resume(Effect.fail(failure(cause, "connect")))
      }
      // Until it is connected, errors come to the callback too.
      client.on("error", () => {})
      client.connect((cause: Error | null) =>
        resume(cause ? Effect.fail(failure(cause, "connect")) : Effect.succeed(new PgConnection(client, config))),
      )
      return Effect.sync(() => client.connection.stream.destroy())
    }),
    (connection) => connection.close,
    { interruptible: true },
  )

const sendCancel = (client: Client, config: Config): void => {
  const { host, port, processID, secretKey } = client
  const wire = new pg.Connection({ ssl: client.ssl } as pg.ConnectionConfig) as unknown as CancelWire
  const send = () => wire.cancel(processID, secretKey)
  wire.on("error", () => {})
  wire.on("connect", () => (config.ssl === undefined && !client.ssl ? send() : wire.requestSsl()))
  wire.on("sslconnect", send)
  wire.connect(...((host.startsWith("/") ? [`${host}/.s.PGSQL.${port}`] : [port, host]) as [number, string]))
  setTimeout(() => wire.stream.destroy(), cancelMillis).unref()
}

interface CancelWire {
  readonly stream: { destroy(): void }
  on(event: string, listener: () => void): void
  connect(port: number, host: string): void
  cancel(processID: number, secretKey: number): void
  requestSsl(): void
}

const codeOf = (cause: unknown): string | undefined => {
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  return typeof code === "string" ? code : undefined
}

/** Errors of the server have a severity; the others are of the connection, or of the parameters. */
const failure = (cause: unknown, operation: "connect" | "query"): Sql.SqlError => {
  const message = cause instanceof Error ? cause.message : "The statement failed"
  return new Sql.SqlError({ reason: reasonOf(cause, { cause, message, operation }) })
}

const reasonOf = (cause: unknown, props: { readonly cause: unknown; readonly message: string; readonly operation: string }) => {
  const code = codeOf(cause)
  if (cause instanceof TypeError || cause instanceof RangeError) return new Sql.UnknownError(props)
  if ((cause as { readonly severity?: unknown } | undefined)?.severity === undefined || code === undefined)
    return new Sql.ConnectionError(props)
  if (code.startsWith("08")) return new Sql.ConnectionError(props)
  if (code.startsWith("28")) return new Sql.AuthenticationError(props)
  if (code === "42501") return new Sql.AuthorizationError(props)
  if (code.startsWith("42")) return new Sql.SqlSyntaxError(props)
  if (code === "23505") return new Sql.UniqueViolation({ ...props, constraint: (cause as { constraint?: string }).constraint ?? "unknown" })
  if (code.startsWith("23")) return new Sql.ConstraintError(props)
  if (code === "40P01") return new Sql.DeadlockError(props)
  if (code === "40001") return new Sql.SerializationError(props)
  if (code === "55P03") return new Sql.LockTimeoutError(props)
  if (code === "57014") return new Sql.StatementTimeoutError(props)
  return new Sql.UnknownError(props)
}
