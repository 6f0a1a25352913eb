/** Instances, newest change first, by machine, state, status and the beginning of an id. */
import { useCallback, useMemo, useState } from "react"
import * as reads from "../api/reads.ts"
import type { InstanceListing } from "../api/types.ts"
import { useRead } from "../api/useRead.ts"
import { instanceHref } from "../app/addresses.ts"
import { setQuery, useQueryState } from "../app/Router.tsx"
import { StatusBadge } from "../parts/Badge.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { Chips, Choice, FilterText } from "../parts/Filters.tsx"
import { Ago, countText } from "../parts/Moment.tsx"
import { Empty, PageHead, ProblemNote, Skeleton } from "../parts/Panel.tsx"
import { rangeOptions, TimeRange, useTimeRange } from "../parts/TimeRange.tsx"
import { usePicks } from "../parts/usePicks.ts"
import { useRows } from "../parts/useRows.ts"
import { type Column, VirtualTable } from "../parts/VirtualTable.tsx"
import { BulkSend } from "./BulkSend.tsx"

const statuses = ["running", "held", "final", "failed", "stopped"]

const keyOf = ({ machine, id }: InstanceListing) => JSON.stringify([machine, id])
const rowsOf = ({ instances }: { readonly instances: ReadonlyArray<InstanceListing> }) => instances

const columns: ReadonlyArray<Column<InstanceListing>> = [
  { title: "Id", width: "minmax(7rem,2.5fr)", cell: ({ id }) => id },
  { title: "Machine", width: "minmax(6rem,1.3fr)", cell: ({ machine }) => <span className="text-muted">{machine}</span>, wideOnly: true },
  { title: "State", width: "minmax(5rem,1.3fr)", cell: ({ state }) => state },
  {
    title: "Status",
    width: "minmax(5rem,0.8fr)",
    cell: ({ status, outcome, reason }) => (
      <span title={reason}>
        <StatusBadge status={status} outcome={outcome} />
      </span>
    ),
  },
  { title: "Events", width: "4.5rem", cell: ({ sequence }) => countText(sequence), wideOnly: true, right: true },
  { title: "Changed", width: "6rem", cell: ({ updatedAt }) => <Ago at={updatedAt} />, wideOnly: true, right: true },
]

/** The instances an event is sent to. They are fixed when the dialog is opened. */
interface Target {
  readonly machine: string
  readonly filter: reads.InstanceFilter
  readonly ids: ReadonlyArray<string> | undefined
}

