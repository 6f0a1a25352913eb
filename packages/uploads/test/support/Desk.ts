/** What a test of uploads stands on: a database and a folder of its own, and processes that come and go. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Engine } from "@detent/durable"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Uploads, UploadsOptions } from "../../src/index.ts"
import { type Address, type Database, freshFolder, uploadsLayer } from "./Databases.ts"

export interface Desk {
  readonly address: Address
  readonly folder: string
  /** Writes a file and gives its path. */
  readonly file: (name: string, content: unknown) => string
  /** Runs in a process of its own, as far as uploads can tell. */
  readonly run: <A, E>(use: Effect.Effect<A, E, Uploads | Engine | SqlClient>, options?: UploadsOptions) => Effect.Effect<A, unknown>
}

export const makeDesk = (database: Database, place = database.prepared) =>
  Effect.gen(function* () {
    const address = yield* place
    const folder = yield* freshFolder
    const desk: Desk = {
      address,
      folder,
      file: (name, content) => {
        const path = join(folder, name)
        const text = typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content)
        writeFileSync(path, name.endsWith(".gz") && typeof text === "string" ? gzipSync(text) : text)
        return path
      },
      run: (use, options) => Effect.provide(use, uploadsLayer(address, options) as Layer.Layer<Uploads | Engine | SqlClient, unknown>),
    }
    return desk
  })

export const story = (id: number, more: object = {}) => ({
  id,
  type: "story",
  by: "ada",
  time: 1_700_000_000 + id,
  title: `Story ${id}`,
  ...more,
})
