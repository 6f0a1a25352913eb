/** All machines with the number of their instances. */
import * as reads from "../api/reads.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { CopyMenu } from "../parts/Copy.tsx"
import { countText } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead } from "../parts/Panel.tsx"

export const Machines = () => {
  const machines = useRead(reads.machines)
  return (
    <>
      <PageHead title="Machines" actions={<CopyMenu path={reads.machines.path} command="npx detent machine list" />}>
        The definitions that this server runs. A number on a state is how many instances are in it.
      </PageHead>
      <Answer of={machines} rows={8}>
        {({ machines: listed }) => {
          const shown = listed.filter(({ kind }) => kind === "machine")
          if (shown.length === 0)
            return (
              <div className="card">
                <Empty command="npx detent init">No machine is registered yet. This makes a project with one.</Empty>
              </div>
            )
          return (
            <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
              {shown.map(({ name, version, states, events, counts }) => {
                const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
                return (
                  <li key={name} className="card relative grid content-start gap-2 p-4 hover:border-edge">
                    <div className="flex items-baseline justify-between gap-3">
                      <Link
                        href={hrefOf(["machines", name])}
                        className="min-w-0 truncate text-lg font-semibold after:absolute after:inset-0"
                      >
                        {name}
                      </Link>
                      <span className="text-xl font-semibold tabular-nums">{countText(total)}</span>
                    </div>
                    <p className="text-xs text-muted">
                      {version === undefined ? "" : `version ${version} · `}
                      {states.length} states · {events.length} events
                    </p>
                    <p className="flex flex-wrap gap-1.5">
                      {states.slice(0, 12).map((state) => (
                        <span
                          key={state}
                          className={`rounded-md px-1.5 py-0.5 text-xs ${(counts[state] ?? 0) > 0 ? "bg-accent-soft text-accent-strong" : "bg-sunken text-muted"}`}
                        >
                          {state}
                          {(counts[state] ?? 0) > 0 ? <b className="ml-1.5 tabular-nums">{countText(counts[state] ?? 0)}</b> : null}
                        </span>
                      ))}
                      {states.length > 12 ? <span className="text-xs text-muted">and {states.length - 12} more</span> : null}
                    </p>
                  </li>
                )
              })}
            </ul>
          )
        }}
      </Answer>
    </>
  )
}
