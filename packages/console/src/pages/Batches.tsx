/** Batches of documents: the progress and the result of each. */

import { useState } from "react"
import { batchStates } from "../api/batchStates.ts"
import { write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { BatchListing, BatchStatus, MappingPreview } from "../api/types.ts"
import { hrefOf, Link, navigate, setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge, type Tone } from "../parts/Badge.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { CopyMenu } from "../parts/Copy.tsx"
import { Chips } from "../parts/Filters.tsx"
import { Modal } from "../parts/Modal.tsx"
import { Ago, countText } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead } from "../parts/Panel.tsx"
import { useAct } from "../parts/useAct.ts"
import { MappingEditor } from "./MappingEditor.tsx"

export const batchTone = (state: string): Tone =>
  state === "Completed" ? "good" : state === "Failed" ? "bad" : state === "PartiallyCompleted" || state === "Cancelled" ? "warn" : "info"

export const Batches = () => {
  const query = useQueryState()
  const state = query.get("state")
  const [starting, setStarting] = useState(false)
  const batches = useRead(reads.batches({ state }))
  return (
    <>
      <PageHead
        title="Batches"
        actions={
          <>
            <CopyMenu
              path={reads.batches({ state }).path}
              command={`npx detent batch list${state === undefined ? "" : ` --state ${state}`}`}
            />
            <ActButton look="primary" icon="play" onClick={() => setStarting(true)}>
              Start a batch
            </ActButton>
          </>
        }
      >
        Documents become a validated knowledge graph.
      </PageHead>
      <div className="mb-3">
        <Chips
          label="State"
          chips={batchStates.map((value) => ({ value }))}
          chosen={state === undefined ? [] : [state]}
          onChoose={(value) => setQuery({ state: value === state ? undefined : value })}
        />
      </div>
      <Answer of={batches} rows={8}>
        {({ batches: found }) =>
          found.length === 0 ? (
            <div className="card">
              <Empty command="npx detent batch run FOLDER">
                {state === undefined
                  ? "No batch was started yet. This starts one with the documents of a folder."
                  : `No batch is ${state}.`}
              </Empty>
            </div>
          ) : (
            <ul className="grid gap-3 lg:grid-cols-2">
              {found.map((batch) => (
                <BatchCard key={batch.batchId} batch={batch} />
              ))}
            </ul>
          )
        }
      </Answer>
      {starting ? <StartBatch onClose={() => setStarting(false)} /> : null}
    </>
  )
}

const BatchCard = ({ batch: { batchId, state, startedAt, updatedAt, progress: found } }: { readonly batch: BatchListing }) => {
  return (
    <li className="card relative grid gap-2 p-4 hover:border-edge">
      <div className="flex items-center gap-3">
        <Link href={hrefOf(["batches", batchId])} className="min-w-0 flex-1 truncate text-lg font-semibold after:absolute after:inset-0">
          {found?.namespace ?? batchId}
        </Link>
        <Badge tone={batchTone(state)}>{state}</Badge>
      </div>
      <Progress percent={found?.percent ?? 0} tone={batchTone(state)} />
      <p className="flex flex-wrap justify-between gap-x-4 text-xs text-muted">
        <span>
          {found === undefined
            ? ""
            : `${batchId} · ${countText(found.documents.completed)} of ${countText(found.documents.total)} documents · ${countText(found.relations)} facts`}
        </span>
        <span>
          started <Ago at={startedAt} /> · changed <Ago at={updatedAt} />
        </span>
      </p>
    </li>
  )
}

interface ProgressProps {
  readonly percent: number
  readonly tone: Tone
  /** In percent, after the completed part. */
  readonly failed?: number
}

export const Progress = ({ percent, tone, failed = 0 }: ProgressProps) => {
  const colour = { good: "bg-good", bad: "bg-bad", warn: "bg-warn", info: "bg-accent", plain: "bg-edge" }[tone]
  return (
    <div
      role="progressbar"
      aria-label="Progress"
      aria-valuenow={Math.round(percent + failed)}
      aria-valuemin={0}
      aria-valuemax={100}
      className="flex h-2 overflow-hidden rounded-full bg-sunken"
    >
      <div className={`h-full transition-[width] duration-300 ${colour}`} style={{ width: `${percent}%` }} />
      {failed > 0 ? <div className="h-full bg-bad" style={{ width: `${failed}%`, minWidth: 4 }} /> : null}
    </div>
  )
}

const StartBatch = ({ onClose }: { readonly onClose: () => void }) => {
  const { act, isBusy } = useAct()
  const [uri, setUri] = useState("")
  const [preview, setPreview] = useState<MappingPreview>()
  const [mappingText, setMappingText] = useState<string>()
  const request = { manifestUri: uri, ...(mappingText === undefined ? {} : { mappingText }) }
  const map = async () => {
    const shown = await act<MappingPreview>(write("POST", ["batch", "mapping"], request), () => ({ text: "Read the first records." }))
    if (shown === undefined) return
    setPreview(shown.answer)
    setMappingText((text) => text ?? shown.answer.text)
  }
  const start = async () => {
    const started = await act<BatchStatus>(write("POST", ["batch"], request), ({ batchId }) => ({
      text: `Started ${batchId}.`,
      href: hrefOf(["batches", batchId]),
    }))
    if (started === undefined) return
    onClose()
    navigate(hrefOf(["batches", started.answer.batchId]))
  }
  return (
    <Modal title="Start a batch" onClose={onClose}>
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          void start()
        }}
      >
        <p className="text-muted">The manifest and its documents must be in a folder that the server may read.</p>
        <div className="grid gap-1">
          <label htmlFor="manifest" className="label">
            Address of the manifest
          </label>
          <input
            id="manifest"
            className="field"
            required
            placeholder="file:///data/letters/manifest.json"
            value={uri}
            onChange={({ target }) => {
              setUri(target.value)
              setPreview(undefined)
              setMappingText(undefined)
            }}
          />
        </div>
        {mappingText === undefined || preview === undefined ? null : (
          <MappingEditor text={mappingText} preview={preview} onChange={setMappingText} />
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <ActButton isBusy={isBusy} onClick={() => void map()}>
            {mappingText === undefined ? "Map tables" : "Look again"}
          </ActButton>
          <ActButton type="submit" look="primary" isBusy={isBusy}>
            Start
          </ActButton>
        </div>
      </form>
    </Modal>
  )
}
