/** Problems first, then running work. Every number links to a list. */
import { useState } from "react"
import * as reads from "../api/reads.ts"
import { useSession } from "../api/SessionContext.ts"
import type { InstanceListing, MachineListing, Queue } from "../api/types.ts"
import { instanceHref, workflowName } from "../browser/addresses.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { StatusBadge, type Tone } from "../parts/Badge.tsx"
import { Icon, type IconName } from "../parts/Icon.tsx"
import { Ago, countText, useNow } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../parts/Panel.tsx"
import { metricFormat, metricTitle, Plot } from "../parts/Plot.tsx"

/** Counts stop here: "100+" is enough to act on. */
const most = 100

/** A queue is stalled if no command runs although one has waited for this long. */
const stalledMillis = 60_000

const isStalled = ({ paused, counts, running, oldestPendingAt }: Queue, now: number): boolean =>
  paused ? (counts["pending"] ?? 0) > 0 : running === 0 && oldestPendingAt !== undefined && now - oldestPendingAt > stalledMillis

/** The most held instances of one machine that the server counts. */
const mostHeld = 10_000

const many = (count: number | undefined, hasMore: boolean): string =>
  count === undefined ? "…" : `${countText(count)}${hasMore ? "+" : ""}`

export const Overview = () => {
  const { session } = useSession()
  const hasKnowledge = session?.systems.includes("knowledge") === true
  const held = useRead(reads.instances({ status: "held" }, undefined, 1))
  const machines = useRead(reads.machines)
  const heldCounts = machines.data?.machines.map((machine) => machine.held ?? 0)
  const heldCount = heldCounts?.reduce((sum, one) => sum + one, 0)
  const failed = useRead(reads.commands({ status: "failed" }, undefined, most))
  const timers = useRead(reads.deadTimers)
  const queues = useRead(reads.queues)
  const failedBatches = useRead(hasKnowledge ? reads.batches({ state: "Failed" }) : undefined)
  const uploads = useRead(session?.systems.includes("uploads") === true ? reads.uploads() : undefined)
  const failedUploads = uploads.data?.uploads.filter(({ failed: items, state }) => items > 0 || state === "failed")
  const now = useNow()
  const stalled = queues.data?.queues.filter((queue) => isStalled(queue, now))
  const attention: ReadonlyArray<AttentionProps> = [
    {
      icon: "instance",
      text: "held instances",
      count: many(heldCount, heldCounts?.some((one) => one >= mostHeld) === true),
      isQuiet: heldCount === 0,
      href: hrefOf(["instances"], { status: "held" }),
      hint: held.data?.instances[0]?.reason,
      tone: "bad",
    },
    {
      icon: "command",
      text: "dead letters",
      count: many(failed.data?.commands.length, failed.data?.next !== undefined),
      isQuiet: failed.data?.commands.length === 0,
      href: hrefOf(["commands"], { status: "failed" }),
      hint: failed.data?.commands[0]?.problem,
      tone: "bad",
    },
    {
      icon: "clock",
      text: "failed timers",
      count: many(timers.data?.timers.length, false),
      isQuiet: timers.data?.timers.length === 0,
      href: hrefOf(["commands"], { status: "timers" }),
      hint: timers.data?.timers[0]?.problem,
      tone: "bad",
    },
    {
      icon: "queue",
      text: "stalled queues",
      count: many(stalled?.length, false),
      isQuiet: stalled?.length === 0,
      href: stalled?.length === 1 ? hrefOf(["queues", stalled[0]?.queue ?? ""]) : hrefOf(["queues"]),
      hint: stalled?.map(({ queue, paused }) => (paused ? `${queue} is paused` : queue)).join(", "),
      tone: "warn",
    },
    ...(hasKnowledge
      ? [
          {
            icon: "batch",
            text: "failed batches",
            count: many(failedBatches.data?.batches.length, failedBatches.data?.next !== undefined),
            isQuiet: failedBatches.data?.batches.length === 0,
            href: hrefOf(["batches"], { state: "Failed" }),
            hint: failedBatches.data?.batches[0]?.reason,
            tone: "bad",
          } as const,
        ]
      : []),
    ...(session?.systems.includes("uploads") === true
      ? [
          {
            icon: "upload",
            text: "incomplete uploads",
            count: many(failedUploads?.length, failedUploads !== undefined && failedUploads.length > 0 && uploads.data?.next !== undefined),
            isQuiet: failedUploads?.length === 0,
            href: failedUploads?.length === 1 ? hrefOf(["uploads", failedUploads[0]?.batchId ?? ""]) : hrefOf(["uploads"]),
            hint: failedUploads?.map(({ fileName, failed: items }) => `${countText(items)} of ${fileName}`).join(", "),
            tone: "warn",
          } as const,
        ]
      : []),
  ]
  const problems = [held, machines, failed, timers, queues, failedBatches, uploads]
    .map(({ error }) => error)
    .filter((error) => error !== null)
  return (
    <>
      <PageHead title="Overview" />
      <section aria-label="What needs attention" className="mb-5 grid grid-cols-2 gap-3 sm:grid-cols-3 xl:grid-cols-6">
        {attention.map((one) => (
          <Attention key={one.text} {...one} />
        ))}
      </section>
      {problems.length === 0 ? null : <p className="mb-4 text-warn">Some numbers could not be read: {problems[0]?.message}</p>}
      <div className="grid gap-4 xl:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="grid content-start gap-4">
          <MachineCounts />
          <Throughput />
        </div>
        <Latest />
      </div>
    </>
  )
}

