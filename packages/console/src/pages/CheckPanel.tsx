/** What the server's code makes of the stored instances of a machine, and how those that have ended would have ended under it. */
import { useState } from "react"
import { clockSkew } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { MachineReport } from "../api/types.ts"
import { instanceHref } from "../browser/addresses.ts"
import { Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge } from "../parts/Badge.tsx"
import { ActButton } from "../parts/Button.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { FlowPicture } from "../parts/FlowPicture.tsx"
import { countText } from "../parts/Moment.tsx"
import { Answer, Panel } from "../parts/Panel.tsx"

const day = 24 * 3_600_000

/** Which instances are judged. */
const selections: Readonly<
  Record<string, (now: number) => { readonly ended?: boolean; readonly since?: number; readonly whatIf?: boolean }>
> = {
  "those that have not ended": () => ({}),
  "also those that ended in the last 30 days": (now) => ({ since: now - 30 * day }),
  "all of them": () => ({ ended: true }),
  "what if: how would the last 30 days have ended?": (now) => ({ whatIf: true, since: now - 30 * day }),
  "what if: how would all have ended?": () => ({ whatIf: true }),
}

export const CheckPanel = ({ machine }: { readonly machine: string }) => {
  const [chosen, setChosen] = useState(Object.keys(selections)[0] ?? "")
  /** Fixed when the check begins, so that its address stays the same. */
  const [query, setQuery] = useState<ReturnType<NonNullable<(typeof selections)[string]>>>()
  const report = useRead(query === undefined ? undefined : reads.machineCheck(machine, query), { fixed: true })
  return (
    <div className="min-w-0 xl:col-span-2">
      <Panel
        title="Check"
        aside={<CopyMenu path={reads.machineCheck(machine, query ?? {}).path} command={`npx detent machine check ${quoted(machine)}`} />}
      >
        <div className="flex flex-wrap items-center gap-3">
          <label htmlFor="check-selection">Replay with the code of this server</label>
          <select
            id="check-selection"
            className="field w-auto min-w-0 max-w-full"
            value={chosen}
            onChange={({ target }) => setChosen(target.value)}
          >
            {Object.keys(selections).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <ActButton
            isBusy={report.isFetching}
            onClick={() => {
              const now = Math.floor((Date.now() + clockSkew()) / 60_000) * 60_000
              setQuery(selections[chosen]?.(now) ?? {})
            }}
          >
            Check
          </ActButton>
          <span className="text-muted">Nothing is changed.</span>
        </div>
        {query === undefined ? null : (
          <Answer of={report} rows={3}>
            {({ reports: [found] }) => (found === undefined ? null : <Report report={found} />)}
          </Answer>
        )}
      </Panel>
    </div>
  )
}

const said = { differs: "differ", held: "would be held", unseen: "were in a state that decides otherwise" } as const

const Report = ({ report }: { readonly report: MachineReport }) => {
  const { machine, checked, same, differs, held, reasons, picture } = report
  return (
    <div className="mt-3 grid gap-3">
      <p className="flex flex-wrap items-center gap-2" role="status">
        {countText(checked)} checked
        <Badge tone="good">{countText(same)} the same</Badge>
        {differs === 0 ? null : <Badge tone="warn">{countText(differs)} differ</Badge>}
        {held === 0 ? null : <Badge tone="bad">{countText(held)} would be held</Badge>}
      </p>
      {reasons.length === 0 ? null : (
        <ul className="grid gap-1">
          {reasons.slice(0, 20).map(({ verdict, event, from, summary, count, example }) => (
            <li key={`${verdict} ${event} ${from} ${summary}`}>
              <span className="tabular-nums">{countText(count)}</span> {said[verdict]}
              {event === undefined ? "" : ` at ${event} in ${from}`}: {summary}; such as{" "}
              <Link href={instanceHref(machine, example)} className="text-accent hover:underline">
                {example}
              </Link>
            </li>
          ))}
        </ul>
      )}
      {picture === undefined || picture.bands.length === 0 ? null : <FlowPicture layout={picture} />}
    </div>
  )
}
