/** A chosen file before its upload: which columns become which fields, what the first rows would be, and why some would fail. */
import { useEffect, useId, useRef, useState } from "react"
import { newKey, pathOf, Refused, send } from "../api/Client.ts"
import type { FieldRule, Mapping, UploadKind, UploadPlan, UploadPreview, UploadStatus } from "../api/types.ts"
import { hrefOf, Link, navigate } from "../browser/Router.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { Chips } from "../parts/Filters.tsx"
import { Modal } from "../parts/Modal.tsx"
import { countText } from "../parts/Moment.tsx"
import { Skeleton } from "../parts/Panel.tsx"

/** As much of a text is sent for its first rows. The parts of a sheet are not in the order of its rows. */
const previewBytes = 1_000_000

/** The time without another change, in milliseconds, before a preview is asked for. */
const quietMillis = 250

interface Given {
  readonly encoding?: string
  readonly delimiter?: string
  readonly header?: string
  readonly sheet?: string
}

interface Shown {
  readonly preview: UploadPreview | undefined
  readonly problem: string | undefined
  readonly isLoading: boolean
}

/** The preview of a file by a mapping; the last one stays while the next one is on its way. */
const usePreview = (
  file: File,
  kind: string | undefined,
  mapping: Mapping | undefined,
  given: Given,
  locale: string | undefined,
): Shown => {
  const [shown, setShown] = useState<Shown>({ preview: undefined, problem: undefined, isLoading: true })
  useEffect(() => {
    const controller = new AbortController()
    setShown((earlier) => ({ ...earlier, isLoading: true }))
    const load = async () => {
      const isPart = file.size > previewBytes && !/\.xlsx$/i.test(file.name)
      const form = new FormData()
      if (mapping !== undefined) form.append("mapping", JSON.stringify(mapping))
      form.append("file", isPart ? file.slice(0, previewBytes) : file, file.name)
      const path = pathOf(["uploads", "preview"], { kind, locale, isPart: isPart ? "true" : undefined, ...given })
      try {
        const response = await send(path, { method: "POST", body: form, signal: controller.signal })
        const preview = (await response.json()) as UploadPreview
        setShown({ preview, problem: undefined, isLoading: false })
      } catch (reason) {
        if (controller.signal.aborted) return
        const problem = reason instanceof Error ? reason.message : String(reason)
        setShown((earlier) => ({ ...earlier, problem, isLoading: false }))
      }
    }
    const timer = setTimeout(() => void load(), quietMillis)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [file, kind, mapping, given, locale])
  return shown
}

export const MappingDialog = ({
  file,
  kinds,
  kind: firstKind,
  existing,
  onClose,
}: {
  readonly file: File
  readonly kinds: ReadonlyArray<UploadKind>
  readonly kind: string | undefined
  /** What becomes of items whose id is stored already. */
  readonly existing: "update" | "skip"
  readonly onClose: () => void
}) => {
  const [kind, setKind] = useState(firstKind)
  /** Undefined until the user changes what the server proposes. */
  const [edited, setEdited] = useState<Mapping>()
  const [given, setGiven] = useState<Given>({})
  const [locale, setLocale] = useState<string>()
  const [isKept, setIsKept] = useState(false)
  const [busyWith, setBusyWith] = useState<"count" | "upload">()
  const [plan, setPlan] = useState<UploadPlan>()
  /** Why the last count or upload was refused. It stands in the dialog, since a toast would be behind it. */
  const [refusal, setRefusal] = useState<unknown>()
  const { preview, problem, isLoading } = usePreview(file, kind, edited, given, locale)
  const mapping = edited ?? preview?.mapping
  const edit = (next: Mapping | undefined) => {
    setPlan(undefined)
    setRefusal(undefined)
    setEdited(next)
  }
  const change = (next: Given) => {
    edit(undefined)
    setGiven((earlier) => ({ ...earlier, ...next }))
  }
  const isUnreadable = preview === undefined || problem !== undefined || isLoading || preview.problems.length > 0
  /** Every row lacks a field that no column is read into. */
  const isHopeless =
    preview !== undefined && preview.missing.length > 0 && preview.rows.length > 0 && preview.failing === preview.rows.length

  const act = async (kindOfAct: "count" | "upload", run: (form: FormData) => Promise<void>) => {
    if (mapping === undefined) return
    setBusyWith(kindOfAct)
    setRefusal(undefined)
    setPlan(undefined)
    try {
      const form = new FormData()
      form.append("mapping", mapping.fields.length === 0 && mapping.others !== "drop" ? "none" : JSON.stringify(mapping))
      form.append("file", file)
      await run(form)
    } catch (reason) {
      setRefusal(reason)
    } finally {
      setBusyWith(undefined)
    }
  }

  const count = () =>
    act("count", async (form) => {
      const response = await send(pathOf(["upload-plans"], { kind, existing, ...given }), { method: "POST", body: form })
      setPlan((await response.json()) as UploadPlan)
    })

  const upload = (force?: "true") =>
    act("upload", async (form) => {
      if (isKept && preview !== undefined) {
        const path = pathOf(["upload-kinds", preview.kind, "mapping"])
        const headers = { "content-type": "application/json", "idempotency-key": newKey() }
        await send(path, { method: "PUT", headers, body: JSON.stringify(mapping) })
      }
      const path = pathOf(["uploads"], { kind, existing, force, ...given })
      const response = await send(path, { method: "POST", body: form, headers: { "idempotency-key": newKey() } })
      const { batchId } = (await response.json()) as UploadStatus
      onClose()
      navigate(hrefOf(["uploads", batchId]))
    })

  const footer = (
    <div className="grid gap-3">
      {plan === undefined ? null : <Plan plan={plan} />}
      {refusal === undefined ? null : (
        <Refusal
          refusal={refusal}
          fileName={file.name}
          isBusy={busyWith === "upload"}
          onForce={() => void upload("true")}
          onOpen={onClose}
        />
      )}
      <div className="flex flex-wrap items-center justify-end gap-3">
        {preview === undefined ? null : (
          <label className="mr-auto flex items-center gap-2">
            <input type="checkbox" className="size-4 accent-accent" checked={isKept} onChange={({ target }) => setIsKept(target.checked)} />
            Keep this mapping for {preview.kind}
          </label>
        )}
        <Button onClick={onClose}>Cancel</Button>
        <ActButton
          isBusy={busyWith === "count"}
          disabled={isUnreadable || busyWith !== undefined}
          title="Reads the whole file and stores nothing"
          onClick={() => void count()}
        >
          Only count
        </ActButton>
        <ActButton
          look="primary"
          icon="upload"
          isBusy={busyWith === "upload"}
          disabled={isUnreadable || isHopeless || busyWith !== undefined}
          title={isHopeless ? `Every row would fail: no column for ${preview.missing.join(", ")}` : undefined}
          onClick={() => void upload()}
        >
          Upload
        </ActButton>
      </div>
    </div>
  )

  return (
    <Modal title={file.name} onClose={onClose} width="full" footer={footer}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <div className="flex flex-wrap items-end gap-3">
          {kinds.length > 1 ? (
            <Choice
              label="Kind"
              value={kind ?? ""}
              options={kinds.map(({ name, isDefault }) => ({ value: isDefault ? "" : name, text: name }))}
              onChange={(value) => {
                edit(undefined)
                setKind(value === "" ? undefined : value)
              }}
            />
          ) : null}
          {preview === undefined ? null : <Format preview={preview} onChange={change} />}
          {mapping === undefined ? null : (
            <LocaleInput
              value={mapping.locale ?? locale ?? ""}
              onChange={(value) => {
                const found = value === "" ? undefined : value
                if (edited === undefined && preview?.source === "proposed") return setLocale(found)
                const { locale: _, ...others } = mapping
                edit(found === undefined ? others : { ...others, locale: found })
              }}
            />
          )}
        </div>
        {problem === undefined ? null : (
          <p role="alert" className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
            {problem}
          </p>
        )}
        {preview === undefined || mapping === undefined ? (
          problem === undefined ? (
            <Skeleton />
          ) : null
        ) : (
          <>
            <Fields preview={preview} mapping={mapping} onChange={edit} />
            <Notes preview={preview} />
            <Rows preview={preview} isLoading={isLoading} />
          </>
        )}
      </div>
    </Modal>
  )
}

/** What a dry run counted. */
const Plan = ({ plan: { format, insert, update, skip, fail, errors } }: { readonly plan: UploadPlan }) => (
  <div role="status">
    <p>
      The whole file ({format}) would insert <b>{countText(insert)}</b>, update <b>{countText(update)}</b>, skip <b>{countText(skip)}</b>{" "}
      and refuse <b className={fail > 0 ? "text-bad" : ""}>{countText(fail)}</b>. Nothing is stored.
    </p>
    <ul className="text-xs text-muted">
      {errors.map(({ reason, count, example }) => (
        <li key={reason}>
          {countText(count)} {reason}
          {example === undefined ? "" : `, such as ${example}`}
        </li>
      ))}
    </ul>
  </div>
)

interface RefusalProps {
  readonly refusal: unknown
  readonly fileName: string
  readonly isBusy: boolean
  readonly onForce: () => void
  readonly onOpen: () => void
}

/** A file that was uploaded before can be uploaded again, or its upload opened. */
const Refusal = ({ refusal, fileName, isBusy, onForce, onOpen }: RefusalProps) => {
  const earlier = refusal instanceof Refused && refusal.kind === "AlreadyUploaded" ? refusal.batchId : undefined
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 rounded-lg bg-bad-soft px-3 py-2">
      {earlier === undefined ? (
        <p className="min-w-0 break-words text-bad">{refusal instanceof Error ? refusal.message : String(refusal)}</p>
      ) : (
        <>
          <p className="mr-auto min-w-0 break-words text-bad">{fileName} was uploaded before, with the same content.</p>
          <Link href={hrefOf(["uploads", earlier])} className="font-medium text-accent underline" onClick={onOpen}>
            Open that upload
          </Link>
          <ActButton isBusy={isBusy} onClick={onForce}>
            Upload it again
          </ActButton>
        </>
      )}
    </div>
  )
}

