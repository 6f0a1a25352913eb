/** One upload: how many items are stored, why others failed, and a form that corrects one. */
import { useCallback, useState } from "react"
import { write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { Json, UploadItem, UploadItemHistory, UploadStatus } from "../api/types.ts"
import { setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge, toneOf } from "../parts/Badge.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { Confirm } from "../parts/Confirm.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { Chips } from "../parts/Filters.tsx"
import { JsonText } from "../parts/JsonView.tsx"
import { Modal } from "../parts/Modal.tsx"
import { countText, durationText, useNow } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel, ProblemNote, Skeleton } from "../parts/Panel.tsx"
import { JsonInput } from "../parts/SchemaForm.tsx"
import { useAct } from "../parts/useAct.ts"
import { useRows } from "../parts/useRows.ts"
import { type Column, useIsWide, VirtualTable } from "../parts/VirtualTable.tsx"
import { Progress } from "./Batches.tsx"
import { CorrectionBar } from "./UploadCorrections.tsx"
import { DropFile } from "./Uploads.tsx"

export const UploadPage = ({ names: [batchId = ""] }: { readonly names: ReadonlyArray<string> }) => {
  const upload = useRead(reads.upload(batchId))
  return (
    <Answer
      of={upload}
      rows={8}
      missing={
        <>
          <PageHead title={batchId} crumbs={[{ text: "Uploads", href: "/uploads" }]} />
          <div className="card">
            <Empty command="npx detent upload list">There is no upload {batchId} here.</Empty>
          </div>
        </>
      }
    >
      {(status) => <Loaded status={status} />}
    </Answer>
  )
}

const Loaded = ({ status }: { readonly status: UploadStatus }) => {
  const {
    batchId,
    fileName,
    state,
    step,
    isResting,
    items,
    itemsPerSecond,
    estimatedCompletionAt,
    canRetry,
    canRetryItems,
    problem,
    failure,
    kind,
    format,
  } = status
  const { act, isBusy } = useAct()
  const [isCancelling, setIsCancelling] = useState(false)
  const now = useNow()
  const share = (count: number) => (items.total === 0 ? 0 : (100 * count) / items.total)
  return (
    <>
      <PageHead
        title={fileName}
        crumbs={[{ text: "Uploads", href: "/uploads" }]}
        badges={
          <Badge tone={isResting ? (items.failed > 0 || failure !== undefined ? "warn" : "good") : "info"}>
            {(step ?? state).replaceAll("_", " ")}
          </Badge>
        }
        actions={
          <>
            <CopyMenu path={reads.upload(batchId).path} command={`npx detent upload show ${quoted(batchId)}`} />
            {isResting ? null : (
              <ActButton look="danger" isBusy={isBusy} onClick={() => setIsCancelling(true)}>
                Cancel…
              </ActButton>
            )}
            {canRetry || canRetryItems ? (
              <ActButton
                look="primary"
                isBusy={isBusy}
                onClick={() =>
                  void act<UploadStatus>(write("POST", ["uploads", batchId, "retry"]), () => ({
                    text: items.failed === 1 ? "Retrying 1 item." : `Retrying ${countText(items.failed)} items.`,
                  }))
                }
              >
                Retry {items.failed > 0 ? countText(items.failed) : ""}
              </ActButton>
            ) : null}
          </>
        }
      >
        {kind} · {batchId}
        {format === undefined ? null : ` · ${format}`}
      </PageHead>
      {problem === undefined && failure === undefined ? null : (
        <p role="alert" className="mb-4 rounded-lg bg-bad-soft px-4 py-2.5 text-bad">
          {failure?.message ?? problem}
        </p>
      )}
      <Panel className="mb-4">
        <div className="grid gap-3">
          <Progress percent={share(items.stored)} tone={isResting ? "good" : "info"} failed={share(items.failed)} />
          <p className="flex flex-wrap gap-x-5 gap-y-1">
            <span>
              <b className="tabular-nums">{countText(items.total)}</b> {items.total === 1 ? "item" : "items"}
            </span>
            <span className="text-good">
              <b className="tabular-nums">{countText(items.stored)}</b> stored
            </span>
            <span className={items.failed > 0 ? "text-bad" : "text-muted"}>
              <b className="tabular-nums">{countText(items.failed)}</b> failed
            </span>
            {items.waiting > 0 ? (
              <span className="text-muted">
                <b className="tabular-nums">{countText(items.waiting)}</b> waiting
              </span>
            ) : null}
            {itemsPerSecond === undefined || isResting ? null : (
              <span className="text-muted">{countText(Math.round(itemsPerSecond))} a second</span>
            )}
            {estimatedCompletionAt === undefined || isResting ? null : (
              <span className="text-muted">ready in {durationText(Math.max(0, estimatedCompletionAt - now))}</span>
            )}
          </p>
        </div>
      </Panel>
      <Items status={status} />
      <div className="mt-4">
        <DropFile />
      </div>
      {isCancelling ? (
        <Confirm
          title="Cancel the upload?"
          action="Cancel the upload"
          isDangerous
          onClose={() => setIsCancelling(false)}
          onConfirm={() =>
            void act<UploadStatus>(
              write("POST", ["uploads", batchId, "cancel"], undefined, { reason: "cancelled in the console" }),
              () => ({ text: "The upload is cancelled." }),
            )
          }
        >
          <p className="text-muted">Items that are already stored are kept.</p>
        </Confirm>
      ) : null}
    </>
  )
}

