/** The metrics of this process over the last hour. A selected time range links to the instances that changed in it. */
import { useState } from "react"
import * as reads from "../api/reads.ts"
import { hrefOf, Link, setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge } from "../parts/Badge.tsx"
import { Button } from "../parts/Button.tsx"
import { CopyMenu } from "../parts/Copy.tsx"
import { Chips } from "../parts/Filters.tsx"
import { exactTime } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead } from "../parts/Panel.tsx"
import { metricFormat, metricTitle, Plot } from "../parts/Plot.tsx"

const spans: Readonly<Record<string, number>> = { "5 min": 300_000, "15 min": 900_000, "1 h": 3_600_000 }

/** The selected time range; undefined where the address does not have two valid times. */
const spanOf = (from: string | undefined, until: string | undefined): readonly [number, number] | undefined => {
  const isTime = (text: string | undefined): text is string =>
    text !== undefined && text !== "" && !Number.isNaN(new Date(Number(text)).getTime())
  return isTime(from) && isTime(until) ? [Number(from), Number(until)] : undefined
}

export const System = () => {
  const history = useRead(reads.metricsHistory, { every: 5000 })
  const ready = useRead(reads.ready, { every: 5000 })
  const query = useQueryState()
  const [cursor, setCursor] = useState<number>()
  const shown = query.get("since") ?? "15 min"
  const span = spanOf(query.get("from"), query.get("until"))
  return (
    <>
      <PageHead
        title="System"
        badges={
          ready.data !== undefined ? <Badge tone="good">ready</Badge> : ready.error !== null ? <Badge tone="bad">not ready</Badge> : null
        }
        actions={
          <>
            <Chips
              label="Time shown"
              chips={Object.keys(spans).map((value) => ({ value }))}
              chosen={[shown]}
              onChoose={(value) => setQuery({ since: value })}
            />
            <CopyMenu path={reads.metricsHistory.path} command={`curl -s ${location.origin}/metrics`} />
          </>
        }
      >
        {ready.error === null ? "Metrics of this process. Drag over a plot to select a time range." : ready.error.message}
      </PageHead>
      {span === undefined ? null : (
        <p className="mb-4 flex flex-wrap items-center gap-3 rounded-lg bg-accent-soft px-4 py-2">
          {exactTime(span[0])} to {exactTime(span[1])}
          <Link
            href={hrefOf(["instances"], { since: Math.round(span[0]), until: Math.round(span[1]) })}
            className="font-medium text-accent underline"
          >
            Instances whose last change is in this range
          </Link>
          <Button look="quiet" icon="close" onClick={() => setQuery({ from: undefined, until: undefined })}>
            Clear
          </Button>
        </p>
      )}
      <Answer of={history} rows={8}>
        {({ at, series }) => {
          const last = at.at(-1)
          if (last === undefined) return <Empty>The first values are measured within five seconds.</Empty>
          const from = last - (spans[shown] ?? 900_000)
          const active = series.filter(({ values }) => values.some((value) => value !== null && value !== 0))
          return (
            <div className="grid gap-4 md:grid-cols-2 2xl:grid-cols-3">
              {active.map((one) => (
                <Plot
                  key={one.name}
                  title={metricTitle(one.name)}
                  format={metricFormat(one)}
                  samples={at.flatMap((time, index) => {
                    const value = one.values[index]
                    return time < from || value === null || value === undefined ? [] : [{ at: time, value }]
                  })}
                  from={Math.max(from, at[0] ?? from)}
                  until={last}
                  cursor={cursor}
                  onCursor={setCursor}
                  span={span}
                  onSpan={(next) =>
                    setQuery({
                      from: next === undefined ? undefined : Math.round(next[0]),
                      until: next === undefined ? undefined : Math.round(next[1]),
                    })
                  }
                />
              ))}
            </div>
          )
        }}
      </Answer>
    </>
  )
}
