/** Commands by status: dead letters in groups of one cause, then one by one, with the history of each. */
import { useCallback, useMemo, useState } from "react"
import { submit, write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { Command, Json } from "../api/types.ts"
import { instanceHref } from "../browser/addresses.ts"
import { hrefOf, Link, setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge, toneOf } from "../parts/Badge.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { Confirm } from "../parts/Confirm.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { Chips } from "../parts/Filters.tsx"
import { Fields } from "../parts/JsonView.tsx"
import { Modal } from "../parts/Modal.tsx"
import { Ago, countText } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel, ProblemNote, Skeleton } from "../parts/Panel.tsx"
import { rangeOptions, TimeRange, useTimeRange } from "../parts/TimeRange.tsx"
import { useToast } from "../parts/Toasts.tsx"
import { useAct } from "../parts/useAct.ts"
import { useOneAtATime } from "../parts/useOneAtATime.ts"
import { usePicks } from "../parts/usePicks.ts"
import { useRows } from "../parts/useRows.ts"
import { type Column, VirtualTable } from "../parts/VirtualTable.tsx"

const statuses = ["failed", "pending", "processing", "completed", "handled", "skipped"]

const keyOf = ({ number }: Command) => String(number)
const rowsOf = ({ commands }: { readonly commands: ReadonlyArray<Command> }) => commands

const columns: ReadonlyArray<Column<Command>> = [
  { title: "Effect", width: "minmax(6rem,1fr)", cell: ({ slot }) => slot },
  {
    title: "Instance",
    width: "minmax(7rem,1.3fr)",
    cell: ({ machine, id }) =>
      machine === undefined ? (
        "none"
      ) : (
        <span title={`${machine} / ${id}`}>
          {id} <span className="text-xs text-muted">{machine}</span>
        </span>
      ),
  },
  { title: "Queue", width: "minmax(5rem,0.8fr)", cell: ({ queue }) => queue, wideOnly: true },
  { title: "Status", width: "6.5rem", cell: ({ status }) => <Badge tone={toneOf(status)}>{status}</Badge> },
  { title: "Problem", width: "minmax(6rem,2fr)", cell: ({ problem }) => <span title={problem}>{problem}</span>, wideOnly: true },
  { title: "Tries", width: "3.5rem", cell: ({ attempts }) => attempts, wideOnly: true, right: true },
  {
    title: "When",
    width: "6.5rem",
    cell: ({ finishedAt, enqueuedAt }) => <Ago at={finishedAt ?? enqueuedAt} />,
    wideOnly: true,
    right: true,
  },
]

type Filter = Omit<reads.CommandFilter, "status">

/** The conditions of the list, which retrying and skipping take too. */
const useFilter = (): Filter => {
  const query = useQueryState()
  const { since, until } = useTimeRange()
  const [queue, slot, machine, id, fingerprint] = ["queue", "slot", "machine", "id", "fingerprint"].map(query.get)
  return useMemo(
    () => ({ queue, slot, machine, id, fingerprint, enqueuedAfter: since, enqueuedBefore: until }),
    [queue, slot, machine, id, fingerprint, since, until],
  )
}

export const Commands = () => {
  const query = useQueryState()
  const status = query.get("status") ?? "failed"
  const opened = query.get("command")
  const filter = useFilter()
  return (
    <>
      <PageHead
        title="Commands"
        actions={
          <CopyMenu
            path={reads.commands({ ...filter, status }).path}
            command={`npx detent command list --status ${status}${optionsOf(filter)}`}
          />
        }
      >
        Effects that instances requested. A command that failed for good is a dead letter.
      </PageHead>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <Chips
          label="Status"
          chips={[
            ...statuses.map((value) => ({ value, text: value === "failed" ? "dead letters" : value })),
            { value: "timers", text: "failed timers" },
          ]}
          chosen={[status]}
          onChoose={(value) => setQuery({ status: value, fingerprint: undefined })}
        />
        {status === "timers" ? null : <TimeRange what="requested" />}
      </div>
      {status === "timers" ? <DeadTimers /> : <CommandRows status={status} filter={filter} />}
      {opened === undefined ? null : <OneCommand commandKey={opened} onClose={() => setQuery({ command: undefined })} />}
    </>
  )
}

