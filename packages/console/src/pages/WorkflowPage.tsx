/** One execution of a workflow: its steps in time, as a waterfall in which idle time is collapsed. */
import { useMemo, useState } from "react"
import { write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { Execution, Json, Span } from "../api/types.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge, toneOf } from "../parts/Badge.tsx"
import { ActButton } from "../parts/Button.tsx"
import { Confirm } from "../parts/Confirm.tsx"
import { CopyButton, CopyMenu, quoted } from "../parts/Copy.tsx"
import { JsonText } from "../parts/JsonView.tsx"
import { Ago, countText, durationText, exactTime, useNow } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../parts/Panel.tsx"
import { useAct } from "../parts/useAct.ts"
import { type Column, VirtualTable } from "../parts/VirtualTable.tsx"

export const WorkflowPage = ({ names: [workflow = "", id = ""] }: { readonly names: ReadonlyArray<string> }) => {
  const execution = useRead(reads.execution(workflow, id))
  return (
    <Answer
      of={execution}
      rows={8}
      missing={
        <>
          <PageHead title={id} crumbs={[{ text: "Workflows", href: "/workflows" }]} />
          <div className="card">
            <Empty command="npx detent execution list">
              There is no execution {id} of {workflow} here.
            </Empty>
          </div>
        </>
      }
    >
      {(found) => <Loaded execution={found} />}
    </Answer>
  )
}

const Loaded = ({ execution }: { readonly execution: Execution }) => {
  const { workflow, id, phase, ended, problem, node, events, startedAt, updatedAt, clocks } = execution
  const { act, isBusy } = useAct()
  const [isAsking, setIsAsking] = useState(false)
  const spans = useRead(reads.spans(workflow, id))
  const names = ["executions", workflow, id]
  return (
    <>
      <PageHead
        title={id}
        crumbs={[
          { text: "Workflows", href: "/workflows" },
          { text: workflow, href: hrefOf(["workflows"], { workflow }) },
        ]}
        badges={
          <>
            <Badge tone={toneOf(phase)}>{phase}</Badge>
            <CopyButton text={id} label="Copy the id" />
          </>
        }
        actions={
          <>
            <CopyMenu path={reads.execution(workflow, id).path} command={`npx detent execution show ${quoted(`${workflow}/${id}`)}`} />
            <ActButton
              disabled={ended}
              isBusy={isBusy}
              title={ended ? "The execution has ended." : undefined}
              onClick={() => void act<Execution>(write("POST", [...names, "resume"]), () => ({ text: `${id} is resumed.` }))}
            >
              Resume
            </ActButton>
            <ActButton
              look="danger"
              disabled={ended}
              isBusy={isBusy}
              title={ended ? "The execution has ended." : undefined}
              onClick={() => setIsAsking(true)}
            >
              Interrupt…
            </ActButton>
          </>
        }
      >
        {countText(events)} {events === 1 ? "event" : "events"} · started <Ago at={startedAt} /> · changed <Ago at={updatedAt} />
        {node === undefined ? "" : ` · on ${node}`}
      </PageHead>
      {problem === undefined ? null : <p className="mb-4 rounded-lg bg-bad-soft px-4 py-2.5 break-words text-bad">{problem}</p>}
      {clocks.length === 0 ? null : (
        <Panel title="Waits for" className="mb-4" flush>
          <ul>
            {clocks.map(({ name, due }) => (
              <li key={name} className="flex gap-3 border-b border-line px-4 py-2 last:border-0">
                <b className="flex-1 font-medium">{name}</b>
                <Ago at={due} />
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {phase === "Suspended" && clocks.length === 0 ? (
        <Panel title="Waits for" className="mb-4">
          <Empty command={`npx detent execution send ${quoted(`${workflow}/${id}`)} EVENT`}>
            It waits for an event or for another execution. This command sends an event.
          </Empty>
        </Panel>
      ) : null}
      <GivenAndReturned execution={execution} />
      <Panel title="Steps" flush>
        <Answer of={spans}>{({ spans: found }) => <Waterfall spans={found} />}</Answer>
      </Panel>
      {isAsking ? (
        <Confirm
          title="Interrupt the execution?"
          action="Interrupt it"
          isDangerous
          onClose={() => setIsAsking(false)}
          onConfirm={() => void act<Execution>(write("POST", [...names, "interrupt"]), () => ({ text: `${id} is interrupted.` }))}
        >
          <p className="text-muted">No further activity starts, and the compensations of completed activities run.</p>
        </Confirm>
      ) : null}
    </>
  )
}

const GivenAndReturned = ({ execution }: { readonly execution: Execution }) => {
  const { payload, result, parents = [] } = execution
  if (payload === undefined && result === undefined && parents.length === 0) return null
  return (
    <div className="mb-4 grid gap-4 lg:grid-cols-2">
      {payload === undefined ? null : (
        <Panel title="Started with">
          <JsonText value={payload as Json} />
        </Panel>
      )}
      {result === undefined ? null : (
        <Panel title="Returned">
          <JsonText value={result as Json} />
        </Panel>
      )}
      {parents.length === 0 ? null : (
        <Panel title="Executions that wait for it" flush>
          <ul>
            {parents.map((parent) => (
              <li key={`${parent.workflow} ${parent.id}`} className="px-4 py-2">
                <Link href={hrefOf(["workflows", parent.workflow, parent.id])} className="text-accent hover:underline">
                  {parent.workflow} / {parent.id}
                </Link>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </div>
  )
}

interface Bar extends Span {
  /** In percent of the time that is drawn. */
  readonly left: number
  readonly width: number
  readonly millis: number | undefined
}

/** Idle time longer than this is collapsed to it: a clock of nine days must not hide the steps before and after. */
const longestIdle = 2000

/** Places moments on a line on which idle time is collapsed. */
const makeScale = (moments: ReadonlyArray<number>) => {
  const sorted = [...new Set(moments)].sort((one, other) => one - other)
  const places = new Map<number, number>()
  let place = 0
  for (const [index, moment] of sorted.entries()) {
    place += index === 0 ? 0 : Math.min(longestIdle, moment - (sorted[index - 1] ?? moment))
    places.set(moment, place)
  }
  return (moment: number) => (100 * (places.get(moment) ?? 0)) / Math.max(1, place)
}

const barsOf = (spans: ReadonlyArray<Span>, now: number): ReadonlyArray<Bar> => {
  const ends = spans.map(({ startedAt, endedAt }) => [startedAt ?? endedAt ?? now, endedAt ?? now] as const)
  const scale = makeScale(ends.flat())
  return spans.map((span, index) => {
    const [from, until] = ends[index] ?? [now, now]
    const left = scale(from)
    const millis = span.startedAt === undefined ? undefined : until - from
    return { ...span, left, width: scale(until) - left, millis }
  })
}

const colours: Readonly<Record<Span["kind"], string>> = {
  activity: "bg-accent",
  clock: "bg-warn",
  deferred: "bg-warn",
  call: "bg-info",
  compensation: "bg-bad",
  suspension: "bg-edge",
  run: "bg-edge",
}

const columns: ReadonlyArray<Column<Bar>> = [
  {
    title: "Step",
    width: "minmax(9rem,1fr)",
    cell: ({ name, kind, attempt, outcome }) => (
      <span className={outcome === "failure" ? "text-bad" : ""} title={`${kind} ${name}`}>
        <b className="font-medium">{name}</b> <span className="text-xs text-muted">{kind}</span>
        {attempt === undefined || attempt === 1 ? null : <span className="text-xs text-muted"> · attempt {attempt}</span>}
      </span>
    ),
  },
  {
    title: "Time, idle time collapsed",
    width: "minmax(8rem,2fr)",
    cell: ({ kind, left, width, outcome, startedAt, endedAt }) => (
      <span className="relative block h-5" title={startedAt === undefined ? "" : exactTime(startedAt)}>
        <span
          className={`absolute top-1.5 h-2 min-w-1 rounded-full ${outcome === "failure" ? "bg-bad" : colours[kind]} ${endedAt === undefined ? "pulse-soft" : ""}`}
          style={{ left: `${Math.min(left, 99)}%`, width: `${Math.max(width, 0.6)}%` }}
        />
      </span>
    ),
    wideOnly: true,
  },
  {
    title: "Took",
    width: "5.5rem",
    cell: ({ kind, millis, endedAt, due }) => {
      if (endedAt !== undefined) return millis === undefined ? "not known" : durationText(millis)
      if (due !== undefined) return <Ago at={due} />
      return kind === "suspension" ? "waits" : "runs"
    },
    right: true,
  },
]

const Waterfall = ({ spans }: { readonly spans: ReadonlyArray<Span> }) => {
  const now = useNow()
  const bars = useMemo(() => barsOf(spans, now), [spans, now])
  if (bars.length === 0) return <p className="px-4 py-3 text-muted">It ran no activity, clock or deferred.</p>
  return (
    <VirtualTable
      label="Steps"
      rows={bars}
      columns={columns}
      keyOf={({ sequence, kind, name, attempt }) => `${sequence} ${kind} ${name} ${attempt ?? ""}`}
      rowHeight={34}
      height="60dvh"
    />
  )
}
