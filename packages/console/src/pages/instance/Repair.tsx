/** A held instance: the stored event that does not replay, and a form for its replacement. A dry run must succeed before the repair. */
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { submit, write } from "../../api/Client.ts"
import * as reads from "../../api/reads.ts"
import type { InstanceView, Json } from "../../api/types.ts"
import { useRead } from "../../live/useRead.ts"
import { ActButton } from "../../parts/Button.tsx"
import { JsonText } from "../../parts/JsonView.tsx"
import { Panel } from "../../parts/Panel.tsx"
import { JsonInput, type JsonSchema, SchemaForm } from "../../parts/SchemaForm.tsx"
import { useToast } from "../../parts/Toasts.tsx"
import { useOneAtATime } from "../../parts/useOneAtATime.ts"

type Held = NonNullable<InstanceView["held"]>

export const Repair = ({ view }: { readonly view: InstanceView }) => {
  const { held } = view
  if (held === undefined)
    return (
      <p className="mb-4 text-muted">
        The server does not say which event holds the instance. <code className="font-mono">npx detent instance repair --help</code> shows
        how to repair it.
      </p>
    )
  // After a repair, a later event may hold the instance: the key gives it a new form.
  return <RepairForm key={`${held.sequence} ${JSON.stringify(held.stored)}`} view={view} held={held} />
}

const RepairForm = ({ view, held }: { readonly view: InstanceView; readonly held: Held }) => {
  const { machine, id } = view
  const client = useQueryClient()
  const toast = useToast()
  const details = useRead(reads.machine(machine))
  const [event, setEvent] = useState<Json>((held.stored as Json) ?? {})
  const { once, isBusy } = useOneAtATime()
  const [reason, setReason] = useState("")
  const [trial, setTrial] = useState<{ readonly of: string; readonly good: boolean; readonly text: string }>()
  // The answer may arrive after the event was changed: then it does not apply.
  const subject = JSON.stringify(event)
  const tried = trial?.of === subject ? trial : undefined
  const tag =
    typeof event === "object" && event !== null && !Array.isArray(event) ? String((event as Readonly<Record<string, Json>>)["_tag"]) : ""
  const schema = details.data?.eventSchemas[tag] as JsonSchema | undefined
  const send = (dryRun: boolean) =>
    submit<InstanceView>(
      write("POST", ["instances", machine, id, "repair"], { sequence: held.sequence, event, ...(dryRun ? { dryRun } : { reason }) }),
    )
  const attempt = () =>
    send(true).then(
      ({ state }) => setTrial({ of: subject, good: true, text: `With this event the instance replays and reaches ${state._tag}.` }),
      (reason: unknown) => setTrial({ of: subject, good: false, text: reason instanceof Error ? reason.message : String(reason) }),
    )
  const repair = () =>
    send(false)
      .then(
        ({ state, status }) =>
          toast({ text: status === "held" ? `${id} is repaired up to step ${held.sequence}.` : `${id} is repaired and in ${state._tag}.` }),
        // Also called where the event was replaced and a later event holds the instance.
        (reason: unknown) => toast({ text: reason instanceof Error ? reason.message : String(reason), tone: "bad" }),
      )
      .then(() => client.invalidateQueries())
  return (
    <Panel title={`Held at step ${held.sequence}`} className="mb-4 border-bad/50">
      <p className="mb-3 text-bad">{held.problem}</p>
      <div className="grid gap-4 lg:grid-cols-2">
        <section>
          <h3 className="label mb-1.5">Stored event</h3>
          <JsonText value={held.stored as Json} />
        </section>
        <form
          className="grid content-start gap-3"
          onSubmit={(submitted) => {
            submitted.preventDefault()
            void attempt()
          }}
        >
          <h3 className="label">Replacement</h3>
          {schema === undefined ? (
            <>
              <label htmlFor="repair-event" className="sr-only">
                Event as JSON
              </label>
              <JsonInput id="repair-event" value={event} onChange={setEvent} />
            </>
          ) : (
            <SchemaForm
              schema={schema}
              value={event}
              onChange={(next) =>
                setEvent(typeof next === "object" && next !== null && !Array.isArray(next) ? { ...next, _tag: tag } : next)
              }
            />
          )}
          {tried?.good !== true ? null : (
            <div className="grid gap-1">
              <label htmlFor="repair-reason" className="label">
                Reason
              </label>
              <input
                id="repair-reason"
                className="field"
                required
                maxLength={1000}
                autoComplete="off"
                placeholder="kept with the original event"
                value={reason}
                onChange={({ target }) => setReason(target.value)}
              />
            </div>
          )}
          {tried === undefined ? null : (
            <p role="status" className={`rounded-lg px-3 py-2 ${tried.good ? "bg-good-soft text-good" : "bg-bad-soft text-bad"}`}>
              {tried.text}
            </p>
          )}
          <div className="flex gap-2">
            <ActButton type="submit">Try</ActButton>
            <ActButton
              look="primary"
              disabled={tried?.good !== true}
              isBusy={isBusy}
              title="Try it first."
              onClick={({ currentTarget }) => {
                if (currentTarget.form?.reportValidity() === true) once(repair)
              }}
            >
              Repair
            </ActButton>
          </div>
        </form>
      </div>
    </Panel>
  )
}