/** The filter as options of a command. */
const optionsOf = ({ queue, slot, machine, id, fingerprint, enqueuedAfter, enqueuedBefore }: Filter): string =>
  [
    "",
    ...(queue === undefined ? [] : [`--queue ${quoted(queue)}`]),
    ...(slot === undefined ? [] : [`--slot ${quoted(slot)}`]),
    ...(machine === undefined ? [] : id === undefined ? [`--machine ${quoted(machine)}`] : [`--instance ${quoted(`${machine}/${id}`)}`]),
    ...(fingerprint === undefined ? [] : [`--fingerprint ${quoted(fingerprint)}`]),
    ...rangeOptions(enqueuedAfter, enqueuedBefore),
  ].join(" ")

const CommandRows = ({ status, filter }: { readonly status: string; readonly filter: Filter }) => {
  const { queue, slot, machine, id, fingerprint, enqueuedAfter: since, enqueuedBefore: until } = filter
  const address = useCallback((after?: string | number) => reads.commands({ ...filter, status }, after), [status, filter])
  const { rows, fresh, pages, onEnd, showFresh } = useRows({ address, rowsOf, keyOf })
  const { picked, pickedRows, onPick, onPickAll } = usePicks(address, rows, keyOf)
  const names = Object.entries({ queue, slot, machine, id, fingerprint }).filter(([, value]) => value !== undefined)
  const acted = pickedRows.length === 0 ? filter : { number: pickedRows.map(({ number }) => number) }
  const isActedOn = status === "failed" || status === "pending"
  return (
    <div className="grid gap-4">
      {status === "failed" && fingerprint === undefined ? <Groups filter={filter} /> : null}
      <Panel
        title={status === "failed" ? "Dead letters" : `Commands, ${status}`}
        flush
        aside={
          <>
            {fresh === 0 ? null : (
              <button type="button" className="font-medium text-accent hover:underline" onClick={showFresh}>
                {fresh} new ↑
              </button>
            )}
            {names.map(([name, value]) => (
              <Button
                key={name}
                look="quiet"
                icon="close"
                aria-label={`Remove the filter ${name}`}
                onClick={() => setQuery({ [name]: undefined })}
              >
                {name} {value}
              </Button>
            ))}
            {status === "failed" && rows.length > 0 ? <RetryFilter filter={acted} picked={pickedRows.length} /> : null}
            {isActedOn && rows.length > 0 ? <SkipFilter filter={acted} picked={pickedRows.length} status={status} /> : null}
          </>
        }
      >
        {pages.error !== null && rows.length === 0 ? <ProblemNote problem={pages.error} onRetry={() => void pages.refetch()} /> : null}
        {pages.isPending ? (
          <div className="p-4">
            <Skeleton />
          </div>
        ) : rows.length === 0 ? (
          pages.error === null ? (
            <Empty>{status === "failed" ? `No command failed for good. Default: ${defaultRetry}.` : `No command is ${status}.`}</Empty>
          ) : null
        ) : (
          <VirtualTable
            label="Commands"
            rows={rows}
            columns={columns}
            keyOf={keyOf}
            hrefOf={({ key }) => hrefOf(["commands"], { status, queue, slot, machine, id, fingerprint, since, until, command: key })}
            nameOf={({ key }) => key}
            {...(isActedOn ? { picked, onPick, onPickAll } : {})}
            onEnd={onEnd}
            height="50dvh"
          />
        )}
      </Panel>
    </div>
  )
}