export const Instances = () => {
  const query = useQueryState()
  const machine = query.get("machine")
  const states = query.getAll("state")
  const stateKey = states.join("\n")
  const status = query.get("status")
  const search = query.get("q")
  const { since, until } = useTimeRange()
  const machines = useRead(reads.machines)
  const [sending, setSending] = useState<Target>()
  const filter = useMemo(
    (): reads.InstanceFilter => ({
      machine,
      state: stateKey === "" ? undefined : stateKey.split("\n"),
      status,
      search,
      updatedAfter: since,
      updatedBefore: until,
    }),
    [machine, stateKey, status, search, since, until],
  )
  const address = useCallback((after?: string | number) => reads.instances(filter, after), [filter])
  const { rows, fresh, pages, onEnd, showFresh } = useRows({ address, rowsOf, keyOf })
  const listed = machines.data?.machines.find(({ name }) => name === machine)
  const toggle = (value: string) => setQuery({ state: states.includes(value) ? states.filter((one) => one !== value) : [...states, value] })
  const onSearch = useCallback((text: string) => setQuery({ q: text }), [])
  const { picked, pickedRows, onPick, onPickAll } = usePicks(filter, rows, keyOf)
  // The counts of states are exact; for other conditions the dialog counts.
  const isCounted = listed !== undefined && [status, search, since, until].every((one) => one === undefined)
  const matching = !isCounted
    ? undefined
    : Object.entries(listed.counts).reduce((sum, [state, count]) => (states.length === 0 || states.includes(state) ? sum + count : sum), 0)
  const pickedIds = pickedRows.map(({ id }) => id)
  return (
    <>
      <PageHead
        title="Instances"
        actions={
          <>
            <CopyMenu path={address().path} command={commandOf(filter)} />
            <ActButton
              icon="send"
              disabled={machine === undefined}
              title={machine === undefined ? "Choose a machine first." : undefined}
              onClick={() => {
                if (machine !== undefined) setSending({ machine, filter, ids: pickedIds.length > 0 ? pickedIds : undefined })
              }}
            >
              {pickedIds.length > 0
                ? `Send to ${pickedIds.length}…`
                : matching === undefined
                  ? "Send to all that match…"
                  : `Send to all ${countText(matching)}…`}
            </ActButton>
          </>
        }
      />
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <FilterText label="Id begins with" value={search ?? ""} onChange={onSearch} />
        <Choice
          label="Machine"
          value={machine ?? ""}
          any="All machines"
          options={(machines.data?.machines ?? []).map(({ name }) => name)}
          onChange={(value) => setQuery({ machine: value, state: undefined })}
        />
        <Chips
          label="Status"
          chips={statuses.map((value) => ({ value }))}
          chosen={status === undefined ? [] : [status]}
          onChoose={(value) => setQuery({ status: value === status ? undefined : value })}
        />
        <TimeRange what="changed" />
      </div>
      {listed === undefined ? null : (
        <div className="mb-3 max-h-28 overflow-auto">
          <Chips
            label="State"
            chips={[...new Set([...listed.states, ...states])].slice(0, 200).map((value) => ({ value, count: listed.counts[value] ?? 0 }))}
            chosen={states}
            onChoose={toggle}
          />
        </div>
      )}
      <section className="card relative min-w-0 overflow-hidden">
        {fresh === 0 ? null : (
          <div className="absolute inset-x-0 top-9 z-20 flex justify-center">
            <Button look="primary" icon="up" onClick={showFresh}>
              {fresh} new
            </Button>
          </div>
        )}
        {pages.error !== null && rows.length === 0 ? <ProblemNote problem={pages.error} onRetry={() => void pages.refetch()} /> : null}
        {pages.isPending ? (
          <div className="p-4">
            <Skeleton rows={10} />
          </div>
        ) : rows.length > 0 ? (
          <VirtualTable
            label="Instances"
            rows={rows}
            columns={columns}
            keyOf={keyOf}
            hrefOf={({ machine: of, id }) => instanceHref(of, id)}
            nameOf={({ id }) => id}
            picked={picked}
            onPick={onPick}
            onPickAll={onPickAll}
            onEnd={onEnd}
          />
        ) : pages.error === null ? (
          <Empty command={`npx detent instance start ${quoted(machine ?? "MACHINE")} ID`}>
            {Object.values(filter).every((value) => value === undefined)
              ? "No instance was started yet."
              : "No instance matches these filters. This starts one."}
          </Empty>
        ) : null}
      </section>
      <p className="mt-2 text-xs text-muted">
        {countText(rows.length)} shown{pages.hasNextPage ? ", more are read while you scroll" : ""}
      </p>
      {/* After a step back in the browser the list has other instances: the dialog does not apply to them. */}
      {sending?.filter === filter ? <BulkSend {...sending} onClose={() => setSending(undefined)} /> : null}
    </>
  )
}

const commandOf = ({ machine, state, status, search, updatedAfter, updatedBefore }: reads.InstanceFilter): string =>
  [
    "npx detent instance list --order newest",
    ...(machine === undefined ? [] : [`--machine ${quoted(machine)}`]),
    ...(state ?? []).map((one) => `--state ${quoted(one)}`),
    ...(status === undefined ? [] : [`--status ${status}`]),
    ...(search === undefined ? [] : [`--search ${quoted(search)}`]),
    ...rangeOptions(updatedAfter, updatedBefore),
  ].join(" ")
