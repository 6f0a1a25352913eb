/**
 * One instance, now and at any step of its history. `?at=` is the step; without it the page follows the instance as it changes.
 */
import { useMemo, useState } from "react"
import { Refused } from "../../api/Client.ts"
import * as reads from "../../api/reads.ts"
import type { HistoryEntry, InstanceView } from "../../api/types.ts"
import { hrefOf, Link, navigate, setQuery, useQueryState } from "../../browser/Router.tsx"
import { useKeys } from "../../browser/useKeys.ts"
import { useRead } from "../../live/useRead.ts"
import { Badge, StatusBadge } from "../../parts/Badge.tsx"
import { ActButton, Button } from "../../parts/Button.tsx"
import { CopyButton, CopyMenu, quoted } from "../../parts/Copy.tsx"
import { MachineDiagram } from "../../parts/MachineDiagram.tsx"
import { Ago, countText } from "../../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../../parts/Panel.tsx"
import { CommandList } from "./CommandList.tsx"
import { Fork } from "./Fork.tsx"
import { History } from "./History.tsx"
import { Repair } from "./Repair.tsx"
import { SendPanel } from "./SendPanel.tsx"
import { Step } from "./Step.tsx"
import { Timeline } from "./Timeline.tsx"
import { Timers } from "./Timers.tsx"
import { isChart, wayOf } from "./wayOf.ts"

/** The path on the diagram, and the timeline, show at most this many events before the step. */
const pathEvents = reads.historyPage

export const InstancePage = ({ names: [machine = "", id = ""] }: { readonly names: ReadonlyArray<string> }) => {
  const view = useRead(reads.instance(machine, id))
  if (view.data === undefined && view.error instanceof Refused && view.error.kind === "MachineUnregistered")
    return <Undefined machine={machine} id={id} problem={view.error} />
  return (
    <Answer
      of={view}
      rows={10}
      missing={
        <>
          <PageHead title={id} crumbs={crumbsOf(machine)} />
          <div className="card">
            <Empty command={`npx detent instance list --search ${quoted(id)}`}>
              There is no instance {id} of {machine} here. It may have been purged, or the address may be misspelt.
            </Empty>
          </div>
        </>
      }
    >
      {(found) => <Loaded view={found} />}
    </Answer>
  )
}

/** An instance whose machine is not registered with this server: its stored events can be listed, but not replayed. */
const Undefined = ({ machine, id, problem }: { readonly machine: string; readonly id: string; readonly problem: Refused }) => {
  const found = useRead(reads.instances({ machine, search: id }, undefined, 1))
  const listed = found.data?.instances.find((one) => one.id === id)
  return (
    <>
      <PageHead
        title={id}
        crumbs={crumbsOf(machine)}
        badges={
          listed === undefined ? null : (
            <>
              <Badge tone="info">{listed.state}</Badge>
              <StatusBadge status={listed.status} outcome={listed.outcome} />
            </>
          )
        }
      >
        {listed === undefined ? null : (
          <>
            {machine} · {countText(listed.sequence)} {listed.sequence === 1 ? "event" : "events"} · started <Ago at={listed.startedAt} /> ·
            changed <Ago at={listed.updatedAt} />
          </>
        )}
      </PageHead>
      <p role="alert" className="mb-4 rounded-lg bg-warn-soft px-4 py-2.5 text-warn">
        The definition of {machine} is missing: {problem.message}
      </p>
      <div className="grid gap-4 xl:grid-cols-2">
        <CommandList machine={machine} id={id} />
      </div>
    </>
  )
}

const crumbsOf = (machine: string) => [
  { text: "Instances", href: "/instances" },
  { text: machine, href: hrefOf(["instances"], { machine }) },
]

const noEntries: ReadonlyArray<HistoryEntry> = []

