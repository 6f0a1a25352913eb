/** Queues: waiting and running commands, and the switch that pauses one. */
import { type ReactNode, useState } from "react"
import { write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { Queue } from "../api/types.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge } from "../parts/Badge.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { Modal } from "../parts/Modal.tsx"
import { Ago, countText, durationText, useNow } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../parts/Panel.tsx"
import { useAct } from "../parts/useAct.ts"

const order = ["pending", "processing", "failed", "completed", "handled", "skipped"]

export const Queues = ({ names: [chosen] }: { readonly names: ReadonlyArray<string> }) =>
  chosen === undefined ? <QueueList /> : <QueuePage name={chosen} />

const QueueList = () => {
  const queues = useRead(reads.queues)
  return (
    <>
      <PageHead title="Queues" actions={<CopyMenu path={reads.queues.path} command="npx detent queue list" />}>
        Where commands wait for a worker.
      </PageHead>
      <Answer of={queues}>
        {({ queues: found }) =>
          found.length === 0 ? (
            <div className="card">
              <Empty command="npx detent instance send MACHINE/ID EVENT">
                No command was enqueued yet: a queue exists from its first command on. An event whose transition requests an effect enqueues
                a command.
              </Empty>
            </div>
          ) : (
            <ul className="grid gap-3 lg:grid-cols-2">
              {found.map((queue) => (
                <li key={queue.queue} className="card grid gap-3 p-4">
                  <QueueView
                    queue={queue}
                    title={
                      <h2 className="min-w-0 flex-1 truncate text-lg font-semibold">
                        <Link href={hrefOf(["queues", queue.queue])} className="hover:text-accent hover:underline">
                          {queue.queue}
                        </Link>
                      </h2>
                    }
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </>
  )
}

const QueuePage = ({ name }: { readonly name: string }) => {
  const queues = useRead(reads.queues)
  const queue = queues.data?.queues.find((one) => one.queue === name)
  const failed = queue?.counts["failed"] ?? 0
  return (
    <>
      <PageHead
        title={name}
        crumbs={[{ text: "Queues", href: "/queues" }]}
        actions={<CopyMenu path={reads.queues.path} command={`npx detent command list --queue ${quoted(name)}`} />}
      >
        {queue === undefined ? null : (
          <Link
            href={hrefOf(["commands"], { status: failed > 0 ? "failed" : "pending", queue: name })}
            className="text-accent hover:underline"
          >
            {failed > 0 ? `${countText(failed)} dead letters` : "Pending commands"}
          </Link>
        )}
      </PageHead>
      <Answer of={queues}>
        {() =>
          queue === undefined ? (
            <div className="card">
              <Empty command="npx detent queue list">There is no queue {name} here: a queue exists from its first command on.</Empty>
            </div>
          ) : (
            <div className="grid gap-4">
              <section className="card grid gap-3 p-4">
                <QueueView queue={queue} title={<h2 className="flex-1 text-sm font-semibold">Commands</h2>} />
              </section>
              <Panel title="Workers" flush>
                {queue.workers.length === 0 ? (
                  <p className="px-4 py-3 text-muted">No worker executes a command of this queue now.</p>
                ) : (
                  <ul>
                    {queue.workers.map(({ worker, running }) => (
                      <li key={worker} className="flex gap-3 border-b border-line px-4 py-2 last:border-0">
                        <span className="min-w-0 flex-1 truncate font-medium">{worker}</span>
                        <span className="text-muted">executes {countText(running)}</span>
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
              <Groups queue={name} />
              <Waiting queue={name} />
            </div>
          )
        }
      </Answer>
    </>
  )
}

/** Pending commands of a group are counted up to this number. */
const mostCounted = 1000

/** The groups that have commands to execute or limits of their own. */
const Groups = ({ queue }: { readonly queue: string }) => {
  const [after, setAfter] = useState<ReadonlyArray<string | number>>([])
  const [limiting, setLimiting] = useState<string | undefined>(undefined)
  const groups = useRead(reads.queueGroups(queue, after.at(-1)))
  const chosen = groups.data?.groups.find(({ group }) => group === limiting)
  return (
    <Panel title="Groups" flush>
      <Answer of={groups} rows={2}>
        {({ groups: found, next }) =>
          found.length === 0 && after.length === 0 ? (
            <p className="px-4 py-3 text-muted">No group has commands to execute. Commands are enqueued with a group, such as a tenant.</p>
          ) : (
            <>
              <ul>
                {found.map(({ group, pending, running, own }) => (
                  <li key={group} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2 last:border-0">
                    <span className="min-w-0 flex-1 truncate font-medium">{group}</span>
                    <span className="text-xs text-muted tabular-nums">
                      {pending >= mostCounted ? `${countText(mostCounted)} or more` : countText(pending)} pending, {countText(running)}{" "}
                      running
                    </span>
                    {own === undefined ? null : <span className="text-xs">own limits: {limitsText(own)}</span>}
                    <ActButton onClick={() => setLimiting(group)}>Limits…</ActButton>
                  </li>
                ))}
              </ul>
              <div className="flex gap-2 px-4 py-2">
                {after.length === 0 ? null : <Button onClick={() => setAfter(after.slice(0, -1))}>Previous</Button>}
                {next === undefined ? null : <Button onClick={() => setAfter([...after, next])}>Next</Button>}
              </div>
            </>
          )
        }
      </Answer>
      {limiting === undefined ? null : (
        <GroupLimits queue={queue} group={limiting} own={chosen?.own} onClose={() => setLimiting(undefined)} />
      )}
    </Panel>
  )
}

/** The commands that a worker takes next. */
const Waiting = ({ queue }: { readonly queue: string }) => {
  const waiting = useRead(reads.commands({ status: "pending", queue }, undefined, 20))
  return (
    <Panel title="Waiting, oldest first" flush>
      <Answer of={waiting} rows={2}>
        {({ commands, next }) =>
          commands.length === 0 ? (
            <p className="px-4 py-3 text-muted">No command waits.</p>
          ) : (
            <ul>
              {commands.map(({ key, slot, machine, id, attempts, runAt, problem }) => (
                <li key={key} className="flex flex-wrap items-baseline gap-x-3 border-b border-line px-4 py-2 last:border-0">
                  <Link
                    href={hrefOf(["commands"], { status: "pending", queue, command: key })}
                    className="font-medium hover:text-accent hover:underline"
                  >
                    {slot}
                  </Link>
                  <span className="text-xs text-muted">{machine === undefined ? "no instance" : `${machine} / ${id}`}</span>
                  {problem === undefined ? null : <span className="min-w-0 flex-1 truncate text-xs text-bad">{problem}</span>}
                  <span className="ml-auto text-xs text-muted">
                    {attempts > 0 ? `${attempts} tries · ` : ""}
                    <Ago at={runAt} />
                  </span>
                </li>
              ))}
              {next === undefined ? null : (
                <li className="px-4 py-2">
                  <Link href={hrefOf(["commands"], { status: "pending", queue })} className="text-accent hover:underline">
                    All waiting commands
                  </Link>
                </li>
              )}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}

type Rate = NonNullable<Queue["rate"]>

type Most = NonNullable<Queue["perGroup"]>

const limitsText = ({ concurrency, rate }: Most): string =>
  [
    ...(concurrency === undefined ? [] : [`concurrency ${concurrency}`]),
    ...(rate === undefined ? [] : [`at most ${rate.limit} in ${durationText(rate.intervalMillis)}`]),
  ].join(", ")

const QueueView = ({
  queue: { queue, paused, concurrency, counts, oldestPendingAt, perGroup, rate, workers },
  title,
}: {
  readonly queue: Queue
  readonly title: ReactNode
}) => {
  const { act, isBusy } = useAct()
  const [isLimiting, setIsLimiting] = useState(false)
  const now = useNow()
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        {title}
        <Badge tone={paused ? "warn" : "good"}>{paused ? "paused" : "open"}</Badge>
        <ActButton onClick={() => setIsLimiting(true)}>Limits…</ActButton>
        <ActButton
          icon={paused ? "play" : "pause"}
          isBusy={isBusy}
          onClick={() =>
            void act(write("POST", ["queues", queue, paused ? "resume" : "pause"]), () => ({
              text: `${queue} is ${paused ? "open again" : "paused"}.`,
              href: hrefOf(["queues", queue]),
            }))
          }
        >
          {paused ? "Resume" : "Pause"}
        </ActButton>
      </div>
      <dl className="grid grid-cols-3 gap-3 sm:grid-cols-6">
        {order.map((status) => (
          <div key={status}>
            <dt className="text-xs text-muted">{status}</dt>
            <dd className="text-lg font-semibold tabular-nums">
              <Link
                href={hrefOf(["commands"], { status, queue })}
                className={`hover:text-accent ${status === "failed" && (counts[status] ?? 0) > 0 ? "text-bad" : ""}`}
              >
                {countText(counts[status] ?? 0)}
              </Link>
            </dd>
          </div>
        ))}
      </dl>
      <p className="flex flex-wrap gap-x-4 text-xs text-muted">
        {concurrency === undefined ? null : <span>concurrency {concurrency}</span>}
        {oldestPendingAt === undefined ? <span>no lag</span> : <span>lag {durationText(Math.max(0, now - oldestPendingAt))}</span>}
        {rate === undefined ? null : (
          <span>
            at most {rate.limit} in {durationText(rate.intervalMillis)}
          </span>
        )}
        {perGroup === undefined ? null : <span>each group: {limitsText(perGroup)}</span>}
        {workers.map(({ worker, running }) => (
          <span key={worker}>
            {worker} executes {running}
          </span>
        ))}
      </p>
      {isLimiting ? (
        <Limits queue={queue} concurrency={concurrency} rate={rate} perGroup={perGroup} onClose={() => setIsLimiting(false)} />
      ) : null}
    </>
  )
}

/** The text of a field, as the API takes a concurrency. */
const concurrencyIn = (text: string): number | null => (text === "" ? null : Number(text))

/** A rate per second with one decimal, as the API takes it. */
const rateIn = (text: string): Rate | null =>
  text === "" ? null : { limit: Math.max(1, Math.round(Number(text) * 10)), intervalMillis: 10_000 }

const perSecondOf = (rate: Rate | undefined): string => (rate === undefined ? "" : String((rate.limit * 1000) / rate.intervalMillis))

const NumberField = ({
  label,
  value,
  step,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly step: "1" | "0.1"
  readonly onChange: (value: string) => void
}) => (
  <label className="grid gap-1">
    <span className="label">{label}</span>
    <input type="number" min={step} step={step} className="field" value={value} onChange={({ target }) => onChange(target.value)} />
  </label>
)

const LimitsForm = ({
  title,
  text,
  onSave,
  onClose,
  children,
}: {
  readonly title: string
  readonly text: string
  readonly onSave: () => Promise<void>
  readonly onClose: () => void
  readonly children: ReactNode
}) => (
  <Modal title={title} onClose={onClose}>
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        void onSave()
      }}
    >
      <p className="text-muted">{text}</p>
      {children}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <ActButton type="submit" look="primary">
          Set
        </ActButton>
      </div>
    </form>
  </Modal>
)

const Limits = ({
  queue,
  concurrency,
  rate,
  perGroup,
  onClose,
}: {
  readonly queue: string
  readonly concurrency: number | undefined
  readonly rate: Rate | undefined
  readonly perGroup: Most | undefined
  readonly onClose: () => void
}) => {
  const { act } = useAct()
  const [atOnce, setAtOnce] = useState(String(concurrency ?? ""))
  const [perSecond, setPerSecond] = useState(perSecondOf(rate))
  const [ofGroup, setOfGroup] = useState(String(perGroup?.concurrency ?? ""))
  const [ofGroupPerSecond, setOfGroupPerSecond] = useState(perSecondOf(perGroup?.rate))
  const save = async () => {
    const each = { concurrency: concurrencyIn(ofGroup), rate: rateIn(ofGroupPerSecond) }
    const given = Object.fromEntries(Object.entries(each).filter(([, value]) => value !== null))
    const answer = await act<Queue>(
      write("PUT", ["queues", queue], {
        concurrency: concurrencyIn(atOnce),
        rate: rateIn(perSecond),
        perGroup: Object.keys(given).length === 0 ? null : given,
      }),
      () => ({ text: `The limits of ${queue} are set.` }),
    )
    if (answer !== undefined) onClose()
  }
  return (
    <LimitsForm
      title={`Limits of ${queue}`}
      text="The limits apply to all workers together. Leave a field empty for no limit."
      onSave={save}
      onClose={onClose}
    >
      <NumberField label="Concurrency" step="1" value={atOnce} onChange={setAtOnce} />
      <NumberField label="Started per second" step="0.1" value={perSecond} onChange={setPerSecond} />
      <NumberField label="Concurrency of each group" step="1" value={ofGroup} onChange={setOfGroup} />
      <NumberField label="Started per second, of each group" step="0.1" value={ofGroupPerSecond} onChange={setOfGroupPerSecond} />
    </LimitsForm>
  )
}

const GroupLimits = ({
  queue,
  group,
  own,
  onClose,
}: {
  readonly queue: string
  readonly group: string
  readonly own: Most | undefined
  readonly onClose: () => void
}) => {
  const { act } = useAct()
  const [atOnce, setAtOnce] = useState(String(own?.concurrency ?? ""))
  const [perSecond, setPerSecond] = useState(perSecondOf(own?.rate))
  const save = async () => {
    const answer = await act(
      write("PUT", ["queues", queue, "groups", group], { concurrency: concurrencyIn(atOnce), rate: rateIn(perSecond) }),
      () => ({ text: `The limits of ${group} are set.` }),
    )
    if (answer !== undefined) onClose()
  }
  return (
    <LimitsForm
      title={`Limits of ${group}`}
      text="They replace those of each group. Leave a field empty for the limit of each group."
      onSave={save}
      onClose={onClose}
    >
      <NumberField label="Concurrency" step="1" value={atOnce} onChange={setAtOnce} />
      <NumberField label="Started per second" step="0.1" value={perSecond} onChange={setPerSecond} />
    </LimitsForm>
  )
}
