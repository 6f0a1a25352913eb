/** One step: its event, the change of state, and its requested commands with their results. */
import type { UseQueryResult } from "@tanstack/react-query"
import { useMemo } from "react"
import * as reads from "../../api/reads.ts"
import type { Command, HistoryEntry, InstanceView, Json } from "../../api/types.ts"
import { hrefOf, Link } from "../../browser/Router.tsx"
import { useRead } from "../../live/useRead.ts"
import { Badge, toneOf } from "../../parts/Badge.tsx"
import { Changes, Fields, JsonText } from "../../parts/JsonView.tsx"
import { changesBetween } from "../../parts/json.ts"
import { Ago, exactTime } from "../../parts/Moment.tsx"
import { Answer, Skeleton } from "../../parts/Panel.tsx"

type Record = Readonly<globalThis.Record<string, Json>>

export const Step = ({ view, at }: { readonly view: InstanceView; readonly at: number }) => {
  const { machine, id } = view
  // The event and the one before it: the answer has the states after both.
  const entry = useRead(at === 0 ? undefined : reads.history(machine, id, { after: Math.max(0, at - 2), limit: 2 }), { fixed: true })
  const here = entry.data?.entries.find(({ sequence }) => sequence === at)
  const isGone = at > 0 && entry.data !== undefined && here === undefined
  const first = useRead(at === 1 ? reads.stateAt(machine, id, 0) : undefined, { fixed: true })
  const alone = useRead(at === 0 || isGone ? reads.stateAt(machine, id, at) : undefined, { fixed: true })
  const commands = useRead(reads.commandsOf(machine, id, { sequence: at }))
  const before = at === 1 ? first.data?.state : entry.data?.entries.find(({ sequence }) => sequence === at - 1)?.state
  const state = here?.state ?? alone.data?.state
  const changes = useMemo(
    () =>
      before === undefined || state === undefined
        ? undefined
        : changesBetween(before as Json, state as Json).filter(({ path }) => path !== "_tag"),
    [before, state],
  )
  // A pruned journal starts after the snapshot.
  const isUnknown = before === undefined && (at === 1 ? first.error !== null : entry.data !== undefined || entry.error !== null)
  return (
    <div className="grid gap-4">
      {at === 0 ? (
        <p className="flex flex-wrap items-baseline gap-x-3">
          <b className="text-lg">started</b>
          <span className="text-muted">
            <Ago at={view.startedAt} />
          </span>
        </p>
      ) : (
        <Answer of={entry} rows={2}>
          {() => (here === undefined ? <p className="text-muted">This event is no longer stored.</p> : <Event entry={here} />)}
        </Answer>
      )}
      {at === 0 ? null : (
        <section>
          <h3 className="label mb-1.5">Changes</h3>
          {changes === undefined ? (
            isUnknown ? (
              <p className="text-muted">The state before this step is no longer stored.</p>
            ) : (
              <Skeleton rows={2} />
            )
          ) : changes.length === 0 ? (
            <p className="text-muted">The fields of the state stayed the same.</p>
          ) : (
            <Changes changes={changes} />
          )}
        </section>
      )}
      <Requested entry={here} commands={commands.data?.commands ?? []} />
      <section>
        <h3 className="label mb-1.5">State after this step</h3>
        {state === undefined ? (
          <Answer of={(at === 0 || isGone ? alone : entry) as UseQueryResult<unknown, Error>} rows={3}>
            {() => null}
          </Answer>
        ) : (
          <>
            <p className="mb-1.5 font-medium">{state._tag}</p>
            <Fields of={state as Record} empty="The state has no fields." />
          </>
        )}
      </section>
    </div>
  )
}

const Event = ({ entry }: { readonly entry: HistoryEntry }) => {
  const { event, from, through, state, at, dedupeId, replaced } = entry
  const way = [from, ...through, state._tag]
  return (
    <section>
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <b className="text-lg">{eventName(event)}</b>
        <span>{way.every((one) => one === from) && entry.outcome === "Stay" ? `stays in ${from}` : way.join(" → ")}</span>
        <span className="text-muted" title={exactTime(at)}>
          <Ago at={at} />
        </span>
      </p>
      <p className="truncate text-xs text-muted">
        {causeText(entry)}
        {dedupeId === undefined ? "" : ` · sent as ${dedupeId}`}
      </p>
      <div className="mt-2">
        <Fields of={event as Record} empty="The event has no fields." />
      </div>
      {replaced?.map((one) => (
        <div key={one.at} className="mt-2 rounded-lg border border-line bg-sunken p-3">
          <p>
            Repaired <Ago at={one.at} />
            {one.by === undefined ? "" : ` by ${one.by}`}
            {one.reason === undefined ? "" : `: ${one.reason}`}
          </p>
          <h3 className="label mt-2 mb-1">Original event</h3>
          <JsonText value={(one.event ?? null) as Json} />
        </div>
      ))}
    </section>
  )
}

const causeText = ({ cause, actor }: Pick<HistoryEntry, "cause" | "actor">): string => {
  switch (cause.kind) {
    case "timer":
      return `by the timer ${cause.name}`
    case "command":
      return `by the result of the command ${cause.key}`
    case "machine":
      return `by the machine itself, at step ${cause.sequence}`
    default:
      return actor.kind === "code" ? "by a sender" : `by ${actor.kind} ${actor.name}`
  }
}

/** A timer's event carries the timer's name, and one that the machine sent to itself may carry a label. */
export const eventName = (event: HistoryEntry["event"]): string => {
  if (event._tag === "@timeout") return `timer ${String(event["name"])}`
  return event._tag.startsWith("(") && typeof event["label"] === "string" ? event["label"] : event._tag
}

const Requested = ({ entry, commands }: { readonly entry: HistoryEntry | undefined; readonly commands: ReadonlyArray<Command> }) => {
  const rest = (entry?.requests ?? []).filter((slot) => commands.every((command) => command.slot !== slot))
  if (commands.length === 0 && rest.length === 0) return null
  return (
    <section>
      <h3 className="label mb-1.5">Requested</h3>
      <ul className="grid gap-1.5">
        {commands.map(({ key, slot, status, attempts, problem }) => (
          <li key={key} className="flex flex-wrap items-center gap-2">
            <Link href={hrefOf(["commands"], { command: key })} className="font-medium hover:text-accent hover:underline">
              {slot}
            </Link>
            <Badge tone={toneOf(status)}>{status}</Badge>
            {attempts > 1 ? <span className="text-xs text-muted">{attempts} attempts</span> : null}
            {problem === undefined ? null : <span className="text-bad">{problem}</span>}
          </li>
        ))}
        {rest.map((slot) => (
          <li key={slot}>{slot}</li>
        ))}
      </ul>
    </section>
  )
}
