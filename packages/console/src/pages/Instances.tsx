/** Instances, newest change first, by machine, state, status and the beginning of an id. */
import { useCallback, useMemo, useState } from "react"
import * as reads from "../api/reads.ts"
import type { InstanceListing, MachineListing } from "../api/types.ts"
import { instanceHref } from "../browser/addresses.ts"
import { setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
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

type Index = NonNullable<MachineListing["indexes"]>[number]

const fieldColumn = ({ name, kind }: Index): Column<InstanceListing> => ({
  title: name,
  width: "minmax(5rem,1.2fr)",
  cell: ({ fields }) => {
    const value = fields?.[name]
    if (value === undefined) return null
    return kind === "instant" ? <Ago at={Number(value)} /> : String(value)
  },
})

const labelColumn: Column<InstanceListing> = {
  title: "Labels",
  width: "minmax(5rem,1.4fr)",
  cell: ({ labels = {} }) =>
    Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(" "),
}

/** The name of the column of labels in the address of the page. */
const labelsName = "label."

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
  const where = query.get("where")
  const order = query.get("order")
  const shown = query.getAll("column")
  const shownKey = shown.join("\n")
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
  const address = useCallback((after?: string | number) => reads.instances({ ...filter, where, order }, after), [filter, where, order])
  const { rows, fresh, pages, onEnd, showFresh } = useRows({ address, rowsOf, keyOf })
  const listed = machines.data?.machines.find(({ name }) => name === machine)
  const indexes = listed?.indexes
  const shownColumns = useMemo(() => {
    const names = shownKey.split("\n")
    const ofFields = (indexes ?? []).filter(({ name }) => names.includes(name)).map(fieldColumn)
    return [...columns.slice(0, 1), ...ofFields, ...(names.includes(labelsName) ? [labelColumn] : []), ...columns.slice(1)]
  }, [indexes, shownKey])
  const filling = pages.data?.pages.at(-1)?.filling
  const onWhere = useCallback((text: string) => setQuery({ where: text === "" ? undefined : text }), [])
  const toggleColumn = (name: string) => setQuery({ column: shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name] })
  const toggle = (value: string) => setQuery({ state: states.includes(value) ? states.filter((one) => one !== value) : [...states, value] })
  const onSearch = useCallback((text: string) => setQuery({ q: text }), [])
  const { picked, pickedRows, onPick, onPickAll } = usePicks(filter, rows, keyOf)
  // The counts of states are exact; for other conditions the dialog counts.
  const isCounted = listed !== undefined && [status, search, since, until, where].every((one) => one === undefined)
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
            <CopyMenu path={address().path} command={commandOf({ ...filter, where, order })} />
            <ActButton
              icon="send"
              disabled={machine === undefined || (where !== undefined && pickedIds.length === 0)}
              title={
                machine === undefined
                  ? "Choose a machine first."
                  : where !== undefined && pickedIds.length === 0
                    ? "Select the instances: an event cannot be sent to all that fit conditions on fields."
                    : undefined
              }
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
          onChange={(value) => setQuery({ machine: value, state: undefined, where: undefined, order: undefined, column: undefined })}
        />
        <Chips
          label="Status"
          chips={statuses.map((value) => ({ value }))}
          chosen={status === undefined ? [] : [status]}
          onChoose={(value) => setQuery({ status: value === status ? undefined : value })}
        />
        <TimeRange what="changed" />
      </div>
      {machine === undefined || listed?.kind !== "machine" ? null : (
        <div className="mb-3 flex flex-wrap items-center gap-2">
          <FilterText
            label={indexes === undefined ? "Labels, as in label.incident=42" : `Fields, as in ${exampleOf(indexes)}`}
            value={where ?? ""}
            onChange={onWhere}
          />
          {indexes === undefined ? null : (
            <Choice
              label="Order"
              value={order ?? ""}
              any={where === undefined ? "Newest change first" : "By id"}
              options={indexes.flatMap(({ name }) => [`${name}:asc`, `${name}:desc`])}
              onChange={(value) => setQuery({ order: value })}
            />
          )}
          <Chips
            label="Columns"
            chips={[...(indexes ?? []).map(({ name }) => ({ value: name })), { value: labelsName, text: "labels" }]}
            chosen={shown}
            onChoose={toggleColumn}
          />
          {filling === undefined ? null : (
            <span role="status" className="text-xs text-muted">
              The indexes are being filled, {countText(filling.filled)} instances so far: some may be missing.
            </span>
          )}
        </div>
      )}
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
            columns={shownColumns}
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
            {where === undefined && Object.values(filter).every((value) => value === undefined)
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

/** A condition that the machine's indexes allow. */
const exampleOf = (indexes: ReadonlyArray<Index>): string =>
  indexes
    .slice(0, 2)
    .map(
      ({ name, kind }) => `${name}${kind === "text" ? "=ada" : kind === "boolean" ? "=true" : kind === "number" ? ">100" : ">2026-01-31"}`,
    )
    .join(", ")

const commandOf = ({
  machine,
  state,
  status,
  search,
  updatedAfter,
  updatedBefore,
  where,
  order = where === undefined ? "newest" : undefined,
}: reads.InstanceFilter & reads.FieldFilter): string =>
  [
    "npx detent instance list",
    ...(order === undefined ? [] : [`--order ${quoted(order)}`]),
    ...(where === undefined ? [] : [`--where ${quoted(where)}`]),
    ...(machine === undefined ? [] : [`--machine ${quoted(machine)}`]),
    ...(state ?? []).map((one) => `--state ${quoted(one)}`),
    ...(status === undefined ? [] : [`--status ${status}`]),
    ...(search === undefined ? [] : [`--search ${quoted(search)}`]),
    ...rangeOptions(updatedAfter, updatedBefore),
  ].join(" ")
