/** The events of an instance on a timeline. Idle times are collapsed. */
import { Fragment, useEffect, useRef } from "react"
import type { HistoryEntry } from "../../api/types.ts"
import { durationText, exactTime } from "../../parts/Moment.tsx"
import { eventName } from "./Step.tsx"

/** A pause is marked if it is longer than this, and longer than this many times the median pause. */
const pauseMillis = 60_000
const pauseFactor = 10

interface TimelineProps {
  readonly entries: ReadonlyArray<HistoryEntry>
  readonly at: number
  readonly startedAt: number
  readonly onStep: (step: number) => void
}

export const Timeline = ({ entries, at, startedAt, onStep }: TimelineProps) => {
  const line = useRef<HTMLDivElement>(null)
  const first = entries[0]
  const isThere = at === 0 || entries.some(({ sequence }) => sequence === at)
  // Scrolls the timeline only, not the page.
  useEffect(() => {
    const step = isThere ? line.current?.querySelector<HTMLElement>(`[data-step="${at}"]`) : undefined
    if (step && line.current !== null) line.current.scrollLeft = step.offsetLeft - (line.current.clientWidth - step.offsetWidth) / 2
  }, [at, isThere])
  const steps = [
    ...(first === undefined || first.sequence === 1 ? [{ step: 0, at: startedAt, text: "started" }] : []),
    ...entries.map((entry) => ({
      step: entry.sequence,
      at: entry.at,
      text: `${eventName(entry.event)}, ${entry.from} → ${entry.state._tag}`,
    })),
  ]
  const shown = steps.find(({ step }) => step === at)
  const pauses = steps.map((step, index) => (index === 0 ? 0 : step.at - (steps[index - 1]?.at ?? step.at)))
  const usual = pauses.toSorted((one, other) => one - other)[Math.floor(pauses.length / 2)] ?? 0
  const isLong = (pause: number) => pause > pauseMillis && pause > usual * pauseFactor
  return (
    <nav aria-label="Steps" className="card mt-4 px-3 py-2">
      <p className="flex flex-wrap justify-between gap-x-4 text-xs text-muted">
        <span>
          <b className="font-semibold text-ink">Steps</b> {shown === undefined ? "" : `${shown.step} · ${shown.text}`}
        </span>
        {pauses.some(isLong) ? <span>A framed time is a pause between two steps.</span> : null}
      </p>
      <div ref={line} className="relative flex items-center overflow-x-auto py-2">
        {steps.map(({ step, at: time, text }, index) => {
          const pause = pauses[index] ?? 0
          return (
            <Fragment key={step}>
              {index === 0 ? null : isLong(pause) ? (
                <span className="mx-1 shrink-0 rounded-full border border-dashed border-edge px-2 text-xs whitespace-nowrap text-muted">
                  {durationText(pause)}
                </span>
              ) : (
                <span aria-hidden="true" className={`h-0.5 w-3 shrink-0 ${step <= at ? "bg-accent" : "bg-edge"}`} />
              )}
              <button
                type="button"
                data-step={step}
                aria-current={step === at ? "step" : undefined}
                aria-label={`Step ${step}: ${text}`}
                title={`${step} · ${text} · ${exactTime(time)}`}
                className="grid size-6 shrink-0 place-items-center rounded-full hover:bg-hover"
                onClick={() => onStep(step)}
              >
                <span
                  className={`rounded-full ${step === at ? "size-3.5 bg-accent ring-4 ring-accent-soft" : step < at ? "size-2.5 bg-accent" : "size-2.5 border-2 border-edge bg-surface"}`}
                />
              </button>
            </Fragment>
          )
        })}
      </div>
    </nav>
  )
}
