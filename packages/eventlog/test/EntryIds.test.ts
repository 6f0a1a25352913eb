/** Ids of events order them as they were written, whatever the clock does. */
import { assert, describe, it } from "@effect/vitest"
import { EntryIdOrder, entryIdMillis, makeEntryIdUnsafe } from "effect/eventlog/EventJournal"
import { EntryIds } from "../src/journal/EntryIds.ts"

describe("ids of events", () => {
  it("grow when the clock stands still, moves back, or more ids are made than fit into a millisecond", () => {
    const ids = new EntryIds()
    const times = [...Array.from({ length: 10_000 }, () => 1_000), 900, 0, 1_001, 5_000, 4_999]
    const made = times.map((now) => ids.next(now))
    for (const [index, id] of made.entries()) {
      const before = made[index - 1]
      if (before !== undefined) assert.strictEqual(EntryIdOrder(before, id), -1, `id ${index}`)
    }
    assert.strictEqual(entryIdMillis(made[0] ?? makeEntryIdUnsafe()), 1_000)
  })

  it("are later than every id that was observed", () => {
    for (let round = 0; round < 1_000; round++) {
      const ids = new EntryIds()
      const remote = makeEntryIdUnsafe({ msecs: 8_000 })
      ids.observe(remote)
      assert.strictEqual(EntryIdOrder(remote, ids.next(7_000)), -1)
      assert.strictEqual(entryIdMillis(ids.next(9_000)), 9_000)
    }
  })

  it("are UUIDs of version 7", () => {
    const id = new EntryIds().next(1_000)
    assert.strictEqual((id[6] ?? 0) >> 4, 7)
    assert.strictEqual((id[8] ?? 0) >> 6, 2)
  })
})
