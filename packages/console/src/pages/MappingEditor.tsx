/** The mapping of tables and objects to facts, as YAML to edit, with the facts that it gives for the first records. */
import type { MappingPreview } from "../api/types.ts"
import { countText } from "../parts/Moment.tsx"

interface MappingEditorProps {
  readonly text: string
  /** Of the text as it was when it was last looked at. */
  readonly preview: MappingPreview
  readonly onChange: (text: string) => void
}

export const MappingEditor = ({ text, preview: { source, problems, notes, tables }, onChange }: MappingEditorProps) => (
  <div className="grid gap-2">
    <label htmlFor="mapping" className="label">
      Mapping of tables to facts{source === "proposed" ? ", proposed by the names and values of columns" : ""}
    </label>
    <textarea
      id="mapping"
      className="field font-mono text-xs"
      rows={12}
      spellCheck={false}
      value={text}
      onChange={({ target }) => onChange(target.value)}
    />
    {problems.length === 0 ? null : (
      <ul role="alert" className="text-bad">
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    )}
    {notes.length === 0 ? null : (
      <ul className="text-warn" aria-label="To check">
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    )}
    <ul className="grid max-h-64 gap-2 overflow-auto" aria-label="What the mapping gives">
      {tables.map((table) => (
        <li
          key={`${table.file} ${table.table ?? ""} ${table.columns.map(({ column }) => column).join(" ")}`}
          className="rounded-lg bg-sunken px-3 py-2"
        >
          <p>
            <b>{table.table === undefined ? table.file : `${table.file}, ${table.table}`}</b> {countText(table.facts)} facts in{" "}
            {countText(table.records)} records
          </p>
          <ul className="text-xs">
            {table.samples.slice(0, 4).map(({ subject, property, object, quote }) => (
              <li key={`${subject} ${property} ${quote}`} title={quote}>
                {subject} <span className="text-muted">{property}</span> {object}
              </li>
            ))}
          </ul>
          {table.misfits.count === 0 ? null : (
            <p className="text-xs text-warn">
              {countText(table.misfits.count)} values or rows cannot be read:{" "}
              {table.misfits.examples.map((example) => `“${example}”`).join(", ")}
            </p>
          )}
          {table.notRead === undefined ? null : (
            <p className="text-xs text-muted">
              No rule reads {table.notRead.columns.map(({ column, count }) => `${column} (${countText(count)})`).join(", ")}.
            </p>
          )}
        </li>
      ))}
    </ul>
  </div>
)
