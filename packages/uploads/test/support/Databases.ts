/** The databases uploads are kept in, each with an address that several processes can open. */
import { randomBytes } from "node:crypto"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import * as PgClient from "@detent/durable/PgClient"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { DatabaseClock, processTime } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { inject } from "vitest"
import { Posts } from "../../src/generate/Post.ts"
import { Uploads, type UploadsOptions } from "../../src/index.ts"

export type Address = { readonly _tag: "Sqlite"; readonly filename: string } | { readonly _tag: "Postgres"; readonly url: string }

export interface Database {
  readonly name: string
  /** An empty database of its own, gone with the scope. */
  readonly fresh: Effect.Effect<Address, never, Scope.Scope>
  /** The same with all tables, which it takes longer to make than most tests take. */
  readonly prepared: Effect.Effect<Address, never, Scope.Scope>
}

/** A folder that goes with the scope. */
export const freshFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-uploads-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

const sqliteFile = Effect.map(freshFolder, (folder) => join(folder, "uploads.db"))

const sqlite: Database = {
  name: "SQLite",
  fresh: Effect.map(sqliteFile, (filename): Address => ({ _tag: "Sqlite", filename })),
  prepared: Effect.gen(function* () {
    const [template, filename] = [yield* Effect.promise(() => sqliteTemplate()), yield* sqliteFile]
    copyFileSync(template, filename)
    return { _tag: "Sqlite", filename }
  }),
}

const asAdmin = (statement: string) =>
  Effect.orDie(
    Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(
      Effect.provide(Layer.fresh(Layer.suspend(() => PgClient.layer({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1 })))),
    ),
  )

const postgresAt = (name: string): Address => {
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${name}`
  return { _tag: "Postgres", url: url.href }
}

const randomName = () => `uploads_${randomBytes(8).toString("hex")}`

const postgresFrom = (template: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.gen(function* () {
        const name = randomName()
        yield* asAdmin(`create database ${name} template ${template}`)
        return name
      }),
      (name) => asAdmin(`drop database ${name} with (force)`),
    ),
    postgresAt,
  )

const postgres: Database = {
  name: "PostgreSQL",
  fresh: postgresFrom("template1"),
  prepared: Effect.flatMap(
    Effect.promise(() => postgresTemplate()),
    postgresFrom,
  ),
}

export const databases: ReadonlyArray<Database> = [sqlite, postgres]

export const storeLayer = (address: Address) =>
  address._tag === "Sqlite"
    ? SqliteStore.layer({ filename: address.filename })
    : Layer.provide(PostgresStore.layer({ url: address.url }), Layer.succeed(DatabaseClock, processTime))

/** Uploads have no timers and no commands: where a test lets days pass, no process looks for any. */
const quietEngine = { sweeper: { interval: "1 day" }, worker: false } as const

/** Everything a process that uploads has, made anew wherever it is used. */
export const uploadsLayer = (address: Address, options: UploadsOptions = {}) =>
  Layer.fresh(
    Uploads.layer({ uploads: [Posts], ...options }).pipe(
      Layer.provideMerge(Engine.layer(quietEngine)),
      Layer.provideMerge(storeLayer(address)),
    ),
  )

/** Makes something once for all tests of the test process. */
const once = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let made: Promise<A> | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** Opens uploads once, which makes all tables, and closes them. */
const makeTables = (address: Address) =>
  Effect.runPromise(Effect.scoped(Effect.asVoid(Layer.build(uploadsLayer(address) as Layer.Layer<Uploads, unknown>))))

const sqliteTemplate = once(async () => {
  const folder = mkdtempSync(join(tmpdir(), "detent-uploads-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  const filename = join(folder, "template.db")
  await makeTables({ _tag: "Sqlite", filename })
  return filename
})

/** It goes with the server. */
const postgresTemplate = once(async () => {
  const name = randomName()
  await Effect.runPromise(asAdmin(`create database ${name}`))
  await makeTables(postgresAt(name))
  return name
})
