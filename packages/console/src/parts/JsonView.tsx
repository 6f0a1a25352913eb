/** JSON as people read it: fields in rows, and the difference of two values. */
import { useState } from "react"
import type { Json } from "../api/types.ts"
import { Button } from "./Button.tsx"
import { type Change, mostChanges } from "./json.ts"

/** Longer texts are cut until a person asks for all of it. */
const longText = 4000

export const JsonText = ({ value }: { readonly value: Json }) => {
  const [whole, setWhole] = useState(false)
  const text = JSON.stringify(value, null, 2)
  const cut = text.length > longText && !whole
  return (
    <>
      <pre className="overflow-x-auto rounded-md bg-sunken p-2.5 font-mono text-xs leading-relaxed whitespace-pre-wrap break-words">
        {cut ? `${text.slice(0, longText)}…` : text}
      </pre>
      {cut ? (
        <Button look="quiet" onClick={() => setWhole(true)}>
          Show all {Math.round(text.length / 1000)} kB
        </Button>
      ) : null}
    </>
  )
}

const Value = ({ value }: { readonly value: Json }) =>
  typeof value === "object" && value !== null ? (
    <JsonText value={value} />
  ) : (
    <span className={`font-mono text-xs break-words ${typeof value === "string" ? "" : "text-info"}`}>
      {typeof value === "string" ? value : JSON.stringify(value)}
    </span>
  )

/** The fields of a state or event, without its tag. */
export const Fields = ({ of, empty }: { readonly of: Readonly<Record<string, Json>>; readonly empty: string }) => {
  const entries = Object.entries(of).filter(([name]) => name !== "_tag")
  if (entries.length === 0) return <p className="text-muted">{empty}</p>
  return (
    <dl className="grid grid-cols-[minmax(6rem,max-content)_minmax(0,1fr)] gap-x-4 gap-y-1.5">
      {entries.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="max-w-40 truncate text-muted" title={name}>
            {name}
          </dt>
          <dd className="min-w-0">
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

const short = (value: Json | undefined): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 1)
  return text.length > 400 ? `${text.slice(0, 400)}…` : text
}

export const Changes = ({ changes }: { readonly changes: ReadonlyArray<Change> }) => (
  <div className="grid gap-2">
    {changes.map(({ path, before, after }) => (
      <div key={path} className="overflow-hidden rounded-md border border-line font-mono text-xs">
        <p className="bg-sunken px-2.5 py-1 font-sans font-medium text-muted">{path}</p>
        {before === undefined ? null : (
          <p className="bg-bad-soft px-2.5 py-1 break-words whitespace-pre-wrap text-bad">
            <span aria-hidden="true">− </span>
            <span className="sr-only">before: </span>
            {short(before)}
          </p>
        )}
        {after === undefined ? null : (
          <p className="bg-good-soft px-2.5 py-1 break-words whitespace-pre-wrap text-good">
            <span aria-hidden="true">+ </span>
            <span className="sr-only">after: </span>
            {short(after)}
          </p>
        )}
      </div>
    ))}
    {changes.length >= mostChanges ? <p className="text-muted">The first {mostChanges} differences are shown.</p> : null}
  </div>
)
