/** The selected rows of a list. Rows that were selected under another filter are not shown, so they do not count. */
import { useMemo, useState } from "react"

const none: ReadonlySet<string> = new Set()

export const usePicks = <Row>(filter: object, rows: ReadonlyArray<Row>, keyOf: (row: Row) => string) => {
  const [picks, setPicks] = useState<{ readonly filter: object; readonly keys: ReadonlySet<string> }>()
  const picked = picks?.filter === filter ? picks.keys : none
  const pickedRows = useMemo(() => rows.filter((row) => picked.has(keyOf(row))), [rows, picked, keyOf])
  return {
    picked,
    pickedRows,
    onPick: (key: string) =>
      setPicks({ filter, keys: new Set(picked.has(key) ? [...picked].filter((one) => one !== key) : [...picked, key]) }),
    /** Selects all rows that are loaded; where all of them are selected, none. */
    onPickAll: () => setPicks({ filter, keys: pickedRows.length === rows.length ? none : new Set(rows.map(keyOf)) }),
  }
}
