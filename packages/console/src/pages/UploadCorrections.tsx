/** Correcting failed items in bulk: as a file that is downloaded and sent back, or in a grid. */
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import { fetchText, newKey, pathOf, send } from "../api/Client.ts"
import type { CorrectionReport, UploadStatus } from "../api/types.ts"
import { ActButton, Button } from "../parts/Button.tsx"
import { Modal } from "../parts/Modal.tsx"
import { countText } from "../parts/Moment.tsx"
import { useToast } from "../parts/Toasts.tsx"

/** Sends a file of corrections. */
const sendCorrections = async (batchId: string, file: Blob, name: string): Promise<CorrectionReport> => {
  const form = new FormData()
  form.append("file", file, name)
  const response = await send(pathOf(["uploads", batchId, "corrections"]), {
    method: "POST",
    body: form,
    headers: { "idempotency-key": newKey() },
  })
  return (await response.json()) as CorrectionReport
}

const reportText = ({ corrected, unchanged, refused }: CorrectionReport): string =>
  [
    `${countText(corrected)} corrected`,
    ...(unchanged === 0 ? [] : [`${countText(unchanged)} unchanged`]),
    ...(refused === 0 ? [] : [`${countText(refused)} refused`]),
  ].join(", ")

/** The ways to correct all failed items of an upload. */
export const CorrectionBar = ({ status: { batchId } }: { readonly status: UploadStatus }) => {
  const toast = useToast()
  const queries = useQueryClient()
  const input = useRef<HTMLInputElement>(null)
  const [isBusy, setIsBusy] = useState(false)
  const [isGridOpen, setIsGridOpen] = useState(false)
  const [report, setReport] = useState<CorrectionReport>()
  const correct = async (file: File | undefined) => {
    if (file === undefined) return
    setIsBusy(true)
    try {
      const found = await sendCorrections(batchId, file, file.name)
      toast({ text: `${file.name}: ${reportText(found)}.`, ...(found.refused === 0 ? {} : { tone: "bad" as const }) })
      setReport(found.refused === 0 ? undefined : found)
      await queries.invalidateQueries()
    } catch (reason) {
      toast({ text: reason instanceof Error ? reason.message : String(reason), tone: "bad" })
    } finally {
      setIsBusy(false)
      if (input.current !== null) input.current.value = ""
    }
  }
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <a className="text-accent hover:underline" href={pathOf(["uploads", batchId, "failures"], { format: "csv" })} download>
          Download as CSV
        </a>
        <a className="text-accent hover:underline" href={pathOf(["uploads", batchId, "failures"], { format: "jsonl" })} download>
          as JSON lines
        </a>
        <input ref={input} type="file" hidden aria-label="Corrected file" onChange={({ target }) => void correct(target.files?.[0])} />
        <ActButton icon="upload" isBusy={isBusy} onClick={() => input.current?.click()}>
          Send the corrected file
        </ActButton>
        <Button onClick={() => setIsGridOpen(true)}>Correct in a grid</Button>
      </div>
      {report === undefined ? null : (
        <div role="alert" className="border-b border-line bg-bad-soft px-4 py-2 text-bad">
          <p>{countText(report.refused)} rows were refused; correct them and send the file again:</p>
          <ul className="max-h-40 overflow-auto text-xs">
            {report.refusals.map(({ line, message }) => (
              <li key={line}>
                line {line}: {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      {isGridOpen ? <CorrectionGrid batchId={batchId} onClose={() => setIsGridOpen(false)} /> : null}
    </>
  )
}

/** A failed item, as a line of the file of failures has it. */
interface Failure {
  readonly item: number
  readonly line: number
  readonly reason: string
  readonly problem: string
  readonly content?: Readonly<Record<string, unknown>>
}

/** The rows of a page of the grid. */
const pageRows = 50

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ""
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

type Edits = ReadonlyMap<number, ReadonlyMap<string, string>>

const CorrectionGrid = ({ batchId, onClose }: { readonly batchId: string; readonly onClose: () => void }) => {
  const queries = useQueryClient()
  const [after, setAfter] = useState<number>()
  const [failures, setFailures] = useState<ReadonlyArray<Failure>>()
  const [problem, setProblem] = useState<string>()
  const [edits, setEdits] = useState<Edits>(new Map())
  const [refusals, setRefusals] = useState<ReadonlyMap<number, string>>(new Map())
  const [said, setSaid] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const [version, setVersion] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version reads the page again.
  useEffect(() => {
    const aborting = new AbortController()
    fetchText(pathOf(["uploads", batchId, "failures"], { format: "jsonl", limit: pageRows, after }), aborting.signal).then(
      (text) => {
        const lines = text.split("\n").filter((line) => line !== "")
        setFailures(lines.map((line) => JSON.parse(line) as Failure))
      },
      (reason: unknown) => {
        if (!aborting.signal.aborted) setProblem(reason instanceof Error ? reason.message : String(reason))
      },
    )
    return () => aborting.abort()
  }, [batchId, after, version])

  const columns = [...new Set((failures ?? []).flatMap(({ content = {} }) => Object.keys(content)))]
  const edit = (item: number, column: string, text: string) =>
    setEdits((all) => new Map(all).set(item, new Map(all.get(item)).set(column, text)))

  const save = async () => {
    setIsBusy(true)
    setProblem(undefined)
    setSaid(undefined)
    try {
      const lines = [...edits].map(([item, cells]) => JSON.stringify({ item, cells: Object.fromEntries(cells) }))
      const report = await sendCorrections(batchId, new Blob([lines.join("\n")]), "corrections.jsonl")
      const refused = new Map(report.refusals.flatMap(({ item, message }) => (item === undefined ? [] : [[item, message] as const])))
      setRefusals(refused)
      setEdits((all) => new Map([...all].filter(([item]) => refused.has(item))))
      setSaid(`${reportText(report)}.`)
      setVersion((last) => last + 1)
      await queries.invalidateQueries()
    } catch (reason) {
      // A toast would be behind the dialog.
      setProblem(reason instanceof Error ? reason.message : String(reason))
    } finally {
      setIsBusy(false)
    }
  }

  const last = failures?.at(-1)?.item
  return (
    <Modal
      title="Correct failed items"
      onClose={onClose}
      width="full"
      unsaved={
        edits.size === 0 ? undefined : `${edits.size === 1 ? "1 row has" : `${countText(edits.size)} rows have`} changes that are not sent.`
      }
      footer={
        <div className="flex flex-wrap items-center justify-end gap-2">
          <p role="status" className={`mr-auto ${refusals.size > 0 ? "text-bad" : "text-good"}`}>
            {said}
          </p>
          {after === undefined ? null : (
            <Button onClick={() => setAfter(undefined)} disabled={edits.size > 0}>
              First page
            </Button>
          )}
          <Button
            disabled={edits.size > 0 || failures === undefined || failures.length < pageRows}
            onClick={() => {
              setFailures(undefined)
              setAfter(last)
            }}
          >
            Next page
          </Button>
          <ActButton look="primary" isBusy={isBusy} disabled={edits.size === 0} onClick={() => void save()}>
            Correct {edits.size === 0 ? "" : countText(edits.size)}
          </ActButton>
        </div>
      }
    >
      {problem === undefined ? null : (
        <p role="alert" className="mb-3 rounded-lg bg-bad-soft px-3 py-2 text-bad">
          {problem}
        </p>
      )}
      {failures === undefined ? null : failures.length === 0 ? (
        <p className="text-muted">No more items have failed.</p>
      ) : (
        <div className="max-h-[62dvh] overflow-auto">
          <table className="text-sm" aria-label="Failed items">
            <thead className="sticky top-0 z-20 bg-surface">
              <tr>
                <th scope="col" className="px-2 py-1 text-right">
                  Line
                </th>
                <th scope="col" className="left-0 bg-surface px-2 py-1 text-left sm:sticky">
                  Problem
                </th>
                {columns.map((column) => (
                  <th key={column} scope="col" className="px-2 py-1 text-left">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {failures.map(({ item, line, problem: why, content = {} }) => (
                <FailureRow
                  key={item}
                  line={line}
                  why={why}
                  refusal={refusals.get(item)}
                  columns={columns}
                  content={content}
                  edits={edits.get(item)}
                  onEdit={(column, text) => edit(item, column, text)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Modal>
  )
}

interface FailureRowProps {
  readonly line: number
  readonly why: string
  /** Why its correction was refused. */
  readonly refusal: string | undefined
  readonly columns: ReadonlyArray<string>
  readonly content: Readonly<Record<string, unknown>>
  readonly edits: ReadonlyMap<string, string> | undefined
  readonly onEdit: (column: string, text: string) => void
}

/** The problem stays in view beside the cells, and cells with changes that are not stored are marked. */
const FailureRow = ({ line, why, refusal, columns, content, edits, onEdit }: FailureRowProps) => {
  const isRefused = refusal !== undefined
  return (
    <tr className={`border-t border-line ${isRefused ? "bg-bad-soft" : ""}`}>
      <th scope="row" className="px-2 py-1 text-right font-normal tabular-nums text-muted">
        {line}
      </th>
      <td className={`left-0 z-10 px-2 py-1 text-xs text-bad sm:sticky ${isRefused ? "bg-bad-soft" : "bg-surface"}`}>
        <div className="w-44 break-words sm:w-72">
          {isRefused ? <b>Refused: </b> : null}
          {refusal ?? why}
        </div>
      </td>
      {columns.map((column) => {
        const edited = edits?.get(column)
        return (
          <td key={column} className="p-0.5">
            <input
              className={`field min-w-32 ${edited === undefined ? "" : isRefused ? "border-bad" : "border-accent"}`}
              aria-label={`${column}, line ${line}`}
              aria-invalid={edited !== undefined && isRefused ? true : undefined}
              value={edited ?? textOf(content[column])}
              onChange={({ target }) => onEdit(column, target.value)}
            />
          </td>
        )
      })}
    </tr>
  )
}
