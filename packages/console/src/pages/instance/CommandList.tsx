/** The commands that an instance has requested, latest first. */
import { useState } from "react"
import * as reads from "../../api/reads.ts"
import { hrefOf, Link, setQuery } from "../../browser/Router.tsx"
import { useRead } from "../../live/useRead.ts"
import { Badge, toneOf } from "../../parts/Badge.tsx"
import { Button } from "../../parts/Button.tsx"
import { Ago } from "../../parts/Moment.tsx"
import { Answer, Panel } from "../../parts/Panel.tsx"

/** How many commands are shown at first and added each time, and how many at most: the list of all commands has the rest. */
const step = 50
const most = 1000

export const CommandList = ({ machine, id }: { readonly machine: string; readonly id: string }) => {
  const [limit, setLimit] = useState(step)
  const commands = useRead(reads.commandsOf(machine, id, { limit }), { keep: true })
  return (
    <Panel
      title="Commands"
      flush
      aside={
        <Link href={hrefOf(["commands"], { machine, id })} className="text-accent hover:underline">
          Open the list
        </Link>
      }
    >
      <Answer of={commands} rows={2}>
        {({ commands: requested, next }) =>
          requested.length === 0 ? (
            <p className="px-4 py-3 text-muted">The instance has requested no effect.</p>
          ) : (
            <ul className="max-h-80 overflow-auto">
              {requested.toReversed().map(({ key, slot, status, attempts, problem, sequence, enqueuedAt, finishedAt }) => (
                <li key={key} className="grid gap-0.5 border-b border-line px-4 py-2 last:border-0">
                  <span className="flex items-center gap-2">
                    <b className="min-w-0 truncate font-medium">{slot}</b>
                    <Badge tone={toneOf(status)}>{status}</Badge>
                    {attempts > 1 ? <span className="text-xs text-muted">{attempts} attempts</span> : null}
                    <span className="ml-auto text-xs text-muted">
                      <Ago at={finishedAt ?? enqueuedAt} />
                    </span>
                  </span>
                  {sequence < 0 ? null : (
                    <button
                      type="button"
                      className="justify-self-start text-xs text-accent hover:underline"
                      onClick={() => setQuery({ at: sequence })}
                    >
                      requested at step {sequence}
                    </button>
                  )}
                  {problem === undefined ? null : <span className="break-words text-bad">{problem}</span>}
                </li>
              ))}
              {next === undefined || limit >= most ? null : (
                <li className="px-4 py-2">
                  <Button look="quiet" onClick={() => setLimit(limit + step)}>
                    Show earlier commands
                  </Button>
                </li>
              )}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}
