/** Sends one event to many instances: a dry run says how many would go where, then the user gives a reason and confirms. */
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { submit, write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { BulkSent, Json, Sent } from "../api/types.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { ActButton, Button } from "../parts/Button.tsx"
import { Modal } from "../parts/Modal.tsx"
import { countText } from "../parts/Moment.tsx"
import { Answer } from "../parts/Panel.tsx"
import { emptyValue, type JsonSchema, SchemaForm } from "../parts/SchemaForm.tsx"
import { useToast } from "../parts/Toasts.tsx"
import { useOneAtATime } from "../parts/useOneAtATime.ts"

interface BulkSendProps {
  readonly machine: string
  readonly filter: reads.InstanceFilter
  /** The selected instances. Undefined: all that match the filter. */
  readonly ids: ReadonlyArray<string> | undefined
  readonly onClose: () => void
}

export const BulkSend = ({ machine, filter, ids, onClose }: BulkSendProps) => {
  const details = useRead(reads.machine(machine))
  return (
    <Modal
      width="wide"
      title={ids === undefined ? "Send an event to all instances that match the filter" : `Send an event to ${ids.length} selected`}
      onClose={onClose}
    >
      <Answer of={details}>
        {({ events, eventSchemas }) => (
          <BulkForm
            machine={machine}
            events={events}
            schemas={eventSchemas as Readonly<Record<string, Json>>}
            filter={filter}
            ids={ids}
            onClose={onClose}
          />
        )}
      </Answer>
    </Modal>
  )
}

/** `refused`: how many of the selected instances refused the event, and the last reason. */
type Asked = BulkSent & { readonly refused?: string }

type Outcome = NonNullable<BulkSent["outcomes"]>[number]

/** Counts equal outcomes, most frequent first. */
const grouped = (outcomes: ReadonlyArray<Omit<Outcome, "count">>): ReadonlyArray<Outcome> => {
  const found = new Map<string, Outcome>()
  for (const one of outcomes) {
    const key = JSON.stringify([one.from, one.to, one.problem])
    const known = found.get(key)
    found.set(key, known === undefined ? { ...one, count: 1 } : { ...known, count: known.count + 1 })
  }
  return [...found.values()].sort((one, other) => other.count - one.count)
}

const textOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason))