const keyOf = ({ index }: UploadItem) => String(index)
const rowsOf = ({ items }: { readonly items: ReadonlyArray<UploadItem> }) => items

const columns: ReadonlyArray<Column<UploadItem>> = [
  { title: "Line", width: "4.5rem", cell: ({ line }) => countText(line) },
  { title: "Item", width: "minmax(5rem,1fr)", cell: (item) => <ItemName item={item} /> },
  { title: "State", width: "6.5rem", cell: (item) => <ItemState item={item} /> },
  {
    title: "Problem",
    width: "minmax(7rem,3fr)",
    cell: ({ problem }) => (problem === undefined ? "" : <span title={problem.message}>{problem.message}</span>),
    wideOnly: true,
  },
  { title: "Tries", width: "3.5rem", cell: ({ attempts }) => attempts, wideOnly: true, right: true },
]

/** The id; on a narrow window, with the problem below, for which there is no column. */
const ItemName = ({ item: { id, problem } }: { readonly item: UploadItem }) => (
  <>
    {id ?? "no id"}
    {problem === undefined ? null : (
      <span className="block truncate text-xs text-bad sm:hidden" title={problem.message}>
        {problem.message}
      </span>
    )}
  </>
)

/** An item that was corrected waits for a retry. */
const ItemState = ({ item: { state, correctedAt } }: { readonly item: UploadItem }) =>
  correctedAt === undefined ? <Badge tone={toneOf(state)}>{state}</Badge> : <Badge tone="info">corrected</Badge>

const Items = ({ status }: { readonly status: UploadStatus }) => {
  const { batchId, items, errors } = status
  const query = useQueryState()
  const state = query.get("state") ?? (items.failed > 0 ? "failed" : undefined)
  const reason = query.get("reason")
  const opened = query.get("item")
  const address = useCallback((after?: string | number) => reads.uploadItems(batchId, { state, reason }, after), [batchId, state, reason])
  const isWide = useIsWide()
  const { rows, pages, onEnd } = useRows({ address, rowsOf, keyOf })
  return (
    <Panel
      title="Items"
      flush
      aside={
        <Chips
          label="State"
          chips={[{ value: "all" }, { value: "failed", count: items.failed }, { value: "stored", count: items.stored }]}
          chosen={[state ?? "all"]}
          onChoose={(value) => setQuery({ state: value, reason: undefined })}
        />
      }
    >
      {errors.length === 0 ? null : (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-2">
          <Chips
            label="Reason"
            chips={errors.map(({ reason: value, count }) => ({ value, count }))}
            chosen={reason === undefined ? [] : [reason]}
            onChoose={(value) => setQuery({ state: "failed", reason: value === reason ? undefined : value })}
          />
          <p className="text-xs text-muted">
            Open an item to correct it, then retry. Without a correction, a retry reads the same item again.
          </p>
        </div>
      )}
      {items.failed === 0 ? null : <CorrectionBar status={status} />}
      {pages.error !== null && rows.length === 0 ? <ProblemNote problem={pages.error} onRetry={() => void pages.refetch()} /> : null}
      {pages.isPending ? (
        <div className="p-4">
          <Skeleton />
        </div>
      ) : rows.length === 0 ? (
        <p className="px-4 py-3 text-muted">No item matches these filters.</p>
      ) : (
        <VirtualTable
          key={isWide ? "wide" : "narrow"}
          label="Items"
          rows={rows.filter(({ problem }) => reason === undefined || problem?.reason === reason)}
          columns={columns}
          keyOf={keyOf}
          hrefOf={({ index }) => {
            const search = new URLSearchParams(location.search)
            search.set("item", String(index))
            return `${location.pathname}?${search}`
          }}
          isCurrent={({ index }) => String(index) === opened}
          onEnd={onEnd}
          rowHeight={isWide ? 36 : 52}
          height="26rem"
        />
      )}
      {opened === undefined ? null : <ItemDialog batchId={batchId} index={Number(opened)} onClose={() => setQuery({ item: undefined })} />}
    </Panel>
  )
}

