/** The events that the instance accepts now: a form for one, its preview, and the button that sends it. */
import { type UseQueryResult, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { submit, write } from "../../api/Client.ts"
import { useSession } from "../../api/SessionContext.ts"
import type { InstanceView, Json, LegalEvent, Sent } from "../../api/types.ts"
import { Badge } from "../../parts/Badge.tsx"
import { ActButton, Button } from "../../parts/Button.tsx"
import { CopyButton, commandOf, curlOf, quoted } from "../../parts/Copy.tsx"
import { Changes } from "../../parts/JsonView.tsx"
import { changesBetween } from "../../parts/json.ts"
import { durationText } from "../../parts/Moment.tsx"
import { Answer, Panel } from "../../parts/Panel.tsx"
import { emptyValue, type JsonSchema, SchemaForm } from "../../parts/SchemaForm.tsx"
import { useToast } from "../../parts/Toasts.tsx"
import { useOneAtATime } from "../../parts/useOneAtATime.ts"

interface SendPanelProps {
  readonly view: InstanceView
  readonly legal: UseQueryResult<{ readonly state: string; readonly events: ReadonlyArray<LegalEvent> }, Error>
  readonly isNow: boolean
  readonly onLatest: () => void
}

export const SendPanel = ({ view, legal, isNow, onLatest }: SendPanelProps) => {
  const [chosen, setChosen] = useState<string>()
  const event = legal.data?.events.find((one) => one.event === chosen)
  return (
    <Panel title="Send an event" aside={isNow ? "events that this state has a transition for" : undefined}>
      {!isNow ? (
        <div className="grid gap-2 text-muted">
          <p className="flex flex-wrap items-center gap-3">
            This is a past step. <Button onClick={onLatest}>Go to the latest</Button>
          </p>
          {legal.data === undefined ? null : (
            <p>
              {legal.data.events.length === 0
                ? `${legal.data.state} accepts no event.`
                : `${legal.data.state} accepts ${legal.data.events.map((one) => one.event).join(", ")}. To send one of them, fork the instance at this step.`}
            </p>
          )}
        </div>
      ) : view.status !== "running" ? (
        <p className="text-muted">The instance is {view.status}: it takes no events.</p>
      ) : (
        <Answer of={legal} rows={2}>
          {({ events }) =>
            events.length === 0 ? (
              <p className="text-muted">This state accepts no event. It waits for a timer or for its work.</p>
            ) : (
              <div className="grid gap-4">
                <div data-send="" className="flex flex-wrap gap-1.5">
                  {events.map((one) => (
                    <Button
                      key={one.event}
                      look={one.event === chosen ? "primary" : "plain"}
                      aria-pressed={one.event === chosen}
                      onClick={() => setChosen(one.event)}
                    >
                      {one.event}
                      {fieldsOf(one).length > 0 ? "…" : ""}
                    </Button>
                  ))}
                </div>
                {event === undefined ? null : (
                  <EventForm key={`${event.event} ${view.state._tag}`} view={view} event={event} onSent={() => setChosen(undefined)} />
                )}
              </div>
            )
          }
        </Answer>
      )}
    </Panel>
  )
}

const fieldsOf = ({ schema }: LegalEvent): ReadonlyArray<string> =>
  Object.keys((schema as JsonSchema).properties ?? {}).filter((name) => name !== "_tag")

const EventForm = ({ view, event, onSent }: { readonly view: InstanceView; readonly event: LegalEvent; readonly onSent: () => void }) => {
  const { machine, id } = view
  const client = useQueryClient()
  const toast = useToast()
  const { session } = useSession()
  const [fields, setFields] = useState<Json>(() => emptyValue(event.schema as JsonSchema))
  const { once, isBusy } = useOneAtATime()
  const [previewed, setPreviewed] = useState<{ readonly of: string; readonly found: Sent }>()
  const [problem, setProblem] = useState<string>()
  const given = typeof fields === "object" && fields !== null && !Array.isArray(fields) ? fields : {}
  const body = { _tag: event.event, ...given }
  // A preview belongs to one event in one state, and may arrive after either has changed.
  const subject = `${view.sequence} ${JSON.stringify(body)}`
  const preview = previewed?.of === subject ? previewed.found : undefined
  const failed = (reason: unknown) => {
    setPreviewed(undefined)
    setProblem(reason instanceof Error ? reason.message : String(reason))
  }
  const names = ["instances", machine, id, "events"]
  const ask = () =>
    submit<Sent>(write("POST", names, body, { dryRun: true })).then((found) => {
      setProblem(undefined)
      setPreviewed({ of: subject, found })
    }, failed)
  const send = () =>
    submit<Sent>(write("POST", names, body)).then(({ outcome, state, answer }) => {
      const went = outcome === "Stay" ? `stays in ${state._tag}` : outcome === "Stop" ? "has stopped" : `is in ${state._tag}`
      toast({ text: `${event.event}: ${id} ${went}${answer === undefined ? "" : `, and answers ${JSON.stringify(answer)}`}.` })
      onSent()
      void client.invalidateQueries()
    }, failed)
  return (
    <form
      className="grid gap-3 border-t border-line pt-4"
      onSubmit={(submitted) => {
        submitted.preventDefault()
        once(send)
      }}
    >
      <SchemaForm
        schema={event.schema as JsonSchema}
        value={fields}
        onChange={(next) => {
          setFields(next)
          setProblem(undefined)
        }}
      />
      {preview === undefined ? null : (
        <div className="grid gap-2 rounded-lg border border-line bg-sunken p-3">
          <p className="flex flex-wrap items-center gap-2">
            {preview.postponed === true ? (
              "The event would be postponed until the next change of state."
            ) : (
              <>
                {[view.state._tag, ...(preview.through ?? [])].join(" → ")} → <Badge tone="info">{preview.state._tag}</Badge>
              </>
            )}
          </p>
          <Effects of={preview} />
          <Changes changes={changesBetween(view.state as Json, preview.state as Json).filter(({ path }) => path !== "_tag")} />
          <p className="text-xs text-muted">Nothing was stored.</p>
        </div>
      )}
      {problem === undefined ? null : (
        <p role="alert" className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
          {problem}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <ActButton
          onClick={({ currentTarget }) => {
            if (currentTarget.form?.reportValidity() === true) void ask()
          }}
        >
          Preview
        </ActButton>
        <ActButton type="submit" look="primary" icon="send" isBusy={isBusy}>
          Send {event.event}
        </ActButton>
        <span className="ml-auto flex items-center text-xs text-muted">
          curl <CopyButton text={curlOf(session, location.origin + write("POST", names).path, body)} label="Copy as curl" />
          CLI{" "}
          <CopyButton
            text={commandOf(
              session,
              `npx detent instance send ${quoted(`${machine}/${id}`)} ${quoted(event.event)} --with ${quoted(JSON.stringify(given))}`,
            )}
            label="Copy as CLI command"
          />
        </span>
      </div>
    </form>
  )
}

const Effects = ({ of: { requests = [], timers = [], raises = [] } }: { readonly of: Sent }) => {
  const said = [
    ...requests.map((slot) => `requests ${slot}`),
    ...timers.map(({ name, millis }) =>
      millis === undefined ? `ends the timer ${name}` : `starts the timer ${name}, ${durationText(millis)}`,
    ),
    ...raises.map((event) => `sends ${event} to itself`),
  ]
  if (said.length === 0) return null
  return (
    <ul className="list-disc pl-5 text-muted">
      {said.map((one) => (
        <li key={one}>{one}</li>
      ))}
    </ul>
  )
}