interface Option {
  readonly value: string
  readonly text: string
}

const Choice = ({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly options: ReadonlyArray<Option>
  readonly onChange: (value: string) => void
}) => (
  <label className="grid gap-1">
    <span className="label">{label}</span>
    <select className="field w-auto" value={value} onChange={({ target }) => onChange(target.value)}>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </select>
  </label>
)

const encodings = ["utf-8", "utf-16le", "utf-16be", "latin-1", "windows-1252"]
const delimiters: ReadonlyArray<Option> = [
  { value: ",", text: "comma" },
  { value: ";", text: "semicolon" },
  { value: "\t", text: "tab" },
  { value: "|", text: "bar" },
]

/** The format that was found, which can be given instead. */
const Format = ({ preview: { table }, onChange }: { readonly preview: UploadPreview; readonly onChange: (given: Given) => void }) => {
  const isText = table.format === "csv" || table.format === "tsv"
  const known = delimiters.some(({ value }) => value === table.delimiter)
  return (
    <>
      {table.format === "xlsx" ? null : (
        <Choice
          label="Encoding"
          value={table.encoding}
          options={encodings.map((value) => ({ value, text: value.toUpperCase() }))}
          onChange={(encoding) => onChange({ encoding })}
        />
      )}
      {isText && table.delimiter !== undefined ? (
        <Choice
          label="Between cells"
          value={table.delimiter}
          options={known ? delimiters : [...delimiters, { value: table.delimiter, text: table.delimiter }]}
          onChange={(delimiter) => onChange({ delimiter })}
        />
      ) : null}
      {table.header === undefined ? null : (
        <Choice
          label="First row"
          value={String(table.header)}
          options={[
            { value: "true", text: "names of columns" },
            { value: "false", text: "values" },
          ]}
          onChange={(header) => onChange({ header })}
        />
      )}
      {table.sheets === undefined || table.sheet === undefined ? null : (
        <Choice
          label="Sheet"
          value={table.sheet}
          options={table.sheets.map((value) => ({ value, text: value }))}
          onChange={(sheet) => onChange({ sheet })}
        />
      )}
    </>
  )
}

