/** Bulk uploads, and the place to drop the next file. */
import { useRef, useState } from "react"
import * as reads from "../api/reads.ts"
import { useSession } from "../api/SessionContext.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { ActButton } from "../parts/Button.tsx"
import { CopyMenu } from "../parts/Copy.tsx"
import { Ago, countText } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../parts/Panel.tsx"
import { MappingDialog } from "./MappingDialog.tsx"

export const Uploads = () => {
  const uploads = useRead(reads.uploads())
  return (
    <>
      <PageHead title="Uploads" actions={<CopyMenu path={reads.uploads().path} command="npx detent upload list" />}>
        Files of items. Each item is checked and stored by itself.
      </PageHead>
      <div className="grid gap-4">
        <DropFile />
        <Panel title="Files" flush>
          <Answer of={uploads}>
            {({ uploads: found }) =>
              found.length === 0 ? (
                <Empty command="npx detent upload run FILE">No file was uploaded yet.</Empty>
              ) : (
                <ul>
                  {found.map(({ batchId, kind, fileName, createdAt, stored, failed, state, total }) => (
                    <li
                      key={batchId}
                      className="relative grid grid-cols-2 gap-x-4 border-b border-line px-4 py-2.5 last:border-0 hover:bg-hover sm:grid-cols-[minmax(0,2fr)_minmax(0,1.4fr)_11.5rem_6rem_6rem] sm:items-center"
                    >
                      <Link
                        href={hrefOf(["uploads", batchId])}
                        className="col-span-2 truncate font-medium sm:col-span-1 after:absolute after:inset-0"
                      >
                        {fileName}
                      </Link>
                      <span className="col-span-2 truncate text-muted sm:col-span-1">
                        {kind}
                        {state === undefined ? "" : ` · ${state.replaceAll("_", " ")}`}
                      </span>
                      <span className="text-good tabular-nums">
                        {countText(stored)}
                        {total === undefined ? "" : ` of ${countText(total)}`} stored
                      </span>
                      <span className={`text-right tabular-nums sm:text-left ${failed > 0 ? "text-bad" : "text-muted"}`}>
                        {countText(failed)} failed
                      </span>
                      <span className="hidden text-right text-xs text-muted sm:block">
                        <Ago at={createdAt} />
                      </span>
                    </li>
                  ))}
                </ul>
              )
            }
          </Answer>
        </Panel>
        <Kinds />
      </div>
    </>
  )
}

/** The SQL view of each kind, with its columns. */
const Kinds = () => {
  const kinds = useRead(reads.uploadKinds)
  return (
    <Panel title="Kinds of items" flush>
      <Answer of={kinds}>
        {({ kinds: found }) => (
          <ul>
            {found.map(({ name, view, columns }) => (
              <li key={name} className="border-b border-line px-4 py-2 last:border-0">
                <span className="font-medium">{name}</span> <span className="text-muted">in SQL</span> <code>{view}</code>
                {columns.length === 0 ? null : (
                  <p className="truncate text-xs text-muted">{columns.map(({ name: column, type }) => `${column} ${type}`).join(", ")}</p>
                )}
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  )
}

/** A file that is chosen here is shown before it is uploaded. */
export const DropFile = () => {
  const kinds = useRead(reads.uploadKinds)
  const { mayNot } = useSession()
  const input = useRef<HTMLInputElement>(null)
  const [isOver, setIsOver] = useState(false)
  const [file, setFile] = useState<File>()
  const [kind, setKind] = useState<string>()
  const [existing, setExisting] = useState<"update" | "skip">("update")
  const choose = (chosen: File | undefined) => {
    if (mayNot === undefined) setFile(chosen)
    // The same file can be chosen again.
    if (input.current !== null) input.current.value = ""
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same with the keyboard.
    <div
      className={`flex flex-wrap items-center justify-center gap-3 rounded-xl border-2 border-dashed px-4 py-5 ${isOver ? "border-accent bg-accent-soft" : "border-edge"}`}
      onDragOver={(event) => {
        event.preventDefault()
        setIsOver(true)
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setIsOver(false)
        choose(event.dataTransfer.files[0])
      }}
    >
      <p className="text-muted">Drop a CSV, TSV, XLSX, JSON or JSON Lines file here, plain or packed, or</p>
      <input ref={input} type="file" hidden aria-label="File" onChange={({ target }) => choose(target.files?.[0])} />
      <ActButton icon="upload" onClick={() => input.current?.click()}>
        Choose a file
      </ActButton>
      <label className="flex items-center gap-2 text-muted">
        stored items
        <select
          className="field w-auto"
          value={existing}
          onChange={({ target }) => setExisting(target.value === "skip" ? "skip" : "update")}
        >
          <option value="update">are updated</option>
          <option value="skip">are kept</option>
        </select>
      </label>
      {(kinds.data?.kinds.length ?? 0) > 1 ? (
        <label className="flex items-center gap-2 text-muted">
          as
          <select
            className="field w-auto"
            value={kind ?? ""}
            onChange={({ target }) => setKind(target.value === "" ? undefined : target.value)}
          >
            {kinds.data?.kinds.map(({ name, isDefault }) => (
              <option key={name} value={isDefault ? "" : name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      {file === undefined ? null : (
        <MappingDialog file={file} kinds={kinds.data?.kinds ?? []} kind={kind} existing={existing} onClose={() => setFile(undefined)} />
      )}
    </div>
  )
}
