/** One list over several filters of the store, in the order of the store: oldest or newest change first. */
import { type InstanceCursor, type InstanceFilter, type InstancePage, Journal } from "@detent/durable"
import type { PersistenceFailed } from "@detent/machine"
import { compareText } from "@detent/machine/internal"
import * as Effect from "effect/Effect"

export type ListOrder = NonNullable<InstanceFilter["order"]>

export const mergedList = (
  filters: ReadonlyArray<Omit<InstanceFilter, "order"> & { readonly machine: string }>,
  limit: number,
  after: InstanceCursor | undefined,
  order: ListOrder = "oldest",
): Effect.Effect<InstancePage, PersistenceFailed, Journal> =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const pages = yield* Effect.forEach(filters, (filter) => journal.list({ ...filter, order }, limit, cursorIn(filter.machine, after)))
    const found = pages.flatMap((page) => page.instances).sort(order === "oldest" ? byChange : (left, right) => byChange(right, left))
    const instances = found.slice(0, limit)
    const hasMore = found.length > limit || pages.some(({ next }) => next !== undefined)
    return { instances, next: hasMore ? instances.at(-1) : undefined }
  })

const byChange = (left: InstanceCursor, right: InstanceCursor): number =>
  left.updatedAt - right.updatedAt || compareText(left.machine, right.machine) || compareText(left.id, right.id)

/** Translates the cursor of the merged list for the list of one machine, which is ordered by time and id only. Holds for both orders. */
const cursorIn = (machine: string, after: InstanceCursor | undefined): InstanceCursor | undefined => {
  if (after === undefined || after.machine === machine) return after
  return { updatedAt: after.updatedAt, machine, id: compareText(machine, after.machine) < 0 ? lastId : "" }
}

/** No id is greater: an id has at most 1,000 bytes. */
const lastId = "\u{10FFFF}".repeat(250)
