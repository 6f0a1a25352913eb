/**
 * The row keys of recently written instances. With its row key an instance is updated without a lookup in the index of names and without
 * returning the key. A key may be out of date: statements that use it compare the name too.
 */
import type { InstanceKey } from "../contract/Commit.ts"
import { instanceName } from "../contract/CommitCheck.ts"

/** About 2 MB. */
const limit = 20_000

export class RowKeys {
  readonly #rows = new Map<string, number>()

  get(key: InstanceKey): number | undefined {
    return this.#rows.get(instanceName(key))
  }

  set(key: InstanceKey, row: number) {
    if (this.#rows.size >= limit) this.#rows.clear()
    this.#rows.set(instanceName(key), row)
  }
}
