/** Schedules: what starts when, the latest runs with their results, and the switches of an operator. */
import type { ReactNode } from "react"
import { write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { Schedule, ScheduleRun } from "../api/types.ts"
import { instanceHref } from "../browser/addresses.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge } from "../parts/Badge.tsx"
import { ActButton } from "../parts/Button.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { Ago, countText, durationText, exactTime } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../parts/Panel.tsx"
import { useAct } from "../parts/useAct.ts"

export const Schedules = ({ names: [chosen] }: { readonly names: ReadonlyArray<string> }) =>
  chosen === undefined ? <ScheduleList /> : <SchedulePage name={chosen} />

const timesText = ({ cron, timezone, everyMillis }: Schedule): string =>
  cron === undefined ? `every ${durationText(everyMillis ?? 0)}` : `${cron}, ${timezone ?? "UTC"}`

const ScheduleList = () => {
  const schedules = useRead(reads.schedules(), { every: 5000 })
  return (
    <>
      <PageHead title="Schedules" actions={<CopyMenu path={reads.schedules().path} command="npx detent schedule list" />}>
        What starts at which times, each exactly once.
      </PageHead>
      <Answer of={schedules}>
        {({ schedules: found, next }) =>
          found.length === 0 ? (
            <div className="card">
              <Empty command="npx detent schedule create NAME --target TARGET --every '15 minutes'">
                There is no schedule. The code declares schedules in detent.config.ts, or targets that schedules made here may start.
              </Empty>
            </div>
          ) : (
            <>
              <ul className="grid gap-3">
                {found.map((schedule) => (
                  <li key={schedule.name} className="card grid gap-2 p-4">
                    <Head
                      schedule={schedule}
                      title={
                        <h2 className="min-w-0 flex-1 truncate text-[15px] font-semibold">
                          <Link href={hrefOf(["schedules", schedule.name])} className="hover:text-accent hover:underline">
                            {schedule.name}
                          </Link>
                        </h2>
                      }
                    />
                    <Facts schedule={schedule} />
                  </li>
                ))}
              </ul>
              {next === undefined ? null : (
                <p className="mt-3 text-muted">More with npx detent schedule list --after {quoted(String(next))}</p>
              )}
            </>
          )
        }
      </Answer>
    </>
  )
}

const Head = ({ schedule: { name, status, declared }, title }: { readonly schedule: Schedule; readonly title: ReactNode }) => {
  const { act, isBusy } = useAct()
  const isPaused = status === "paused"
  const href = hrefOf(["schedules", name])
  return (
    <div className="flex flex-wrap items-center gap-3">
      {title}
      {declared ? null : <Badge tone="warn">not declared here</Badge>}
      <Badge tone={isPaused ? "warn" : "good"}>{status}</Badge>
      <ActButton
        icon="send"
        disabled={isBusy}
        onClick={() => void act(write("POST", ["schedules", name, "trigger"]), () => ({ text: `A run of ${name} is started.`, href }))}
      >
        Trigger
      </ActButton>
      <ActButton
        icon={isPaused ? "play" : "pause"}
        disabled={isBusy}
        onClick={() =>
          void act(write("POST", ["schedules", name, isPaused ? "resume" : "pause"]), () => ({
            text: isPaused ? `${name} starts from its next time on.` : `${name} is paused.`,
            href,
          }))
        }
      >
        {isPaused ? "Resume" : "Pause"}
      </ActButton>
    </div>
  )
}

const Facts = ({ schedule }: { readonly schedule: Schedule }) => {
  const {
    next: [next],
    runs: [latest],
    waiting,
    started,
    skipped,
    failed,
  } = schedule
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      <span className="font-mono">{timesText(schedule)}</span>
      {next === undefined ? (
        <span>no next time</span>
      ) : (
        <span>
          next <Ago at={next} />
        </span>
      )}
      {latest === undefined ? null : (
        <span className={latest.outcome === "failed" ? "text-bad" : ""}>
          latest <Ago at={latest.at} />: {resultText(latest)}
        </span>
      )}
      {waiting === 0 ? null : <span>{countText(waiting)} waiting</span>}
      <span>
        {countText(started)} started, {countText(skipped)} skipped, {countText(failed)} failed
      </span>
    </p>
  )
}

const resultText = ({ outcome, problem, status }: ScheduleRun): string => problem ?? status?.text ?? outcome

const SchedulePage = ({ name }: { readonly name: string }) => {
  const schedule = useRead(reads.schedule(name), { every: 2000 })
  return (
    <>
      <PageHead
        title={name}
        crumbs={[{ text: "Schedules", href: "/schedules" }]}
        actions={<CopyMenu path={reads.schedule(name).path} command={`npx detent schedule show ${quoted(name)}`} />}
      />
      <Answer of={schedule}>
        {(found) => (
          <div className="grid gap-4">
            <section className="card grid gap-2 p-4">
              <Head schedule={found} title={<h2 className="flex-1 text-[13px] font-semibold">{timesText(found)}</h2>} />
              <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
                <span>overlap: {found.overlap}</span>
                <span>catch-up: {found.catchUp}</span>
                {found.jitterMillis === 0 ? null : <span>jitter: up to {durationText(found.jitterMillis)}</span>}
                {found.target === undefined ? null : (
                  <span>
                    starts {found.target.name} <code>{JSON.stringify(found.target.input)}</code>
                  </span>
                )}
                {found.waiting === 0 ? null : <span>{countText(found.waiting)} waiting</span>}
              </p>
            </section>
            <Panel title="Next times">
              {found.next.length === 0 ? (
                <p className="text-muted">None.</p>
              ) : (
                <ul className="flex flex-wrap gap-x-6 gap-y-1">
                  {found.next.map((at) => (
                    <li key={at}>
                      {exactTime(at)}{" "}
                      <span className="text-xs text-muted">
                        <Ago at={at} />
                      </span>
                    </li>
                  ))}
                </ul>
              )}
            </Panel>
            <Panel title="Latest runs" aside={`${countText(found.started)} started`} flush>
              {found.runs.length === 0 ? (
                <p className="px-4 py-3 text-muted">No run yet.</p>
              ) : (
                <ul>
                  {found.runs.map((run) => (
                    <Run key={`${run.at} ${run.decidedAt}`} run={run} />
                  ))}
                </ul>
              )}
            </Panel>
          </div>
        )}
      </Answer>
    </>
  )
}

const tones = { started: "good", skipped: "warn", failed: "bad" } as const

const Run = ({ run }: { readonly run: ScheduleRun }) => (
  <li className="flex flex-wrap items-baseline gap-x-3 border-b border-line px-4 py-2 last:border-0">
    <Badge tone={tones[run.outcome]}>{run.outcome}</Badge>
    <span className="min-w-0 flex-1 truncate">
      {run.target === undefined ? null : (
        <Link href={targetHref(run.target)} className="font-medium hover:text-accent hover:underline">
          {run.target.name} / {run.target.id}
        </Link>
      )}
      {run.status === undefined && run.problem === undefined ? null : <span className="text-muted"> {resultText(run)}</span>}
    </span>
    {run.reason === "time" ? null : <span className="text-xs text-muted">{run.reason}</span>}
    <span className="text-xs text-muted">
      <Ago at={run.at} />
    </span>
  </li>
)

const targetHref = ({ kind, name, id }: NonNullable<ScheduleRun["target"]>): string => {
  if (kind === "command") return hrefOf(["commands"], { command: id })
  return kind === "execution" ? hrefOf(["workflows", name, id]) : instanceHref(name, id)
}