const Loaded = ({ view }: { readonly view: InstanceView }) => {
  const { machine, id, status, outcome, reason, startedAt, updatedAt, sequence, state, forkedFrom } = view
  const query = useQueryState()
  // The step at which the dialog was opened: the instance may change meanwhile.
  const [forkedAt, setForkedAt] = useState<number>()
  const asked = query.get("at")
  const step = asked === undefined || asked === "" ? Number.NaN : Math.trunc(Number(asked))
  const at = Number.isNaN(step) ? sequence : Math.max(0, Math.min(sequence, step))
  const isNow = at === sequence
  const setAt = (step: number) => setQuery({ at: step >= sequence ? undefined : Math.max(0, step) })
  useKeys({
    arrowleft: () => setAt(at - 1),
    arrowright: () => setAt(at + 1),
    e: () => document.querySelector<HTMLElement>("[data-send] button")?.focus(),
  })
  // The events up to the step, and some after it for the timeline.
  const start = Math.max(0, Math.min(at - pathEvents + 20, sequence - pathEvents))
  // The active states of a statechart are among its fields, so its events are read in full; other machines need the names only. The
  // latest events are the first page of the list below: one read serves both.
  const isLatest = start === Math.max(0, sequence - pathEvents) && !isChart(state)
  const events = useRead(
    isLatest ? reads.latestEvents(machine, id) : reads.history(machine, id, { after: start, limit: pathEvents, brief: !isChart(state) }),
  )
  const legal = useRead(
    status === "held" || (isNow && status !== "running") ? undefined : reads.legalEvents(machine, id, isNow ? undefined : at),
    { fixed: !isNow },
  )
  const entries = useMemo(() => {
    const read = events.data?.entries ?? noEntries
    return isLatest ? read.toReversed() : read
  }, [events.data, isLatest])
  const way = useMemo(() => wayOf(entries, at, state), [entries, at, state])
  const targets = useMemo(() => new Set(legal.data?.events.flatMap(({ targets: names }) => names)), [legal.data])
  return (
    <>
      <PageHead
        title={id}
        crumbs={crumbsOf(machine)}
        badges={
          <>
            <Badge tone="info">{state._tag}</Badge>
            <StatusBadge status={status} outcome={outcome} />
            <CopyButton text={id} label="Copy the id" />
          </>
        }
        actions={
          <>
            <CopyMenu
              path={(isNow ? reads.instance(machine, id) : reads.stateAt(machine, id, at)).path}
              command={`npx detent instance show ${quoted(`${machine}/${id}`)}${isNow ? "" : ` --at ${at}`}`}
            />
            <ActButton icon="fork" onClick={() => setForkedAt(at)}>
              Fork at {at}
            </ActButton>
          </>
        }
      >
        <Link href={hrefOf(["machines", machine])} className="hover:text-accent hover:underline">
          {machine}
        </Link>{" "}
        · {countText(sequence)} {sequence === 1 ? "event" : "events"} · started <Ago at={startedAt} /> · changed <Ago at={updatedAt} />
        {forkedFrom === undefined ? null : (
          <>
            {" "}
            · forked from{" "}
            <Link href={hrefOf(["instances", machine, forkedFrom.id], { at: forkedFrom.sequence })} className="text-accent hover:underline">
              {forkedFrom.id} after step {countText(forkedFrom.sequence)}
            </Link>
            {forkedFrom.by === undefined ? "" : ` by ${forkedFrom.by}`}
          </>
        )}
      </PageHead>
      {reason === undefined ? null : (
        <p className={`mb-4 rounded-lg px-4 py-2.5 ${status === "held" ? "bg-bad-soft text-bad" : "bg-warn-soft text-warn"}`}>{reason}</p>
      )}
      {status === "held" ? <Repair view={view} /> : null}
      <div className="grid gap-4 xl:grid-cols-2">
        <Panel title={isNow ? "Current state" : `State after step ${countText(at)}`} aside={<Legend />}>
          <MachineDiagram
            machine={machine}
            here={way.here}
            visited={way.visited}
            taken={way.taken}
            legal={targets}
            hrefOf={(name) => hrefOf(["instances"], { machine, state: name })}
            height={380}
          />
        </Panel>
        <Panel
          title={
            <span aria-live="polite">
              Step {countText(at)} of {countText(sequence)}
            </span>
          }
          aside={
            <>
              <Button look="quiet" icon="first" aria-label="First step" disabled={at === 0} onClick={() => setAt(0)} />
              <Button look="quiet" icon="left" aria-label="Step back" disabled={at === 0} onClick={() => setAt(at - 1)} />
              <Button look="quiet" icon="right" aria-label="Step forward" disabled={isNow} onClick={() => setAt(at + 1)} />
              <Button look="quiet" icon="last" aria-label="Latest step" disabled={isNow} onClick={() => setAt(sequence)} />
            </>
          }
        >
          {/* A long state scrolls, so that the actions stay in view. */}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls. */}
          <section aria-label="The step" tabIndex={0} className="max-h-108 overflow-auto">
            <Step view={view} at={at} />
          </section>
        </Panel>
      </div>
      <Timeline entries={entries} at={at} startedAt={startedAt} onStep={setAt} />
      <div className="mt-4 grid items-start gap-4 xl:grid-cols-2">
        <SendPanel view={view} legal={legal} isNow={isNow} onLatest={() => setAt(sequence)} />
        <div className="grid content-start gap-4">
          <Timers machine={machine} id={id} />
          <CommandList machine={machine} id={id} />
        </div>
      </div>
      <History view={view} at={at} />
      {forkedAt === undefined ? null : (
        <Fork
          machine={machine}
          id={id}
          at={forkedAt}
          onClose={() => setForkedAt(undefined)}
          onDone={(forked) => navigate(hrefOf(["instances", machine, forked]))}
        />
      )}
    </>
  )
}

const Legend = () => (
  <span className="flex flex-wrap gap-3">
    <span>
      <b className="text-accent">━</b> taken
    </span>
    <span>
      <b className="text-accent">■</b> here
    </span>
    <span>┄ possible</span>
  </span>
)
