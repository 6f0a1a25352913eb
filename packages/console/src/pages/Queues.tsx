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
              <Waiting queue={name} />
            </div>
          )
        }
      </Answer>
    </>
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

const QueueView = ({
  queue: { queue, paused, concurrency, counts, oldestPendingAt, rate, workers },
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
        {workers.map(({ worker, running }) => (
          <span key={worker}>
            {worker} executes {running}
          </span>
        ))}
      </p>
      {isLimiting ? <Limits queue={queue} concurrency={concurrency} rate={rate} onClose={() => setIsLimiting(false)} /> : null}
    </>
  )
}

const Limits = ({
  queue,
  concurrency,
  rate,
  onClose,
}: {
  readonly queue: string
  readonly concurrency: number | undefined
  readonly rate: Rate | undefined
  readonly onClose: () => void
}) => {
  const { act } = useAct()
  const [atOnce, setAtOnce] = useState(concurrency === undefined ? "" : String(concurrency))
  const [perSecond, setPerSecond] = useState(rate === undefined ? "" : String((rate.limit * 1000) / rate.intervalMillis))
  const save = async () => {
    const answer = await act<Queue>(
      write("PUT", ["queues", queue], {
        concurrency: atOnce === "" ? null : Number(atOnce),
        rate: perSecond === "" ? null : { limit: Math.max(1, Math.round(Number(perSecond) * 10)), intervalMillis: 10_000 },
      }),
      () => ({ text: `The limits of ${queue} are set.` }),
    )
    if (answer !== undefined) onClose()
  }
  return (
    <Modal title={`Limits of ${queue}`} onClose={onClose}>
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <p className="text-muted">The limits apply to all workers together. Leave a field empty for no limit.</p>
        <label className="grid gap-1">
          <span className="label">Concurrency</span>
          <input type="number" min="1" className="field" value={atOnce} onChange={({ target }) => setAtOnce(target.value)} />
        </label>
        <label className="grid gap-1">
          <span className="label">Started per second</span>
          <input
            type="number"
            min="0.1"
            step="0.1"
            className="field"
            value={perSecond}
            onChange={({ target }) => setPerSecond(target.value)}
          />
        </label>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <ActButton type="submit" look="primary">
            Set
          </ActButton>
        </div>
      </form>
    </Modal>
  )
}