const locales = ["de-DE", "de-CH", "en-GB", "en-US", "es-ES", "fr-FR", "it-IT", "nl-NL", "pl-PL", "pt-BR", "sv-SE"]

const isLocale = (text: string): boolean => {
  try {
    return Intl.getCanonicalLocales(text).length > 0
  } catch {
    return false
  }
}

/** Takes effect as soon as the text is a locale. */
const LocaleInput = ({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) => {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(value)
  const isValid = text.trim() === "" || isLocale(text.trim())
  useEffect(() => {
    // A preview that arrives while the user types has an earlier locale.
    if (document.activeElement !== input.current) setText(value)
  }, [value])
  return (
    <label className="grid gap-1">
      <span className="label">Locale of numbers and dates</span>
      <input
        ref={input}
        className="field w-44"
        list={id}
        value={text}
        placeholder="en-US"
        aria-invalid={isValid ? undefined : true}
        onChange={({ target }) => {
          const next = target.value.trim()
          setText(target.value)
          if (next === "" || isLocale(next)) onChange(next)
        }}
        onBlur={() => {
          if (text.trim() === "") setText(value)
        }}
      />
      {isValid ? null : <span className="text-xs text-bad">No locale; write one such as de-DE</span>}
      <datalist id={id}>
        {locales.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  )
}

// Rules

/** How a field is read, as one choice: a type, a lookup or a constant. */
const readings: ReadonlyArray<Option> = [
  { value: "", text: "as it is" },
  { value: "text", text: "text" },
  { value: "number", text: "number" },
  { value: "amount", text: "amount of money" },
  { value: "currency", text: "currency" },
  { value: "boolean", text: "yes or no" },
  { value: "date", text: "date" },
  { value: "date-time", text: "date and time" },
  { value: "list", text: "list" },
  { value: "json", text: "JSON" },
  { value: "lookup", text: "looked up" },
]

const constant = "\u0000constant"

const Fields = ({
  preview,
  mapping,
  onChange,
}: {
  readonly preview: UploadPreview
  readonly mapping: Mapping
  readonly onChange: (mapping: Mapping) => void
}) => {
  const { fields, columns } = preview
  const rules = new Map(mapping.fields.map((rule) => [rule.field, rule]))
  // Where any field is accepted, the columns are the fields.
  const known = fields ?? columns.map((path) => ({ path, type: "any" as const, isRequired: false }))
  const others = mapping.fields.filter(({ field }) => !known.some(({ path }) => path === field))
  const shown = [...known, ...others.map(({ field }) => ({ path: field, type: "any" as const, isRequired: false }))]
  const set = (field: string, rule: FieldRule | undefined) => {
    const rest = mapping.fields.filter((one) => one.field !== field)
    onChange({ ...mapping, fields: rule === undefined ? rest : [...rest, rule] })
  }
  return (
    <table className="w-full max-w-4xl table-fixed text-left" aria-label="Fields">
      <thead>
        <tr className="label border-b border-line">
          <th className="py-1.5 pr-3 font-medium">Field</th>
          <th className="py-1.5 pr-3 font-medium">Column</th>
          <th className="py-1.5 font-medium">Read as</th>
        </tr>
      </thead>
      <tbody>
        {shown.map(({ path, isRequired }) => (
          <FieldRow
            key={path}
            path={path}
            isRequired={isRequired}
            isMissing={preview.missing.includes(path)}
            columns={columns}
            rule={rules.get(path)}
            onChange={(rule) => set(path, rule)}
          />
        ))}
      </tbody>
    </table>
  )
}

const FieldRow = ({
  path,
  isRequired,
  isMissing,
  columns,
  rule,
  onChange,
}: {
  readonly path: string
  readonly isRequired: boolean
  readonly isMissing: boolean
  readonly columns: ReadonlyArray<string>
  readonly rule: FieldRule | undefined
  readonly onChange: (rule: FieldRule | undefined) => void
}) => {
  const isConstant = rule?.value !== undefined
  const reading = rule?.lookup === undefined ? (rule?.as ?? "") : "lookup"
  const implied = columns.includes(path) ? `${path} (the same name)` : "none"
  const chooseColumn = (column: string) => {
    if (column === "") return onChange(undefined)
    if (column === constant) return onChange({ field: path, value: "" })
    const { value: _, ...kept } = rule ?? { field: path }
    onChange({ ...kept, field: path, column })
  }
  const chooseReading = (value: string) => {
    const { as: _, lookup: __, ...kept } = rule ?? { field: path, column: path }
    if (value === "") return onChange(kept)
    onChange(value === "lookup" ? { ...kept, lookup: {} } : { ...kept, as: value as NonNullable<FieldRule["as"]> })
  }
  return (
    <tr className="border-b border-line align-top last:border-0">
      <th scope="row" className="py-1.5 pr-3 font-medium break-all">
        {path}
        {isRequired ? (
          <span className={isMissing ? "text-bad" : "text-muted"} title="required">
            {" *"}
          </span>
        ) : null}
      </th>
      <td className="py-1 pr-3">
        <select
          className="field"
          aria-label={`Column of ${path}`}
          value={isConstant ? constant : (rule?.column ?? "")}
          onChange={({ target }) => chooseColumn(target.value)}
        >
          <option value="">{implied}</option>
          {columns.map((column) => (
            <option key={column} value={column}>
              {column}
            </option>
          ))}
          <option value={constant}>the same for all rows…</option>
        </select>
      </td>
      <td className="py-1">
        {isConstant ? (
          <input
            className="field"
            aria-label={`Value of ${path}`}
            value={typeof rule?.value === "string" ? rule.value : JSON.stringify(rule?.value)}
            onChange={({ target }) => onChange({ field: path, value: target.value })}
          />
        ) : rule === undefined ? null : (
          <>
            <select
              className="field"
              aria-label={`How ${path} is read`}
              value={reading}
              onChange={({ target }) => chooseReading(target.value)}
            >
              {readings.map(({ value, text }) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
            {rule.lookup === undefined ? null : (
              <LookupInput path={path} lookup={rule.lookup} onChange={(lookup) => onChange({ ...rule, lookup })} />
            )}
          </>
        )}
      </td>
    </tr>
  )
}

type Lookup = NonNullable<FieldRule["lookup"]>

/** A lookup as lines such as `neu = new`. */
const LookupInput = ({
  path,
  lookup,
  onChange,
}: {
  readonly path: string
  readonly lookup: Lookup
  readonly onChange: (lookup: Lookup) => void
}) => {
  const id = useId()
  const [text, setText] = useState(() =>
    Object.entries(lookup)
      .map(([from, to]) => `${from} = ${typeof to === "string" ? to : JSON.stringify(to)}`)
      .join("\n"),
  )
  const first = useRef(lookup)
  const incomplete = text.split("\n").flatMap((line, at) => (line.trim() === "" || line.includes("=") ? [] : [at + 1]))
  const change = (next: string) => {
    setText(next)
    const entries = next.split("\n").flatMap((line) => {
      const at = line.indexOf("=")
      return at < 0 ? [] : [[line.slice(0, at).trim(), line.slice(at + 1).trim()] as const]
    })
    // A value that is no text keeps its type as long as its text is the same.
    const typed = new Map(Object.entries(first.current).map(([from, to]) => [from, to]))
    onChange(
      Object.fromEntries(
        entries.map(([from, to]) => {
          const earlier = typed.get(from)
          return [from, earlier !== undefined && typeof earlier !== "string" && JSON.stringify(earlier) === to ? earlier : to]
        }),
      ),
    )
  }
  return (
    <>
      <textarea
        className="field mt-1 font-mono text-xs"
        aria-label={`Lookup of ${path}`}
        aria-describedby={id}
        aria-invalid={incomplete.length > 0 ? true : undefined}
        rows={Math.min(8, text.split("\n").length + 1)}
        placeholder={"neu = new\ngebraucht = used"}
        value={text}
        onChange={({ target }) => change(target.value)}
      />
      <p id={id} role="status" className="text-xs text-muted">
        {incomplete.length === 0 ? (
          "One a line: text in the file = value"
        ) : (
          <span className="text-bad">
            {incomplete.length === 1 ? "Line" : "Lines"} {incomplete.join(", ")} without =, not used. Write: text in the file = value
          </span>
        )}
      </p>
    </>
  )
}

// Preview

const sources: Readonly<Record<UploadPreview["source"], string>> = {
  given: "Changed by you.",
  kept: "Kept for this kind.",
  definition: "From the definition of this kind.",
  proposed: "Proposed by the names and values of the columns.",
  none: "Each column is the field of its name.",
}

const Notes = ({ preview: { source, problems, unused, missing, notes } }: { readonly preview: UploadPreview }) => (
  <div className="grid gap-1">
    <p className="text-muted">{sources[source]}</p>
    {problems.map((text) => (
      <p key={text} role="alert" className="text-bad">
        {text}
      </p>
    ))}
    {missing.length === 0 ? null : (
      <p className="text-bad">No column for {missing.join(", ")}, which every item needs. Choose one above.</p>
    )}
    {unused.length === 0 ? null : <p className="text-muted">Not read: {unused.join(", ")}</p>}
    {notes.map((text) => (
      <p key={text} className="text-warn">
        {text}
      </p>
    ))}
  </div>
)

type Row = UploadPreview["rows"][number]

const textOf = (value: unknown): string =>
  value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value)

const valuesOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {}

const Rows = ({ preview, isLoading }: { readonly preview: UploadPreview; readonly isLoading: boolean }) => {
  const { rows, failing, columns } = preview
  const [view, setView] = useState("items")
  const shown = view === "failing" ? rows.filter(({ problem }) => problem !== undefined) : rows
  const names = view === "items" ? [...new Set(rows.flatMap(({ item }) => Object.keys(valuesOf(item))))] : columns
  return (
    <section aria-busy={isLoading}>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <p role="status" className={failing === 0 ? "text-good" : "text-warn"}>
          {failing === 0
            ? `All of the first ${countText(rows.length)} rows can be stored.`
            : `${countText(failing)} of the first ${countText(rows.length)} rows would fail.`}
        </p>
        <Chips
          label="Show"
          chips={[{ value: "items" }, { value: "file" }, { value: "failing", count: failing }]}
          chosen={[view]}
          onChoose={setView}
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls. */}
      <section tabIndex={0} aria-label="First rows" className="max-h-72 overflow-auto rounded-lg border border-line">
        <table className="w-full text-left text-xs">
          <thead className="sticky top-0 bg-surface">
            <tr className="border-b border-line">
              <th className="px-2 py-1 font-medium">Line</th>
              {names.map((name) => (
                <th key={name} className="px-2 py-1 font-medium whitespace-nowrap">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <PreviewedRow key={row.index} row={row} names={names} isItem={view === "items"} />
            ))}
          </tbody>
        </table>
      </section>
    </section>
  )
}

const PreviewedRow = ({ row, names, isItem }: { readonly row: Row; readonly names: ReadonlyArray<string>; readonly isItem: boolean }) => {
  const { line, problem } = row
  const values = valuesOf(isItem ? row.item : row.cells)
  return (
    <>
      {isItem && problem !== undefined ? null : (
        <tr className={`border-b border-line ${problem === undefined ? "" : "bg-bad-soft"}`}>
          <td className="px-2 py-1 tabular-nums text-muted">{line}</td>
          {names.map((name) => (
            <td key={name} className="max-w-52 truncate px-2 py-1" title={textOf(values[name])}>
              {textOf(values[name])}
            </td>
          ))}
        </tr>
      )}
      {problem === undefined ? null : (
        <tr className="border-b border-line bg-bad-soft text-bad">
          <td className="px-2 py-1 tabular-nums">{isItem ? line : ""}</td>
          <td className="px-2 py-1" colSpan={Math.max(1, names.length)}>
            {problem.message}
          </td>
        </tr>
      )}
    </>
  )
}
