/**
 * A SQL view for each kind of items, with a typed column for each field of its schema. A field whose stored value has another type, as
 * after a change of the schema, is null there; the column `detent_json` has the whole item.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ItemKind } from "../kind/ItemKind.ts"
import type { UploadStore } from "./UploadStore.ts"

/** The name of the view of a kind, without the schema of the database. */
export const viewName = (kind: string): string => `items_${kind.toLowerCase().replaceAll("-", "_")}`.slice(0, 63)

/** Makes the views of kinds, or changes those whose schema has changed. */
export const makeViews = (
  store: UploadStore,
  kinds: Iterable<Pick<ItemKind, "name" | "columns">>,
): Effect.Effect<void, PersistenceFailed> =>
  Effect.gen(function* () {
    const { dialect } = store
    const names = new Map<string, string>()
    for (const { name, columns } of kinds) {
      const view = viewName(name)
      const other = names.get(view)
      if (other !== undefined)
        return yield* Effect.die(new TypeError(`the uploads ${other} and ${name} would both have the view ${view}; rename one of them`))
      names.set(view, name)
      const { statements, mark } = dialect.view(view, name, columns)
      const isCurrent = Effect.map(
        store.rows("readView", Schema.Struct({ current: Schema.NullOr(Schema.String) }), dialect.viewMark(view)),
        ([row]) => row?.current === mark,
      )
      if (yield* isCurrent) continue
      const change = Effect.gen(function* () {
        yield* store.run("lockViews", dialect.lockViews)
        // Another process may have made it meanwhile.
        if (yield* isCurrent) return
        for (const statement of statements) yield* store.run("makeView", dialect.sql.unsafe(statement))
      })
      yield* store.transact("makeView", change)
    }
  })
