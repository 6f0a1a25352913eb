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
  const toast = useToast()
  const queries = useQueryClient()
  const [after, setAfter] = useState<number>()
  const [failures, setFailures] = useState<ReadonlyArray<Failure>>()
  const [problem, setProblem] = useState<string>()
  const [edits, setEdits] = useState<Edits>(new Map())
  const [refusals, setRefusals] = useState<ReadonlyMap<number, string>>(new Map())
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
    try {
      const lines = [...edits].map(([item, cells]) => JSON.stringify({ item, cells: Object.fromEntries(cells) }))
      const report = await sendCorrections(batchId, new Blob([lines.join("\n")]), "corrections.jsonl")
      const refused = new Map(report.refusals.flatMap(({ item, message }) => (item === undefined ? [] : [[item, message] as const])))
      setRefusals(refused)
      setEdits((all) => new Map([...all].filter(([item]) => refused.has(item))))
      toast({ text: `${reportText(report)}.`, ...(report.refused === 0 ? {} : { tone: "bad" as const }) })
      setVersion((last) => last + 1)
      await queries.invalidateQueries()
    } catch (reason) {
      toast({ text: reason instanceof Error ? reason.message : String(reason), tone: "bad" })
    } finally {
      setIsBusy(false)
    }
  }

  const last = failures?.at(-1)?.item
  return (
    <Modal title="Correct failed items" onClose={onClose} wide>
      {problem === undefined ? null : <p role="alert">{problem}</p>}
      {failures === undefined ? null : failures.length === 0 ? (
        <p className="text-muted">No more items have failed.</p>
      ) : (
        <div className="max-h-[60vh] overflow-auto">
          <table className="text-sm" aria-label="Failed items">
            <thead>
              <tr>
                <th scope="col" className="px-2 py-1 text-left">
                  Line
                </th>
                {columns.map((column) => (
                  <th key={column} scope="col" className="px-2 py-1 text-left">
                    {column}
                  </th>
                ))}
                <th scope="col" className="px-2 py-1 text-left">
                  Problem
                </th>
              </tr>
            </thead>
            <tbody>
              {failures.map(({ item, line, problem: why, content = {} }) => (
                <tr key={item}>
                  <th scope="row" className="px-2 py-1 text-right font-normal tabular-nums text-muted">
                    {line}
                  </th>
                  {columns.map((column) => (
                    <td key={column} className="p-0.5">
                      <input
                        className="field min-w-32"
                        aria-label={`${column}, line ${line}`}
                        value={edits.get(item)?.get(column) ?? textOf(content[column])}
                        onChange={({ target }) => edit(item, column, target.value)}
                      />
                    </td>
                  ))}
                  <td className="min-w-60 px-2 py-1 text-xs text-bad">{refusals.get(item) ?? why}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div className="mt-3 flex justify-end gap-2">
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
    </Modal>
  )
}
