/**
 * A store that cannot be opened: its location, the cause and the next step. It fails immediately, when the store's layer is built.
 * Of an address it contains only host, port and database: the rest may be secret.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/sql/Migrator"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

export class StoreNotOpened extends Schema.TaggedError<StoreNotOpened>()("StoreNotOpened", {
  store: Schema.Literals(["SQLite", "PostgreSQL"]),
  /** A file, or host, port and database. */
  place: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    const what = this.store === "SQLite" ? `open ${this.place}` : `reach PostgreSQL at ${this.place}`
    return `cannot ${what}: ${this.problem}; ${this.nextStep}`
  }
}

/** How opening a store may fail; a failed migration is reported as such. */
export type StoreOpenError = MigrationError | SqlError | StoreNotOpened

/** Explains a failure of the client to open the store; undefined where the failure's own message is best. */
export type Explain = (error: unknown) => StoreNotOpened | undefined

/** The layer with its failures explained, including those that a client throws while it connects. */
export const explaining =
  (explain: Explain) =>
  <A, R>(layer: Layer.Layer<A, StoreOpenError, R>): Layer.Layer<A, StoreOpenError, R> =>
    Layer.effectContext(
      Layer.build(layer).pipe(
        Effect.mapError((error) => explain(error) ?? error),
        Effect.catchDefect((defect) => {
          const explained = explain(defect)
          return explained === undefined ? Effect.die(defect) : Effect.fail(explained)
        }),
      ),
    )

/** The message of the database or the operating system. */
export const causeOf = (error: unknown): unknown => (isSqlError(error) ? error.reason.cause : error)
