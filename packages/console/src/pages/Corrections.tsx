/** Corrections of entities: two are one, one is several, or two are not the same; and the decisions, each of which can be undone. */
import { useState } from "react"
import { write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { IdentityDecision, Provenance } from "../api/types.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge } from "../parts/Badge.tsx"
import { ActButton } from "../parts/Button.tsx"
import { Confirm } from "../parts/Confirm.tsx"
import { Ago } from "../parts/Moment.tsx"
import { Answer, Panel } from "../parts/Panel.tsx"
import { useAct } from "../parts/useAct.ts"

type Kind = IdentityDecision["kind"]

const titles: Readonly<Record<Kind, string>> = {
  merge: "Another entity is this one",
  different: "Another entity is not this one",
  split: "Some documents mean another entity",
}

const lastPart = (iri: string): string => iri.split(/[#/:]/).findLast((part) => part !== "") ?? iri

interface CorrectionsProps {
  readonly namespace: string
  readonly entity: string
  readonly label: string
  readonly facts: ReadonlyArray<Provenance>
}

/** The buttons that correct an entity. */
export const Corrections = ({ namespace, entity, label, facts }: CorrectionsProps) => {
  const [kind, setKind] = useState<Kind>()
  const documents = new Map(facts.map(({ documentId, title, source }) => [documentId, title ?? lastPart(source ?? documentId)]))
  return (
    <div className="flex flex-wrap gap-2 border-t border-line px-4 py-2.5">
      <ActButton onClick={() => setKind("merge")}>Join with</ActButton>
      <ActButton onClick={() => setKind("different")}>Keep apart from</ActButton>
      <ActButton disabled={documents.size < 2} title="It needs facts of two documents" onClick={() => setKind("split")}>
        Split
      </ActButton>
      {kind === undefined ? null : (
        <Decide
          key={kind}
          kind={kind}
          namespace={namespace}
          entity={entity}
          label={label}
          documents={documents}
          onClose={() => setKind(undefined)}
        />
      )}
    </div>
  )
}

interface DecideProps {
  readonly kind: Kind
  readonly namespace: string
  readonly entity: string
  readonly label: string
  readonly documents: ReadonlyMap<string, string>
  readonly onClose: () => void
}

const Decide = ({ kind, namespace, entity, label, documents, onClose }: DecideProps) => {
  const { act } = useAct()
  const [other, setOther] = useState("")
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const change = kind === "split" ? { entities: [entity], documents: [...chosen] } : { entities: [entity, other] }
  return (
    <Confirm
      title={`${label}: ${titles[kind]}`}
      action={kind === "merge" ? "Join" : kind === "split" ? "Split" : "Keep apart"}
      reason="Why"
      onConfirm={(reason) =>
        void act<IdentityDecision>(
          write("POST", ["knowledge", namespace, "identities"], { kind, ...change, reason, by: "console" }),
          ({ id }) => ({ text: `Decision ${id} holds, for later batches too. It can be undone below the versions of the graph.` }),
        )
      }
      onClose={onClose}
    >
      {kind === "split" ? (
        <fieldset className="grid gap-1">
          <legend className="label">Documents that mean the other entity</legend>
          {[...documents].map(([id, name]) => (
            <label key={id} className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={chosen.has(id)}
                onChange={({ target }) => {
                  const next = new Set(chosen)
                  if (target.checked) next.add(id)
                  else next.delete(id)
                  setChosen(next)
                }}
              />
              {name}
            </label>
          ))}
        </fieldset>
      ) : (
        <ChooseEntity namespace={namespace} without={entity} chosen={other} onChoose={setOther} />
      )}
    </Confirm>
  )
}

interface ChooseEntityProps {
  readonly namespace: string
  readonly without: string
  readonly chosen: string
  readonly onChoose: (iri: string) => void
}

const ChooseEntity = ({ namespace, without, chosen, onChoose }: ChooseEntityProps) => {
  const [search, setSearch] = useState("")
  const found = useRead(reads.entities(namespace, search === "" ? undefined : search))
  const others = (found.data?.entities ?? []).filter(({ iri }) => iri !== without)
  return (
    <div className="grid gap-2">
      <label className="grid gap-1">
        <span className="label">Part of its name</span>
        <input className="field" value={search} onChange={({ target }) => setSearch(target.value)} />
      </label>
      <label className="grid gap-1">
        <span className="label">The other entity</span>
        <select className="field" required size={6} value={chosen} onChange={({ target }) => onChoose(target.value)}>
          {others.map(({ iri, label, types }) => (
            <option key={iri} value={iri}>
              {label} ({types.map(lastPart).join(", ")}, {lastPart(iri).slice(0, 8)})
            </option>
          ))}
        </select>
      </label>
    </div>
  )
}

const said: Readonly<Record<Kind, string>> = { merge: "is", split: "was taken apart into", different: "is not" }

/** The decisions on entities of a graph, newest first. */
export const Decisions = ({ namespace }: { readonly namespace: string }) => {
  const decisions = useRead(reads.identities(namespace))
  const { act, isBusy } = useAct()
  const undo = (id: number) =>
    void act<IdentityDecision>(write("POST", ["knowledge", namespace, "identities", String(id), "undo"], { by: "console" }), () => ({
      text: `Decision ${id} is undone.`,
    }))
  if (decisions.data?.decisions.length === 0) return null
  return (
    <Panel title="Decisions on entities" flush>
      <Answer of={decisions}>
        {({ decisions: found }) => (
          <ul className="max-h-80 overflow-auto">
            {found.map(({ id, kind, entities: [first = "", ...others], state, by, at, reason }) => (
              <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2 last:border-0">
                <Badge tone={state === "undone" ? "plain" : "good"}>{kind}</Badge>
                <span className="min-w-0 flex-1 break-words">
                  <Link
                    href={hrefOf(["knowledge", namespace], { entity: first })}
                    className="font-mono text-xs hover:text-accent hover:underline"
                  >
                    {lastPart(first)}
                  </Link>{" "}
                  {said[kind]} <span className="font-mono text-xs">{others.map(lastPart).join(", ")}</span>
                  {reason === undefined ? null : <span className="text-muted">: {reason}</span>}
                </span>
                <span className="text-xs text-muted">
                  {by}, <Ago at={at} />
                </span>
                {state === "undone" ? (
                  <span className="text-xs text-muted">undone</span>
                ) : (
                  <ActButton disabled={isBusy} onClick={() => undo(id)}>
                    Undo decision {id}
                  </ActButton>
                )}
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  )
}