interface AttentionProps {
  readonly icon: IconName
  readonly text: string
  readonly count: string
  readonly isQuiet: boolean
  readonly href: string
  readonly hint: string | undefined
  readonly tone: Extract<Tone, "bad" | "warn">
}

const Attention = ({ icon, text, count, isQuiet, href, hint, tone }: AttentionProps) => (
  <Link
    href={href}
    className={`card grid content-start gap-1 px-4 py-3 transition-colors hover:border-edge ${isQuiet || count === "…" ? "" : tone === "bad" ? "border-bad/40! bg-bad-soft!" : "border-warn/40! bg-warn-soft!"}`}
  >
    <span className="flex items-center gap-2 text-xs text-muted">
      <Icon name={isQuiet ? "check" : icon} className={isQuiet ? "text-good" : tone === "bad" ? "text-bad" : "text-warn"} />
      {text}
    </span>
    <span className="text-2xl font-semibold tracking-tight tabular-nums">{count}</span>
    <span className="min-h-5 truncate text-xs text-muted" title={hint}>
      {isQuiet ? "nothing to do" : (hint ?? "")}
    </span>
  </Link>
)

const totalOf = ({ counts }: MachineListing): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

const MachineCounts = () => {
  const machines = useRead(reads.machines)
  return (
    <Panel
      title="Machines and workflows"
      flush
      aside={
        <Link href="/machines" className="text-accent hover:underline">
          All machines
        </Link>
      }
    >
      <Answer of={machines}>
        {({ machines: listed }) => {
          // In the server's order, not sorted by count, so that rows do not move.
          if (listed.length === 0)
            return <Empty command="npx detent init">No machine is registered yet. This makes a project with one.</Empty>
          return (
            <ul>
              {listed.map((machine) => (
                <MachineRow key={machine.name} machine={machine} />
              ))}
            </ul>
          )
        }}
      </Answer>
    </Panel>
  )
}

const MachineRow = ({ machine }: { readonly machine: MachineListing }) => {
  const isMachine = machine.kind === "machine"
  const name = isMachine ? machine.name : workflowName(machine.name)
  const total = totalOf(machine)
  const counts = Object.entries(machine.counts)
    .filter(([, count]) => count > 0)
    .toSorted(([, one], [, other]) => other - one)
  return (
    <li className="grid gap-2 border-b border-line px-4 py-3 last:border-0 sm:grid-cols-[minmax(9rem,14rem)_minmax(0,1fr)_5rem] sm:items-center">
      <Link
        href={isMachine ? hrefOf(["machines", name]) : hrefOf(["workflows"], { workflow: name })}
        className="flex min-w-0 items-center gap-2 font-medium hover:text-accent"
      >
        <Icon name={isMachine ? "machine" : "workflow"} className="text-muted" />
        <span className="truncate">{name}</span>
      </Link>
      <span className="flex min-w-0 flex-wrap gap-1.5">
        {counts.length === 0 ? <span className="text-muted">no {isMachine ? "instances" : "executions"} yet</span> : null}
        {counts.slice(0, 8).map(([state, count]) => (
          <Link
            key={state}
            href={isMachine ? hrefOf(["instances"], { machine: name, state }) : hrefOf(["workflows"], { workflow: name, phase: state })}
            className="inline-flex items-baseline gap-1.5 rounded-md border border-line bg-sunken px-2 py-0.5 text-xs hover:border-accent hover:text-accent"
          >
            {state} <b className="font-semibold tabular-nums">{countText(count)}</b>
          </Link>
        ))}
        {counts.length > 8 ? <span className="text-xs text-muted">and {counts.length - 8} more</span> : null}
      </span>
      <span className="hidden text-right font-semibold tabular-nums sm:block">{countText(total)}</span>
    </li>
  )
}

