/** A graph: find an entity, see its facts and its neighbourhood, and open the quotes that support a fact. */

import { useQueries } from "@tanstack/react-query"
import { useCallback, useMemo } from "react"
import { fetchJson, pathOf } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { Entity, Neighbourhood, Provenance } from "../api/types.ts"
import { hrefOf, Link, setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge } from "../parts/Badge.tsx"
import { Button } from "../parts/Button.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { FilterText } from "../parts/Filters.tsx"
import { Graph, type GraphEdge, type GraphNode, mostNodes } from "../parts/Graph.tsx"
import { Ago, countText } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel, ProblemNote, Skeleton } from "../parts/Panel.tsx"
import { Corrections, Decisions } from "./Corrections.tsx"

export const shortIri = (iri: string): string => {
  const last = iri.split(iri.startsWith("urn:") ? /[#/:]/ : /[#/]/).findLast((part) => part !== "")
  return last === undefined ? iri : last
}

export const GraphPage = ({ names: [namespace = ""] }: { readonly names: ReadonlyArray<string> }) => {
  const query = useQueryState()
  const version = query.get("version")
  const graph = useRead(reads.graph(namespace, version))
  const versions = useRead(reads.versions(namespace))
  const entity = query.get("entity")
  const search = query.get("q")
  const entities = useRead(reads.entities(namespace, search, version))
  const onSearch = useCallback((text: string) => setQuery({ q: text }), [])
  return (
    <>
      <PageHead
        title={namespace}
        crumbs={[{ text: "Knowledge", href: "/knowledge" }]}
        badges={
          <VersionChoice
            chosen={version}
            current={versions.data?.versions[0]?.version ?? graph.data?.version}
            versions={(versions.data?.versions ?? []).map((one) => one.version)}
          />
        }
        actions={
          <CopyMenu path={reads.graph(namespace, version).path} command={`npx detent graph stats --namespace ${quoted(namespace)}`} />
        }
      />
      <GraphTabs namespace={namespace} version={version} here={entity === undefined ? "Versions" : "Facts"} />
      {version === undefined ? null : (
        <p className="mb-4 flex flex-wrap items-center gap-3 rounded-lg bg-warn-soft px-4 py-2 text-warn">
          This is version {version.slice(0, 12)}, which may not be the current one.
          <Button look="quiet" icon="close" onClick={() => setQuery({ version: undefined })}>
            Show the current one
          </Button>
        </p>
      )}
      <div className="grid gap-4 lg:grid-cols-[17rem_minmax(0,1fr)]">
        <Panel title="Entities" flush className={`self-start ${entity === undefined ? "" : "max-lg:order-last"}`}>
          <div className="border-b border-line p-3">
            <FilterText label="Find an entity" value={search ?? ""} onChange={onSearch} />
          </div>
          <Answer of={entities} rows={8}>
            {({ entities: found, next }) =>
              found.length === 0 ? (
                <p className="px-4 py-3 text-muted">No entity has this name.</p>
              ) : (
                <ul className="max-h-[34rem] overflow-auto py-1">
                  {found.map((one) => (
                    <EntityRow
                      key={one.iri}
                      entity={one}
                      href={hrefOf(["knowledge", namespace], { entity: one.iri, q: search, version })}
                      isHere={one.iri === entity}
                    />
                  ))}
                  {next === undefined ? null : (
                    <li className="px-4 py-2 text-xs text-muted">More entities match: type more of the name.</li>
                  )}
                </ul>
              )
            }
          </Answer>
        </Panel>
        {entity === undefined ? (
          <Versions namespace={namespace} />
        ) : (
          <EntityView key={entity} namespace={namespace} entity={entity} version={version} />
        )}
      </div>
    </>
  )
}

/** Facts, SPARQL and versions of one graph. */
export const GraphTabs = ({
  namespace,
  version,
  here,
}: {
  readonly namespace: string
  readonly version: string | undefined
  readonly here: "Facts" | "SPARQL" | "Versions"
}) => (
  <nav aria-label="Views of the graph" className="mb-4 flex gap-1 border-b border-line">
    {(
      [
        ["Versions", hrefOf(["knowledge", namespace], { version })],
        ["SPARQL", hrefOf(["knowledge", namespace, "sparql"], { version })],
      ] as const
    ).map(([name, href]) => (
      <Link
        key={name}
        href={href}
        aria-current={name === here ? "page" : undefined}
        className={`-mb-px border-b-2 px-3 py-1.5 text-sm font-medium ${name === here ? "border-accent text-accent-strong" : "border-transparent text-muted hover:text-ink"}`}
      >
        {name === "Versions" ? "Graph and versions" : name}
      </Link>
    ))}
    {here === "Facts" ? (
      <span aria-current="page" className="-mb-px border-b-2 border-accent px-3 py-1.5 text-sm font-medium text-accent-strong">
        Facts
      </span>
    ) : null}
  </nav>
)

const VersionChoice = ({
  chosen,
  current,
  versions,
}: {
  readonly chosen: string | undefined
  readonly current: string | undefined
  readonly versions: ReadonlyArray<string>
}) => {
  const listed = chosen === undefined || versions.includes(chosen) ? versions : [chosen, ...versions]
  if (listed.length === 0) return null
  return (
    <label className="flex items-center gap-1 text-xs text-muted">
      <span className="sr-only">Version</span>@
      <select
        className="field min-h-7 w-auto py-0.5 font-mono text-xs"
        value={chosen ?? current ?? ""}
        onChange={({ target }) => setQuery({ version: target.value === current ? undefined : target.value }, { push: true })}
      >
        {listed.map((one) => (
          <option key={one} value={one}>
            {one.slice(0, 8)}
            {one === current ? " (current)" : ""}
          </option>
        ))}
      </select>
    </label>
  )
}

const EntityRow = ({
  entity: { label, types },
  href,
  isHere,
}: {
  readonly entity: Entity
  readonly href: string
  readonly isHere: boolean
}) => (
  <li className={`relative px-4 py-1.5 hover:bg-hover ${isHere ? "bg-accent-soft" : ""}`}>
    <Link href={href} aria-current={isHere ? "true" : undefined} className="block truncate font-medium after:absolute after:inset-0">
      {label}
    </Link>
    <span className="block truncate text-xs text-muted">{types.map(shortIri).join(", ")}</span>
  </li>
)

const Versions = ({ namespace }: { readonly namespace: string }) => {
  const graph = useRead(reads.graph(namespace))
  const query = useQueryState()
  const from = query.get("from")
  const to = query.get("to")
  return (
    <div className="grid content-start gap-4">
      <Panel title="Contributions" flush>
        <Answer of={graph} missing={<Empty command="npx detent batch run FOLDER">There is no graph {namespace} yet.</Empty>}>
          {({ contributions }) => (
            <ul>
              {contributions
                .toSorted((one, other) => other.ingestedAt - one.ingestedAt)
                .map(({ batchId, triples, ingestedAt }) => (
                  <li key={batchId} className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2.5 last:border-0">
                    <Link
                      href={hrefOf(["batches", batchId])}
                      className="min-w-0 flex-1 truncate font-medium hover:text-accent hover:underline"
                    >
                      {batchId}
                    </Link>
                    <span className="tabular-nums">{countText(triples)} triples</span>
                    <span className="text-xs text-muted">
                      <Ago at={ingestedAt} />
                    </span>
                  </li>
                ))}
            </ul>
          )}
        </Answer>
      </Panel>
      <VersionList namespace={namespace} from={from} to={to} />
      <Decisions namespace={namespace} />
      {from === undefined || to === undefined ? null : <Comparison namespace={namespace} from={from} to={to} />}
    </div>
  )
}

const VersionList = ({
  namespace,
  from,
  to,
}: {
  readonly namespace: string
  readonly from: string | undefined
  readonly to: string | undefined
}) => {
  const versions = useRead(reads.versions(namespace))
  const isComparable = (versions.data?.versions.length ?? 0) > 1
  return (
    <Panel title="Versions" flush aside={isComparable ? "Choose two to compare them" : undefined}>
      <Answer of={versions}>
        {({ versions: found }) => (
          <ul className="max-h-80 overflow-auto">
            {found.map(({ version, batches, triples, at }, index) => (
              <li key={version} className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2 last:border-0">
                <span className="flex flex-1 items-center gap-2">
                  <Link
                    href={hrefOf(["knowledge", namespace], { version: index === 0 ? undefined : version })}
                    className="font-mono text-xs hover:text-accent hover:underline"
                  >
                    {version.slice(0, 12)}
                  </Link>
                  {index === 0 ? <Badge tone="good">current</Badge> : null}
                </span>
                <span className="text-xs text-muted tabular-nums">
                  {countText(triples)} triples · {batches} {batches === 1 ? "batch" : "batches"}
                </span>
                {at === undefined ? null : (
                  <span className="text-xs text-muted">
                    <Ago at={at} />
                  </span>
                )}
                {isComparable ? (
                  <>
                    <Button
                      look={from === version ? "primary" : "plain"}
                      aria-pressed={from === version}
                      onClick={() => setQuery({ from: version })}
                    >
                      Compare from
                    </Button>
                    <Button
                      look={to === version ? "primary" : "plain"}
                      aria-pressed={to === version}
                      onClick={() => setQuery({ to: version })}
                    >
                      Compare to
                    </Button>
                  </>
                ) : null}
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  )
}

const Comparison = ({ namespace, from, to }: { readonly namespace: string; readonly from: string; readonly to: string }) => {
  const diff = useRead(reads.versionDiff(namespace, from, to), { fixed: true })
  return (
    <Panel title={`From ${from.slice(0, 8)} to ${to.slice(0, 8)}`} flush>
      <Answer of={diff}>
        {({ added, removed, documents }) => (
          <div className="grid gap-3 p-4">
            <p>
              <b className="text-good">+{countText(added)}</b> <b className="text-bad">−{countText(removed)}</b> facts
            </p>
            {documents.map((document) => (
              <section key={document.documentId}>
                <h3 className="label mb-1">{shortIri(document.source ?? document.documentId)}</h3>
                <ul className="grid gap-0.5 text-xs">
                  {[...document.added.map((fact) => ["+", fact] as const), ...document.removed.map((fact) => ["−", fact] as const)].map(
                    ([sign, fact]) => (
                      <li
                        key={`${sign} ${fact.subject} ${fact.property} ${fact.object}`}
                        className={`rounded px-2 py-0.5 ${sign === "+" ? "bg-good-soft text-good" : "bg-bad-soft text-bad"}`}
                      >
                        {sign} {fact.subjectLabel ?? shortIri(fact.subject)} {shortIri(fact.property)}{" "}
                        {fact.objectLabel ?? (fact.datatype === undefined ? shortIri(fact.object) : fact.object)}
                      </li>
                    ),
                  )}
                </ul>
              </section>
            ))}
          </div>
        )}
      </Answer>
    </Panel>
  )
}

interface EntityViewProps {
  readonly namespace: string
  readonly entity: string
  readonly version: string | undefined
}

const EntityView = ({ namespace, entity, version }: EntityViewProps) => {
  const query = useQueryState()
  // The expanded nodes besides the entity, in the order of expansion: undo closes the last.
  const expandedText = query.getAll("expand").join("\n")
  const expanded = useMemo(() => (expandedText === "" ? [] : expandedText.split("\n")), [expandedText])
  const setExpanded = (iris: ReadonlyArray<string>) => setQuery({ expand: iris })
  const facts = useRead(reads.provenance(namespace, entity, version))
  const asked = useMemo(
    () => [entity, ...expanded].map((iri) => reads.neighbourhood(namespace, iri, version)),
    [namespace, entity, expanded, version],
  )
  const answers = useQueries({
    queries: asked.map((one) => ({ queryKey: [one.path], queryFn: () => fetchJson(one) })),
    combine: (all) => ({
      isPending: all[0]?.isPending === true,
      found: all.flatMap(({ data }) => (data === undefined ? [] : [data])),
      problem: all.find(({ error }) => error !== null)?.error,
    }),
  })
  const { nodes, edges, hidden, labels } = useMemo(() => graphOf(answers.found), [answers.found])
  const label = labels.get(entity) ?? shortIri(entity)
  const open = (iri: string) => {
    if (iri !== entity && !expanded.includes(iri)) setExpanded([...expanded, iri])
  }
  const factKey = query.get("fact")
  return (
    <div className="grid content-start gap-4 xl:grid-cols-2">
      <Panel
        title="Neighbourhood"
        className="self-start"
        aside={
          <>
            {hidden > 0 ? <span>{countText(hidden)} relations hidden</span> : null}
            <Button look="quiet" disabled={expanded.length === 0} onClick={() => setExpanded(expanded.slice(0, -1))}>
              Undo
            </Button>
          </>
        }
      >
        {answers.problem !== undefined && answers.problem !== null ? (
          <ProblemNote problem={answers.problem} />
        ) : answers.isPending ? (
          <Skeleton rows={6} />
        ) : nodes.length < 2 ? (
          <p className="text-muted">No fact connects this entity with another one.</p>
        ) : (
          <>
            <Graph nodes={nodes} edges={edges} centre={entity} label={`The neighbourhood of ${label}`} onOpen={open} />
            <p className="mt-2 text-xs text-muted">Click an entity to show its neighbours too. At most {mostNodes} entities are drawn.</p>
          </>
        )}
      </Panel>
      <Panel title={label} flush className="self-start" aside={<span title={entity}>{shortIri(entity)}</span>}>
        <Answer of={facts} rows={6}>
          {({ facts: stated }) => (
            <>
              <Facts
                stated={stated}
                labels={labels}
                opened={factKey}
                onOpen={(key) => setQuery({ fact: key === factKey ? undefined : key })}
                namespace={namespace}
                version={version}
              />
              <Mentions
                of={entity}
                edges={edges}
                labels={labels}
                hrefOf={(iri) => hrefOf(["knowledge", namespace], { entity: iri, version })}
              />
              {version === undefined ? <Corrections namespace={namespace} entity={entity} label={label} facts={stated} /> : null}
            </>
          )}
        </Answer>
      </Panel>
    </div>
  )
}

interface MentionsProps {
  readonly of: string
  readonly edges: ReadonlyArray<GraphEdge>
  readonly labels: ReadonlyMap<string, string>
  readonly hrefOf: (iri: string) => string
}

/** Facts of other entities about this one. */
const Mentions = ({ of, edges, labels, hrefOf: hrefOfEntity }: MentionsProps) => {
  const found = edges.filter(({ from, to }) => to === of && from !== of)
  if (found.length === 0) return null
  return (
    <section className="border-t border-line">
      <h3 className="label px-4 pt-2">Facts of other entities</h3>
      <ul className="pb-1">
        {found.map(({ from, label }) => (
          <li key={`${from} ${label}`} className="flex flex-wrap gap-x-2 px-4 py-1.5">
            <Link href={hrefOfEntity(from)} className="font-medium hover:text-accent hover:underline">
              {labels.get(from) ?? shortIri(from)}
            </Link>
            <span className="text-accent">{label}</span>
            <span className="text-muted">{labels.get(of) ?? shortIri(of)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const graphOf = (found: ReadonlyArray<Neighbourhood>) => {
  const labels = new Map<string, string>()
  const hiddenOf = new Map<string, number>()
  const edges = new Map<string, GraphEdge>()
  for (const { nodes, edges: ways } of found) {
    for (const { iri, label, hidden } of nodes) {
      if (labels.size >= mostNodes && !labels.has(iri)) continue
      labels.set(iri, label ?? labels.get(iri) ?? shortIri(iri))
      // A node at the edge of one neighbourhood may be the centre of another, which shows more relations: the smaller number is right.
      hiddenOf.set(iri, Math.min(hidden, hiddenOf.get(iri) ?? hidden))
    }
    for (const { from, to, property } of ways)
      if (labels.has(from) && labels.has(to)) edges.set(`${from} ${property} ${to}`, { from, to, label: shortIri(property) })
  }
  const nodes: ReadonlyArray<GraphNode> = [...labels].map(([id, label]) => ({ id, label, hidden: hiddenOf.get(id) ?? 0 }))
  return { nodes, edges: [...edges.values()], labels, hidden: [...hiddenOf.values()].reduce((sum, one) => sum + one, 0) }
}

interface FactsProps {
  readonly stated: ReadonlyArray<Provenance>
  readonly labels: ReadonlyMap<string, string>
  readonly opened: string | undefined
  readonly onOpen: (key: string) => void
  readonly namespace: string
  readonly version: string | undefined
}

const Facts = ({ stated, labels, opened, onOpen, namespace, version }: FactsProps) => {
  const keyOf = ({ property, object }: { readonly property: string; readonly object: string }) => `${shortIri(property)} ${object}`
  const groups = [...Map.groupBy(stated, keyOf)]
  if (groups.length === 0) return <p className="px-4 py-3 text-muted">No document states a fact of which this entity is the subject.</p>
  return (
    <ul>
      {groups.map(([key, places]) => {
        const [first] = places
        if (first === undefined) return null
        const isOpen = key === opened
        return (
          <li key={key} className="border-b border-line last:border-0">
            <button
              type="button"
              aria-expanded={isOpen}
              className="flex w-full flex-wrap items-baseline gap-x-2 px-4 py-2 text-left hover:bg-hover"
              onClick={() => onOpen(key)}
            >
              <span className="text-accent">{shortIri(first.property)}</span>
              <b className="min-w-0 font-medium break-words">{objectOf(first, labels)}</b>
              <span className="ml-auto text-xs text-muted tabular-nums">
                {Math.max(...places.map(({ confidence }) => confidence)).toFixed(2)} ×{places.length}
              </span>
            </button>
            {isOpen ? (
              <div className="grid gap-3 bg-sunken px-4 py-3">
                {first.datatype === undefined ? (
                  <Link href={hrefOf(["knowledge", namespace], { entity: first.object, version })} className="text-accent underline">
                    Open {objectOf(first, labels)}
                  </Link>
                ) : null}
                {places.map((place) => (
                  <Words key={`${place.documentId} ${place.start} ${place.run}`} place={place} namespace={namespace} version={version} />
                ))}
              </div>
            ) : null}
          </li>
        )
      })}
    </ul>
  )
}

const objectOf = ({ object, objectLabel, datatype }: Provenance, labels: ReadonlyMap<string, string>): string =>
  datatype === undefined ? (objectLabel ?? labels.get(object) ?? shortIri(object)) : object

/** Characters shown before and after the quote. */
const around = 160

interface WordsProps {
  readonly place: Provenance
  readonly namespace: string
  readonly version: string | undefined
}

const Words = ({ place, namespace, version }: WordsProps) => {
  const { documentId, source, title, quote, start, end, extractor, run, confidence, acceptedBy } = place
  const text = useRead(reads.documentText(namespace, documentId, Math.max(0, start - around), end + around, version), { fixed: true })
  const found = text.data
  return (
    <figure className="grid gap-1 rounded-lg border border-line bg-surface p-3">
      <blockquote className="break-words whitespace-pre-wrap">
        {found === undefined ? (
          <mark className="rounded bg-warn-soft px-0.5 text-ink">{quote}</mark>
        ) : (
          <>
            {found.from > 0 ? "…" : ""}
            {found.text.slice(0, start - found.from)}
            <mark className="rounded bg-warn-soft px-0.5 text-ink">{found.text.slice(start - found.from, end - found.from)}</mark>
            {found.text.slice(end - found.from)}
            {found.from + found.text.length < found.length ? "…" : ""}
          </>
        )}
      </blockquote>
      {found?.matchesRun === false ? <p className="text-warn">The source has changed since this was extracted.</p> : null}
      <figcaption className="flex flex-wrap gap-x-3 text-xs text-muted">
        <span title={source}>{title ?? shortIri(source ?? documentId)}</span>
        <span>{extractor}</span>
        <span>run {run.slice(0, 8)}</span>
        <span>{confidence.toFixed(2)}</span>
        {acceptedBy === undefined ? null : <span>accepted by {acceptedBy}</span>}
        <a
          href={pathOf(["knowledge", namespace, "graph", "report"], { version })}
          target="_blank"
          rel="noreferrer"
          className="text-accent hover:underline"
        >
          All documents with their facts
        </a>
      </figcaption>
    </figure>
  )
}
