/** All events of an instance, latest first, loaded while the user scrolls. */
import { useCallback } from "react"
import * as reads from "../../api/reads.ts"
import type { HistoryEntry, InstanceView } from "../../api/types.ts"
import { hrefOf, setQuery, useQueryState } from "../../browser/Router.tsx"
import { FilterText } from "../../parts/Filters.tsx"
import { Ago, countText } from "../../parts/Moment.tsx"
import { Panel, ProblemNote, Skeleton } from "../../parts/Panel.tsx"
import { useRows } from "../../parts/useRows.ts"
import { type Column, VirtualTable } from "../../parts/VirtualTable.tsx"
import { eventName } from "./Step.tsx"

const keyOf = ({ sequence }: HistoryEntry) => String(sequence)
const rowsOf = ({ entries }: { readonly entries: ReadonlyArray<HistoryEntry> }) => entries

const columns: ReadonlyArray<Column<HistoryEntry>> = [
  { title: "Step", width: "4.5rem", cell: ({ sequence }) => countText(sequence) },
  { title: "Event", width: "minmax(6rem,1fr)", cell: ({ event }) => <b className="font-medium">{eventName(event)}</b> },
  {
    title: "Transition",
    width: "minmax(7rem,1.4fr)",
    cell: ({ from, through, state, outcome }) => (outcome === "Stay" ? `stays in ${from}` : [from, ...through, state._tag].join(" → ")),
  },
  { title: "Requested", width: "minmax(5rem,1fr)", cell: ({ requests }) => requests.join(", "), wideOnly: true },
  { title: "When", width: "6rem", cell: ({ at }) => <Ago at={at} />, wideOnly: true, right: true },
]

export const History = ({ view, at }: { readonly view: InstanceView; readonly at: number }) => {
  const { machine, id, sequence } = view
  const query = useQueryState()
  const event = query.get("event")
  const address = useCallback(
    (before?: string | number) =>
      reads.latestEvents(machine, id, {
        ...(before === undefined ? {} : { before: Number(before) }),
        ...(event === undefined ? {} : { event }),
      }),
    [machine, id, event],
  )
  const { rows, fresh, pages, onEnd, showFresh } = useRows({ address, rowsOf, keyOf })
  const onFilter = useCallback((text: string) => setQuery({ event: text }), [])
  return (
    <Panel
      title="History"
      className="mt-4"
      flush
      aside={
        <>
          {fresh === 0 ? null : (
            <button type="button" className="font-medium text-accent hover:underline" onClick={showFresh}>
              {fresh} new ↑
            </button>
          )}
          <FilterText label="Event name" value={event ?? ""} onChange={onFilter} />
        </>
      }
    >
      {pages.error !== null && rows.length === 0 ? <ProblemNote problem={pages.error} onRetry={() => void pages.refetch()} /> : null}
      {pages.isPending ? (
        <div className="p-4">
          <Skeleton />
        </div>
      ) : rows.length === 0 ? (
        <p className="px-4 py-3 text-muted">{sequence === 0 ? "The instance has handled no event yet." : "No event has this name."}</p>
      ) : (
        <VirtualTable
          label="History"
          rows={rows}
          columns={columns}
          keyOf={keyOf}
          hrefOf={(row) => hrefOf(["instances", machine, id], { at: row.sequence, event })}
          isCurrent={(row) => row.sequence === at}
          onEnd={onEnd}
          rowHeight={36}
          height="24rem"
        />
      )}
    </Panel>
  )
}