const BulkForm = ({
  machine,
  events,
  schemas,
  filter,
  ids,
  onClose,
}: BulkSendProps & { readonly events: ReadonlyArray<string>; readonly schemas: Readonly<Record<string, Json>> }) => {
  const client = useQueryClient()
  const toast = useToast()
  const [event, setEvent] = useState(events[0] ?? "")
  const schema = (schemas[event] ?? {}) as JsonSchema
  const [fields, setFields] = useState<Json>(() => emptyValue(schema))
  const { once, isBusy } = useOneAtATime()
  const [count, setCount] = useState<{ readonly of: string; readonly found: Asked }>()
  const [problem, setProblem] = useState<string>()
  const [reason, setReason] = useState("")
  const given = typeof fields === "object" && fields !== null && !Array.isArray(fields) ? fields : {}
  const body = { _tag: event, ...given }
  // A count belongs to one event, and may arrive after the event was changed.
  const subject = JSON.stringify(body)
  const counted = count?.of === subject ? count.found : undefined
  /** Selected instances get the event one by one; for all matching ones, the server starts a job. */
  const ask = async (dryRun: boolean): Promise<Asked> => {
    if (ids === undefined)
      return submit<BulkSent>(
        write("POST", ["instances", "bulk"], { filter: { ...filter, machine }, event: body, ...(dryRun ? { dryRun } : { reason }) }),
      )
    const taken: Array<string> = []
    const outcomes: Array<Omit<Outcome, "count">> = []
    let refusal: unknown
    let refused = 0
    for (const id of ids) {
      await submit<Sent>(write("POST", ["instances", machine, id, "events"], body, dryRun ? { dryRun } : {})).then(
        ({ from = "", state }) => {
          taken.push(id)
          outcomes.push({ from, to: state._tag, example: id })
        },
        (why: unknown) => {
          refusal = why
          refused += 1
          outcomes.push({ from: "selected", problem: textOf(why), example: id })
        },
      )
    }
    if (taken.length === 0) throw refusal
    return {
      count: taken.length,
      sample: taken,
      outcomes: grouped(outcomes),
      ...(refused === 0 ? {} : { refused: `${countText(refused)} refused it: ${textOf(refusal)}` }),
    }
  }
  const failed = (why: unknown) => setProblem(textOf(why))
  const preview = () =>
    ask(true).then((found) => {
      setProblem(undefined)
      setCount({ of: subject, found })
    }, failed)
  const send = () =>
    ask(false).then(({ count: sent, refused, job }) => {
      const text = `${event} is sent to ${countText(sent)} ${sent === 1 ? "instance" : "instances"}.${refused === undefined ? "" : ` ${refused}`}`
      toast(
        job === undefined
          ? { text, ...(refused === undefined ? {} : { tone: "bad" as const }) }
          : { text, href: hrefOf(["instances", job.machine, job.id]), linkText: "Follow the job" },
      )
      void client.invalidateQueries()
      onClose()
    }, failed)
  return (
    <form
      className="grid gap-3"
      onSubmit={(submitted) => {
        submitted.preventDefault()
        once(counted === undefined ? preview : send)
      }}
    >
      <div className="grid gap-1">
        <label htmlFor="bulk-event" className="label">
          Event
        </label>
        <select
          id="bulk-event"
          className="field"
          value={event}
          onChange={({ target }) => {
            setEvent(target.value)
            setFields(emptyValue((schemas[target.value] ?? {}) as JsonSchema))
            setProblem(undefined)
          }}
        >
          {events.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </div>
      <SchemaForm
        key={event}
        schema={schema}
        value={fields}
        onChange={(next) => {
          setFields(next)
          setProblem(undefined)
        }}
      />
      {counted === undefined ? null : (
        <p className="rounded-lg bg-info-soft px-3 py-2 text-info">
          {event} would be sent to{" "}
          <b>
            {counted.atLeast === true ? "at least " : ""}
            {countText(counted.count)}
          </b>{" "}
          {counted.count === 1 ? "instance" : "instances"}
          {counted.previewed === undefined ? "" : `; the first ${countText(counted.previewed)} are examined here`}.
        </p>
      )}
      {counted === undefined ? null : <Cohort machine={machine} outcomes={counted.outcomes ?? []} />}
      {counted === undefined || ids !== undefined ? null : (
        <div className="grid gap-1">
          <label htmlFor="bulk-reason" className="label">
            Reason
          </label>
          <input
            id="bulk-reason"
            className="field"
            required
            maxLength={1000}
            autoComplete="off"
            placeholder="kept with the job"
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
        </div>
      )}
      {problem === undefined ? null : (
        <p role="alert" className="text-bad">
          {problem}
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        {counted === undefined ? (
          <Button type="submit" look="primary" isBusy={isBusy}>
            Preview
          </Button>
        ) : (
          <ActButton type="submit" look="primary" icon="send" disabled={counted.count === 0} isBusy={isBusy}>
            Send to {countText(counted.count)}
          </ActButton>
        )}
      </div>
    </form>
  )
}

/** How many instances would go where. */
const Cohort = ({ machine, outcomes }: { readonly machine: string; readonly outcomes: ReadonlyArray<Outcome> }) =>
  outcomes.length === 0 ? null : (
    <div className="max-h-56 overflow-auto rounded-lg border border-line">
      <table className="w-full text-left">
        <caption className="sr-only">What the event would do</caption>
        <thead>
          <tr className="label border-b border-line">
            <th className="px-3 py-1.5 text-right">Instances</th>
            <th className="px-3 py-1.5">From</th>
            <th className="px-3 py-1.5">To</th>
            <th className="px-3 py-1.5">Such as</th>
          </tr>
        </thead>
        <tbody>
          {outcomes.map(({ from, to, problem, count, example }) => (
            <tr key={`${from} ${to} ${problem}`} className="border-b border-line align-top last:border-0">
              <td className="px-3 py-1.5 text-right font-semibold tabular-nums">{countText(count)}</td>
              <td className="px-3 py-1.5">{from}</td>
              <td className={`px-3 py-1.5 ${to === undefined ? "break-words text-bad" : ""}`}>
                {to === undefined ? `refused: ${problem ?? ""}` : to === from ? "stays" : to}
              </td>
              <td className="px-3 py-1.5">
                <Link href={hrefOf(["instances", machine, example])} className="break-all text-accent hover:underline">
                  {example}
                </Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
