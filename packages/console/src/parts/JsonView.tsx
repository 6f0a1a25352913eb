/** Readable JSON: fields in rows, and the difference of two values. */
import { useMemo, useState } from "react"
import type { Json } from "../api/types.ts"
import { Button } from "./Button.tsx"
import { type Change, mostChanges } from "./json.ts"

/** Longer texts are cut until the user asks for the whole. */
const longText = 4000

const cutText = (text: string): string => (text.length > longText ? `${text.slice(0, longText)}…` : text)

const ShowAll = ({ length, onShow }: { readonly length: number; readonly onShow: () => void }) => (
  <Button look="quiet" onClick={onShow}>
    Show all {Math.round(length / 1000)} kB
  </Button>
)

export const JsonText = ({ value }: { readonly value: Json }) => {
  const [whole, setWhole] = useState(false)
  const text = useMemo(() => JSON.stringify(value, null, 2), [value])
  return (
    <>
      <pre className="max-h-[60dvh] overflow-auto rounded-md bg-sunken p-2.5 font-mono text-xs leading-relaxed whitespace-pre-wrap break-words">
        {whole ? text : cutText(text)}
      </pre>
      {text.length > longText && !whole ? <ShowAll length={text.length} onShow={() => setWhole(true)} /> : null}
    </>
  )
}

const StringText = ({ value }: { readonly value: string }) => {
  const [whole, setWhole] = useState(false)
  return (
    <>
      <span className="font-mono text-xs break-words">{whole ? value : cutText(value)}</span>
      {value.length > longText && !whole ? <ShowAll length={value.length} onShow={() => setWhole(true)} /> : null}
    </>
  )
}

const Value = ({ value }: { readonly value: Json }) =>
  typeof value === "object" && value !== null ? (
    <JsonText value={value} />
  ) : typeof value === "string" ? (
    <StringText value={value} />
  ) : (
    <span className="font-mono text-xs text-info">{JSON.stringify(value)}</span>
  )

/** At most this many fields are shown until the user asks for all. */
const manyFields = 60

/** The fields of a state or event, without its tag. */
export const Fields = ({ of, empty }: { readonly of: Readonly<Record<string, Json>>; readonly empty: string }) => {
  const [all, setAll] = useState(false)
  const entries = Object.entries(of).filter(([name]) => name !== "_tag")
  if (entries.length === 0) return <p className="text-muted">{empty}</p>
  return (
    <>
      <dl className="grid grid-cols-[minmax(6rem,max-content)_minmax(0,1fr)] gap-x-4 gap-y-1.5">
        {(all ? entries : entries.slice(0, manyFields)).map(([name, value]) => (
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
      {entries.length > manyFields && !all ? (
        <Button look="quiet" onClick={() => setAll(true)}>
          Show all {entries.length} fields
        </Button>
      ) : null}
    </>
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
