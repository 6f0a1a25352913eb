/** One machine: its diagram with live counts, its events, and a form that starts an instance. */
import { useState } from "react"
import { submit, write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { InstanceView, Json, MachineDetails } from "../api/types.ts"
import { hrefOf, Link, navigate } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge } from "../parts/Badge.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { JsonText } from "../parts/JsonView.tsx"
import { MachineDiagram } from "../parts/MachineDiagram.tsx"
import { Modal } from "../parts/Modal.tsx"
import { countText } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../parts/Panel.tsx"
import { emptyValue, type JsonSchema, SchemaForm } from "../parts/SchemaForm.tsx"
import { useToast } from "../parts/Toasts.tsx"
import { useOneAtATime } from "../parts/useOneAtATime.ts"
import { CheckPanel } from "./CheckPanel.tsx"

export const MachinePage = ({ names: [name = ""] }: { readonly names: ReadonlyArray<string> }) => {
  const details = useRead(reads.machine(name))
  const [starting, setStarting] = useState(false)
  const total = Object.values(details.data?.counts ?? {}).reduce((sum, count) => sum + count, 0)
  return (
    <>
      <PageHead
        title={name}
        crumbs={[{ text: "Machines", href: "/machines" }]}
        badges={details.data?.version === undefined ? null : <Badge>version {details.data.version}</Badge>}
        actions={
          <>
            <CopyMenu path={reads.machine(name).path} command={`npx detent machine show ${quoted(name)}`} />
            <ActButton look="primary" icon="play" onClick={() => setStarting(true)}>
              Start an instance
            </ActButton>
          </>
        }
      >
        <Link href={hrefOf(["instances"], { machine: name })} className="text-accent hover:underline">
          {countText(total)} {total === 1 ? "instance" : "instances"}
        </Link>
      </PageHead>
      <Answer
        of={details}
        rows={10}
        missing={
          <div className="card">
            <Empty>
              This server has no definition of {name}. Its instances stay stored;{" "}
              <Link href={hrefOf(["instances"], { machine: name })} className="text-accent underline">
                list them
              </Link>
              .
            </Empty>
          </div>
        }
      >
        {(machine) => (
          <div className="grid gap-4 xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
            <Panel title="Diagram" aside="Click a state for its instances">
              <MachineDiagram
                machine={name}
                counts={machine.counts}
                hrefOf={(state) => hrefOf(["instances"], { machine: name, state })}
                height={560}
              />
            </Panel>
            <div className="grid content-start gap-4">
              <StateCounts machine={machine} />
              <Schemas title="Events and their fields" names={machine.events} schemas={machine.eventSchemas} />
              <Schemas title="States and their fields" names={machine.states} schemas={machine.stateSchemas} />
            </div>
            <CheckPanel machine={name} />
            {starting ? <StartForm machine={machine} onClose={() => setStarting(false)} /> : null}
          </div>
        )}
      </Answer>
    </>
  )
}

const StateCounts = ({ machine: { name, states, counts } }: { readonly machine: MachineDetails }) => {
  const largest = Object.values(counts).reduce((most, count) => Math.max(most, count), 1)
  const [all, setAll] = useState(false)
  const shown = all ? states : states.slice(0, manyStates)
  return (
    <Panel title="States" flush>
      <ul className="max-h-96 overflow-auto py-1">
        {shown.map((state) => {
          const count = counts[state] ?? 0
          return (
            <li key={state} className="relative grid grid-cols-[minmax(0,1fr)_6rem_3.5rem] items-center gap-3 px-4 py-1.5 hover:bg-hover">
              <Link href={hrefOf(["instances"], { machine: name, state })} className="truncate after:absolute after:inset-0">
                {state}
              </Link>
              <span aria-hidden="true" className="h-1.5 overflow-hidden rounded-full bg-sunken">
                <span className="block h-full rounded-full bg-accent" style={{ width: `${(100 * count) / largest}%` }} />
              </span>
              <span className={`text-right tabular-nums ${count === 0 ? "text-muted" : "font-semibold"}`}>{countText(count)}</span>
            </li>
          )
        })}
        {states.length > shown.length ? (
          <li className="px-4 py-1.5">
            <Button onClick={() => setAll(true)}>Show all {countText(states.length)} states</Button>
          </li>
        ) : null}
      </ul>
    </Panel>
  )
}

/** At most this many are shown at first; a button shows all states. */
const manyStates = 200

interface SchemasProps {
  readonly title: string
  readonly names: ReadonlyArray<string>
  readonly schemas: Readonly<Record<string, unknown>>
}

/** States or events with their fields, each with its JSON Schema. */
const Schemas = ({ title, names, schemas }: SchemasProps) => (
  <Panel title={title} flush>
    <ul className="max-h-96 overflow-auto py-1">
      {names.slice(0, manyStates).map((name) => {
        const schema = (schemas[name] ?? {}) as JsonSchema
        const fields = Object.keys(schema.properties ?? {}).filter((field) => field !== "_tag")
        return (
          <li key={name}>
            <details className="px-4 py-1.5">
              <summary className="truncate">
                <span className="font-medium">{name}</span> <span className="text-muted">{fields.join(", ")}</span>
              </summary>
              <div className="pt-2">
                <JsonText value={(schemas[name] ?? {}) as Json} />
              </div>
            </details>
          </li>
        )
      })}
    </ul>
  </Panel>
)

/** The part of a machine's model that the form needs. */
interface Model {
  readonly states: ReadonlyArray<{ readonly tag: string; readonly initial: boolean }>
}

const StartForm = ({ machine, onClose }: { readonly machine: MachineDetails; readonly onClose: () => void }) => {
  const toast = useToast()
  const schemas = machine.stateSchemas as Readonly<Record<string, Json>>
  const model = machine.model as Model | undefined
  const first = model?.states.find(({ initial }) => initial)?.tag
  const schema = (first === undefined ? undefined : schemas?.[first]) as JsonSchema | undefined
  const [id, setId] = useState("")
  const [withInput, setWithInput] = useState(false)
  const [input, setInput] = useState<Json>(() => (schema === undefined ? {} : emptyValue(schema)))
  const { once, isBusy } = useOneAtATime()
  const [problem, setProblem] = useState<string>()
  const start = () =>
    submit<InstanceView>(write("POST", ["instances", machine.name], { id, ...(withInput ? { input } : {}) })).then(
      (view) => {
        const href = hrefOf(["instances", view.machine, view.id])
        toast({ text: `Started ${view.id}.`, href })
        navigate(href)
      },
      (reason: unknown) => setProblem(reason instanceof Error ? reason.message : String(reason)),
    )
  return (
    <Modal title={`Start an instance of ${machine.name}`} onClose={onClose}>
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          once(start)
        }}
      >
        <div className="grid gap-1">
          <label htmlFor="start-id" className="label">
            Id
          </label>
          <input id="start-id" className="field" required autoComplete="off" value={id} onChange={({ target }) => setId(target.value)} />
        </div>
        <label className="flex items-center gap-2">
          <input type="checkbox" className="size-4" checked={withInput} onChange={({ target }) => setWithInput(target.checked)} />
          Set fields of the first state{first === undefined ? "" : `, ${first}`}
        </label>
        {withInput ? <SchemaForm schema={schema ?? {}} value={input} onChange={setInput} /> : null}
        {problem === undefined ? null : (
          <p role="alert" className="text-bad">
            {problem}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <ActButton type="submit" look="primary" isBusy={isBusy}>
            Start
          </ActButton>
        </div>
      </form>
    </Modal>
  )
}