/** Dead letters with the same cause. */
const Groups = ({ filter }: { readonly filter: Filter }) => {
  const groups = useRead(reads.commandGroups(filter))
  const { enqueuedAfter: since, enqueuedBefore: until } = filter
  if (groups.data?.groups.length === 0) return null
  return (
    <Panel title="By cause" flush>
      <Answer of={groups}>
        {({ groups: found }) => (
          <ul>
            {found.map(({ fingerprint, problem, slot, queue, count, firstAt, lastAt }) => (
              <li
                key={fingerprint}
                className="relative grid gap-x-4 gap-y-1 border-b border-line px-4 py-2.5 last:border-0 hover:bg-hover sm:grid-cols-[3.5rem_minmax(0,1fr)_auto] sm:items-center"
              >
                <b className="text-lg tabular-nums text-bad">{countText(count)}</b>
                <div className="min-w-0">
                  <Link
                    href={hrefOf(["commands"], { status: "failed", fingerprint, since, until })}
                    className="block truncate font-medium after:absolute after:inset-0"
                    title={problem}
                  >
                    {problem}
                  </Link>
                  <p className="text-xs text-muted">
                    {slot} · queue {queue} · first <Ago at={firstAt} /> · last <Ago at={lastAt} />
                  </p>
                </div>
                <span className="relative z-10 flex gap-2">
                  <RetryFilter filter={{ ...filter, fingerprint }} />
                  <SkipFilter filter={{ ...filter, fingerprint }} status="failed" />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  )
}

interface ActedOn {
  readonly filter: Filter
  /** How many rows are selected: then the filter names them. */
  readonly picked?: number
}

const given = (filter: Filter) => Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))

/** Counts the commands that a retry of the filter would execute again, asks, and does it. */
const RetryFilter = ({ filter, picked = 0 }: ActedOn) => {
  const { act, isBusy } = useAct()
  const { once, isBusy: isCounting } = useOneAtATime()
  const toast = useToast()
  const [count, setCount] = useState<number>()
  const ask = () =>
    submit<{ readonly count: number }>(write("POST", ["commands", "retry"], { ...given(filter), dryRun: true })).then(
      (answer) => setCount(answer.count),
      (reason: unknown) => toast({ text: reason instanceof Error ? reason.message : String(reason), tone: "bad" }),
    )
  return (
    <>
      <ActButton isBusy={isBusy || isCounting} onClick={() => once(ask)}>
        {picked === 0 ? "Retry all…" : `Retry ${countText(picked)}…`}
      </ActButton>
      {count === undefined ? null : (
        <Confirm
          title={`Retry ${countText(count)} ${count === 1 ? "command" : "commands"}?`}
          action={`Retry ${countText(count)}`}
          onClose={() => setCount(undefined)}
          onConfirm={() =>
            void act<{ readonly count: number; readonly refused?: number }>(
              write("POST", ["commands", "retry"], given(filter)),
              (answer) => ({
                text: `${commandsText(answer.count)} executed again${answer.refused === undefined ? "" : `; ${answer.refused} were refused`}.`,
                href: hrefOf(["commands"], { status: "pending" }),
                linkText: "Show pending commands",
              }),
            )
          }
        >
          <p className="text-muted">They are executed again, and their attempts are counted from 1.</p>
        </Confirm>
      )}
    </>
  )
}

/** Counts the commands that the filter would skip, asks for a reason, and does it. */
const SkipFilter = ({ filter, picked = 0, status }: ActedOn & { readonly status: "failed" | "pending" }) => {
  const { act, isBusy } = useAct()
  const { once, isBusy: isCounting } = useOneAtATime()
  const toast = useToast()
  const [count, setCount] = useState<number>()
  const chosen = { ...given(filter), status }
  const ask = () =>
    submit<{ readonly count: number }>(write("POST", ["commands", "skip"], { filter: chosen, reason: "dry run", dryRun: true })).then(
      (answer) => setCount(answer.count),
      (reason: unknown) => toast({ text: reason instanceof Error ? reason.message : String(reason), tone: "bad" }),
    )
  return (
    <>
      <ActButton isBusy={isBusy || isCounting} onClick={() => once(ask)}>
        {picked === 0 ? "Skip all…" : `Skip ${countText(picked)}…`}
      </ActButton>
      {count === undefined ? null : (
        <Confirm
          title={`Skip ${countText(count)} ${count === 1 ? "command" : "commands"}?`}
          action={`Skip ${countText(count)}`}
          reason="Reason"
          isDangerous
          onClose={() => setCount(undefined)}
          onConfirm={(reason) =>
            void act<{ readonly count: number }>(write("POST", ["commands", "skip"], { filter: chosen, reason }), (answer) => ({
              text: `${commandsText(answer.count)} skipped.`,
              href: hrefOf(["commands"], { status: "skipped" }),
              linkText: "Show skipped commands",
            }))
          }
        >
          <p className="text-muted">They are never executed. The reason is stored with each.</p>
        </Confirm>
      )}
    </>
  )
}

const OneCommand = ({ commandKey, onClose }: { readonly commandKey: string; readonly onClose: () => void }) => {
  const command = useRead(reads.command(commandKey))
  return (
    <Modal title="Command" onClose={onClose} width="wide">
      <Answer of={command}>{(found) => <CommandDetails command={found} />}</Answer>
    </Modal>
  )
}

const CommandDetails = ({ command }: { readonly command: Command }) => {
  const { key, slot, queue, machine, id, sequence, status, attempts, problem, errors, enqueuedAt, finishedAt, runAt, worker } = command
  const { act, isBusy } = useAct()
  const [isSkipping, setIsSkipping] = useState(false)
  const parameters = command.parameters as Readonly<Record<string, Json>> | null | undefined
  const isStuck = status === "failed" || status === "pending"
  return (
    <div className="grid gap-4">
      <p className="flex flex-wrap items-center gap-2">
        <b className="text-lg">{slot}</b>
        <Badge tone={toneOf(status)}>{status}</Badge>
        <span className="text-muted">
          {attempts} {attempts === 1 ? "attempt" : "attempts"} · queue {queue}
          {worker === undefined ? "" : ` · ${worker}`}
        </span>
      </p>
      {problem === undefined ? null : <p className="rounded-lg bg-bad-soft px-3 py-2 break-words text-bad">{problem}</p>}
      <dl className="grid grid-cols-[7rem_minmax(0,1fr)] gap-x-4 gap-y-1.5">
        <dt className="text-muted">Requested by</dt>
        <dd className="truncate">
          {machine === undefined || id === undefined ? (
            "the application, without an instance"
          ) : (
            <Link href={`${instanceHref(machine, id)}${sequence < 0 ? "" : `?at=${sequence}`}`} className="text-accent hover:underline">
              {machine} / {id}
              {sequence < 0 ? "" : `, step ${sequence}`}
            </Link>
          )}
        </dd>
        <dt className="text-muted">Requested</dt>
        <dd>
          <Ago at={enqueuedAt} />
        </dd>
        <dt className="text-muted">{finishedAt === undefined ? "Runs" : "Finished"}</dt>
        <dd>
          <Ago at={finishedAt ?? runAt} />
        </dd>
        <dt className="text-muted">Key</dt>
        <dd className="font-mono text-xs break-all">{key}</dd>
      </dl>
      {parameters === undefined || parameters === null ? null : (
        <section>
          <h3 className="label mb-1.5">Parameters</h3>
          <Fields of={parameters} empty="No parameters." />
        </section>
      )}
      {errors === undefined ? null : (
        <section>
          <h3 className="label mb-1.5">Attempts that failed</h3>
          <ol className="grid gap-1">
            {errors.map(({ attempt, at, problem: said }) => (
              <li key={attempt} className="flex gap-3">
                <span className="text-muted tabular-nums">{attempt}</span>
                <span className="min-w-0 flex-1 break-words">{said}</span>
                <span className="text-muted">
                  <Ago at={at} />
                </span>
              </li>
            ))}
          </ol>
        </section>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        <ActButton disabled={!isStuck || isBusy} onClick={() => setIsSkipping(true)}>
          Skip…
        </ActButton>
        <ActButton
          look="primary"
          disabled={status !== "failed" || isBusy}
          onClick={() => void act<Command>(write("POST", ["commands", key, "retry"]), () => ({ text: `${slot} is executed again.` }))}
        >
          Retry
        </ActButton>
      </div>
      {isSkipping ? (
        <Confirm
          title={`Skip ${slot}?`}
          action="Skip it"
          reason="Reason"
          isDangerous
          onClose={() => setIsSkipping(false)}
          onConfirm={(reason) =>
            void act<Command>(write("POST", ["commands", key, "skip"], { reason }), () => ({ text: `${slot} is skipped.` }))
          }
        />
      ) : null}
    </div>
  )
}

const DeadTimers = () => {
  const timers = useRead(reads.deadTimers)
  const { act } = useAct()
  return (
    <Panel title="Timers that could not be fired" flush>
      <Answer of={timers}>
        {({ timers: dead }) =>
          dead.length === 0 ? (
            <Empty>No timer failed for good. Default: {defaultRetry}.</Empty>
          ) : (
            <ul>
              {dead.map(({ machine, id, name, entry, due, attempts, problem }) => (
                <li
                  key={`${machine} ${id} ${name} ${entry}`}
                  className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2.5 last:border-0"
                >
                  <div className="min-w-0 flex-1 basis-60">
                    <Link href={instanceHref(machine, id)} className="font-medium hover:text-accent hover:underline">
                      {name} of {machine} / {id}
                    </Link>
                    <p className="break-words text-bad">{problem}</p>
                    <p className="text-xs text-muted">
                      {attempts} attempts · due <Ago at={due} />
                    </p>
                  </div>
                  <ActButton
                    onClick={() =>
                      void act(write("POST", ["timers", "dead", "revive"], { machine, id, name, entry, due }), () => ({
                        text: `${name} is fired again.`,
                      }))
                    }
                  >
                    Revive
                  </ActButton>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}

const commandsText = (count: number): string => `${countText(count)} ${count === 1 ? "command is" : "commands are"}`
