/** Queues: what waits, what runs, and the switch that pauses one. */
import { useState } from "react"
import { write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { Queue } from "../api/types.ts"
import { useRead } from "../api/useRead.ts"
import { hrefOf, Link, useQueryState } from "../app/Router.tsx"
import { Badge } from "../parts/Badge.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { Modal } from "../parts/Modal.tsx"
import { Ago, countText, durationText } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead } from "../parts/Panel.tsx"
import { useAct } from "../parts/useAct.ts"

const order = ["pending", "processing", "failed", "completed", "handled", "skipped"]

export const Queues = () => {
  const queues = useRead(reads.queues)
  const chosen = useQueryState().get("queue")
  return (
    <>
      <PageHead title="Queues">Where commands wait for a worker.</PageHead>
      <Answer of={queues}>
        {({ queues: found }) =>
          found.length === 0 ? (
            <div className="card">
              <Empty>No command was enqueued yet: a queue exists from its first command on.</Empty>
            </div>
          ) : (
            <ul className="grid gap-3 lg:grid-cols-2">
              {found.map((queue) => (
                <QueueCard key={queue.queue} queue={queue} isChosen={queue.queue === chosen} />
              ))}
            </ul>
          )
        }
      </Answer>
    </>
  )
}

type Rate = NonNullable<Queue["rate"]>

const QueueCard = ({
  queue: { queue, paused, concurrency, counts, oldestPendingAt, rate, workers },
  isChosen,
}: {
  readonly queue: Queue
  readonly isChosen: boolean
}) => {
  const { act, isBusy } = useAct()
  const [isLimiting, setIsLimiting] = useState(false)
  return (
    <li className={`card grid gap-3 p-4 ${isChosen ? "border-accent" : ""}`}>
      <div className="flex flex-wrap items-center gap-3">
        <h2 className="min-w-0 flex-1 truncate text-[15px] font-semibold">{queue}</h2>
        <Badge tone={paused ? "warn" : "good"}>{paused ? "paused" : "open"}</Badge>
        <ActButton onClick={() => setIsLimiting(true)}>Limits…</ActButton>
        <ActButton
          icon={paused ? "play" : "pause"}
          disabled={isBusy}
          onClick={() =>
            void act(write("POST", ["queues", queue, paused ? "resume" : "pause"]), () => ({
              text: `${queue} is ${paused ? "open again" : "paused"}.`,
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
        {concurrency === undefined ? null : <span>at most {concurrency} at once</span>}
        {oldestPendingAt === undefined ? null : (
          <span>
            oldest waits since <Ago at={oldestPendingAt} />
          </span>
        )}
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
    </li>
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
        <p className="text-muted">They hold for all workers together. Leave a field empty for no limit.</p>
        <label className="grid gap-1">
          <span className="label">Executed at once</span>
          <input type="number" min="1" className="field" value={atOnce} onChange={({ target }) => setAtOnce(target.value)} />
        </label>
        <label className="grid gap-1">
          <span className="label">Begun in a second</span>
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