const ItemDialog = ({ batchId, index, onClose }: { readonly batchId: string; readonly index: number; readonly onClose: () => void }) => {
  const item = useRead(reads.uploadItem(batchId, index))
  return (
    <Modal title={item.data === undefined ? "Item" : `Line ${countText(item.data.line)}`} onClose={onClose} width="wide">
      <Answer of={item}>{(found) => <ItemDetails batchId={batchId} item={found} onClose={onClose} />}</Answer>
    </Modal>
  )
}

/** Parses the source of an item; undefined where it is not JSON. The form then starts empty, beside the text. */
const parsed = (source: string | undefined): Json | undefined => {
  if (source === undefined) return undefined
  try {
    return JSON.parse(source) as Json
  } catch {
    return undefined
  }
}

const ItemDetails = ({
  batchId,
  item,
  onClose,
}: {
  readonly batchId: string
  readonly item: UploadItemHistory
  readonly onClose: () => void
}) => {
  const { act, isBusy } = useAct()
  const [content, setContent] = useState<Json>(() => parsed(item.source) ?? {})
  const correct = async () => {
    const answer = await act(write("PUT", ["uploads", batchId, "items", String(item.index)], content), () => ({
      text: `Line ${item.line} is corrected. A retry stores it.`,
    }))
    if (answer !== undefined) onClose()
  }
  return (
    <div className="grid gap-4">
      <p className="flex flex-wrap items-center gap-2">
        <ItemState item={item} />
        {item.correctedAt === undefined ? null : <span className="text-muted">A retry stores it.</span>}
        <span className="text-muted">
          {item.attempts} {item.attempts === 1 ? "attempt" : "attempts"}
        </span>
      </p>
      {item.problem === undefined ? null : (
        <p className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
          <b>{item.problem.reason}</b>: {item.problem.message}
        </p>
      )}
      <ol className="grid gap-1 text-xs text-muted">
        {[...Map.groupBy(item.history, ({ attempt }) => attempt)].map(([attempt, steps]) => (
          <li key={attempt}>
            attempt {attempt}: {steps.map(({ state }) => state).join(" → ")}
          </li>
        ))}
      </ol>
      {item.source === undefined ? (
        <p className="text-muted">The source was not stored: it is too large, or it is not text.</p>
      ) : item.state === "failed" && parsed(item.source) !== undefined ? null : (
        <section>
          <h3 className="label mb-1.5">Source</h3>
          <JsonText value={parsed(item.source) ?? item.source} />
        </section>
      )}
      {item.state === "failed" ? (
        <form
          className="grid gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            void correct()
          }}
        >
          <label htmlFor="item-content" className="label">
            The corrected item, as JSON
          </label>
          <JsonInput id="item-content" value={content} onChange={setContent} />
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <ActButton type="submit" look="primary" isBusy={isBusy}>
              Correct
            </ActButton>
          </div>
        </form>
      ) : null}
    </div>
  )
}
