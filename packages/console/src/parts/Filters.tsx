/** The controls above a list: chips to choose one or several values, and a text filter that applies while the user types. */
import { useEffect, useId, useState } from "react"
import { countText } from "./Moment.tsx"

export interface Chip {
  readonly value: string
  readonly text?: string
  readonly count?: number | undefined
}

export const Chips = ({
  label,
  chips,
  chosen,
  onChoose,
}: {
  readonly label: string
  readonly chips: ReadonlyArray<Chip>
  readonly chosen: ReadonlyArray<string>
  readonly onChoose: (value: string) => void
}) => (
  <fieldset className="flex min-w-0 flex-wrap gap-1.5">
    <legend className="sr-only">{label}</legend>
    {chips.map(({ value, text = value, count }) => {
      const isChosen = chosen.includes(value)
      return (
        <button
          key={value}
          type="button"
          aria-pressed={isChosen}
          className={`inline-flex min-h-7 items-center gap-1.5 rounded-full border px-2.5 text-xs ${isChosen ? "border-accent bg-accent-soft font-medium text-accent-strong" : "border-line bg-surface text-muted hover:border-edge hover:text-ink"}`}
          onClick={() => onChoose(value)}
        >
          {text}
          {count === undefined ? null : <b className="font-semibold tabular-nums">{countText(count)}</b>}
        </button>
      )
    })}
  </fieldset>
)

/** The pause after typing before the text is applied. */
const typingMillis = 200

export const FilterText = ({
  label,
  value,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) => {
  const id = useId()
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return undefined
    const timer = setTimeout(() => onChange(text), typingMillis)
    return () => clearTimeout(timer)
  }, [text, value, onChange])
  return (
    <span className="relative inline-block w-full sm:w-60">
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <input
        id={id}
        data-filter=""
        type="search"
        className="field"
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </span>
  )
}

export const Choice = ({
  label,
  value,
  options,
  any,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly options: ReadonlyArray<string>
  readonly any: string
  readonly onChange: (value: string) => void
}) => {
  const id = useId()
  return (
    <span className="inline-block max-w-full">
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <select id={id} className="field max-w-56" value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{any}</option>
        {value !== "" && !options.includes(value) ? <option value={value}>{value}</option> : null}
        {options.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </span>
  )
}
