/** A line plot over time. All plots of a page share the time under the pointer and the selected time range. */
import { type PointerEvent, useRef } from "react"
import type { Series } from "../api/types.ts"
import { bytesText, countText, exactTime } from "./Moment.tsx"

export interface Sample {
  readonly at: number
  readonly value: number
}

interface PlotProps {
  readonly title: string
  readonly samples: ReadonlyArray<Sample>
  readonly format: (value: number) => string
  readonly from: number
  readonly until: number
  readonly cursor: number | undefined
  readonly onCursor: (at: number | undefined) => void
  readonly span?: readonly [number, number] | undefined
  readonly onSpan?: (span: readonly [number, number] | undefined) => void
}

/** Matches the names of metrics whose values are milliseconds. */
const millis = /_(?:ms|millis|milliseconds)$/

export const metricTitle = (name: string): string =>
  name
    .replace(/^detent_/, "")
    .replace(/_total$/, "")
    .replace(millis, "_time")
    .replaceAll("_", " ")

/** The formatter of a metric's values, by its name and kind. */
export const metricFormat = ({ name, kind }: Series): ((value: number) => string) => {
  if (name.endsWith("_bytes")) return bytesText
  if (millis.test(name)) return (value) => (value < 1000 ? `${value.toFixed(1)} ms` : `${(value / 1000).toFixed(1)} s`)
  if (kind === "rate") return (value) => `${value < 10 ? value.toFixed(1) : countText(Math.round(value))} /s`
  return (value) => (Number.isInteger(value) ? countText(value) : value.toFixed(2))
}

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" })
const exactClock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" })

/** In a range that is shorter than this, times have seconds. */
const exactMillis = 10 * 60_000

/** The next value of 1, 2, 4, 10, 20, 40 and so on: the top of an axis, whose half is a round number too. */
export const axisTop = (most: number): number => {
  const power = 10 ** Math.floor(Math.log10(most))
  return (([1, 2, 4].find((step) => step * power >= most * (1 - 1e-9)) ?? 10) * power) as number
}

/** The parts of the time axis between its labels. */
const timeParts = 2

const width = 600
const height = 120

/** The points of the line. A single value becomes a short line, because a point would be invisible. */
const pointsOf = (places: ReadonlyArray<readonly [number, number]>): string => {
  const [first] = places
  const line = places.length === 1 && first !== undefined ? [[Math.max(0, first[0] - 8), first[1]] as const, first] : places
  return line.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")
}

export const Plot = ({ title, samples, format, from, until, cursor, onCursor, span, onSpan }: PlotProps) => {
  const begun = useRef<number>(undefined)
  const most = Math.max(1e-9, ...samples.map(({ value }) => value))
  const x = (at: number) => ((at - from) / Math.max(1, until - from)) * width
  const top = axisTop(most)
  const clockText = (at: number): string => (until - from < exactMillis ? exactClock : clock).format(at)
  const y = (value: number) => height - 1 - (value / top) * (height - 2)
  const near = cursor === undefined ? samples.at(-1) : samples.findLast(({ at }) => at <= cursor)
  const timeOf = (event: PointerEvent<SVGSVGElement>) => {
    const { left, width: shown } = event.currentTarget.getBoundingClientRect()
    return from + ((event.clientX - left) / shown) * (until - from)
  }
  return (
    <figure className="card p-4">
      <figcaption className="mb-2 flex items-baseline justify-between gap-3">
        <span className="text-sm font-semibold">{title}</span>
        <span className="text-lg font-semibold whitespace-nowrap tabular-nums">{near === undefined ? "no data" : format(near.value)}</span>
      </figcaption>
      <div className="grid grid-cols-[3.5rem_minmax(0,1fr)] gap-x-2">
        <p aria-hidden="true" className="flex h-28 flex-col justify-between text-right text-xs leading-none text-muted tabular-nums">
          {[top, top / 2, 0].map((value) => (
            // The middle has no label where the format rounds it to another value.
            <span key={value} className="whitespace-nowrap">
              {value === top / 2 && format(value) === format(top) ? "" : format(value)}
            </span>
          ))}
        </p>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          className="block h-28 w-full touch-none"
          role="img"
          aria-label={`${title}: ${near === undefined ? "no data" : `${format(near.value)} at ${exactTime(near.at)}, at most ${format(most)}`}`}
          onPointerDown={(event) => {
            begun.current = timeOf(event)
            event.currentTarget.setPointerCapture(event.pointerId)
          }}
          onPointerMove={(event) => {
            const at = timeOf(event)
            onCursor(at)
            if (begun.current !== undefined && Math.abs(at - begun.current) > (until - from) / 100)
              onSpan?.([Math.min(begun.current, at), Math.max(begun.current, at)])
          }}
          onPointerUp={() => {
            begun.current = undefined
          }}
          onPointerLeave={() => onCursor(undefined)}
          onDoubleClick={() => onSpan?.(undefined)}
        >
          {[top, top / 2, 0].map((value) => (
            <path key={value} d={`M0 ${y(value)}H${width}`} className="stroke-line" vectorEffect="non-scaling-stroke" />
          ))}
          {span === undefined ? null : (
            <rect x={x(span[0])} y="0" width={Math.max(1, x(span[1]) - x(span[0]))} height={height} className="fill-accent-soft" />
          )}
          <polyline
            points={pointsOf(samples.map(({ at, value }) => [x(at), y(value)]))}
            fill="none"
            strokeWidth="1.75"
            vectorEffect="non-scaling-stroke"
            className="stroke-accent"
          />
          {cursor === undefined ? null : (
            <path d={`M${x(cursor)} 0V${height}`} className="stroke-muted" vectorEffect="non-scaling-stroke" strokeDasharray="3 3" />
          )}
        </svg>
      </div>
      <p aria-hidden="true" className="mt-1.5 ml-18 flex justify-between text-xs text-muted tabular-nums">
        {cursor !== undefined && near !== undefined ? (
          <span>{clockText(near.at)}</span>
        ) : (
          Array.from({ length: timeParts + 1 }, (_, part) => from + ((until - from) * part) / timeParts).map((at) => (
            <span key={at}>{clockText(at)}</span>
          ))
        )}
      </p>
    </figure>
  )
}