const Latest = () => {
  const latest = useRead(reads.instances({}, undefined, 12))
  const { rows, hold } = useHeld(latest.data?.instances)
  return (
    <Panel
      title="Changed last"
      flush
      aside={
        <Link href="/instances" className="text-accent hover:underline">
          All instances
        </Link>
      }
    >
      <Answer of={latest} rows={8}>
        {() =>
          rows.length === 0 ? (
            <Empty command="npx detent dev --demo">No instance was started yet. This starts a server with sample data.</Empty>
          ) : (
            <ul onPointerEnter={() => hold(true)} onPointerLeave={() => hold(false)}>
              {rows.map(({ machine, id, state, status, outcome, updatedAt }) => (
                <li
                  key={`${machine} ${id}`}
                  className="relative grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 border-b border-line px-4 py-2 last:border-0 hover:bg-hover"
                >
                  <Link href={instanceHref(machine, id)} className="truncate font-medium after:absolute after:inset-0">
                    {id}
                  </Link>
                  <StatusBadge status={status} outcome={outcome} />
                  <span className="truncate text-xs text-muted">
                    {machine} · {state}
                  </span>
                  <span className="text-right text-xs text-muted">
                    <Ago at={updatedAt} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}

/** The two most telling rates of this process over the last quarter of an hour. */
const Throughput = () => {
  const history = useRead(reads.metricsHistory, { every: 5000 })
  const [cursor, setCursor] = useState<number>()
  const at = history.data?.at ?? []
  const last = at.at(-1)
  if (last === undefined) return null
  const from = Math.max(last - throughputMillis, at[0] ?? last)
  const busiest = (history.data?.series ?? [])
    .filter(({ kind }) => kind === "rate")
    .map((one) => ({ ...one, most: Math.max(...one.values.map((value) => value ?? 0)) }))
    .filter(({ most }) => most > 0)
    .toSorted((one, other) => rankOf(one.name) - rankOf(other.name) || other.most - one.most)
    .slice(0, 2)
  return (
    <section aria-label="Throughput" className="grid gap-4 md:grid-cols-2">
      {busiest.map((one) => (
        <Plot
          key={one.name}
          title={metricTitle(one.name)}
          format={metricFormat(one)}
          samples={at.flatMap((time, index) => (time < from ? [] : [{ at: time, value: one.values[index] ?? 0 }]))}
          from={from}
          until={last}
          cursor={cursor}
          onCursor={setCursor}
        />
      ))}
    </section>
  )
}

const throughputMillis = 900_000

/** The most telling metrics of the work come first. */
const telling = ["detent_events_total", "detent_commands_completed_total", "detent_commits_total"]

const rankOf = (name: string): number => {
  const rank = telling.indexOf(name)
  return rank < 0 ? telling.length : rank
}

/** Rows that keep their places while the pointer is over them: their data is updated, and no row is added. */
const useHeld = (latest: ReadonlyArray<InstanceListing> | undefined) => {
  const [held, setHeld] = useState<ReadonlyArray<InstanceListing>>()
  const now = latest ?? []
  const rows = held === undefined ? now : held.map((row) => now.find(({ machine, id }) => machine === row.machine && id === row.id) ?? row)
  return { rows, hold: (isOver: boolean) => setHeld(isOver ? now : undefined) }
}
