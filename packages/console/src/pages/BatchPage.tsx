/** One batch: its stage, a cell for each document, failures in groups, the review list, and its artifacts. */
import { useCallback, useMemo, useState } from "react"
import { batchStages } from "../api/batchStates.ts"
import { pathOf, write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import type { BatchStatus, DocumentStatus, FailureGroup, ReviewedFact } from "../api/types.ts"
import { hrefOf, Link, setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead, useReadPages } from "../live/useRead.ts"
import { Badge, toneOf } from "../parts/Badge.tsx"
import { ActButton, Button } from "../parts/Button.tsx"
import { Confirm } from "../parts/Confirm.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { Ago, bytesText, countText, durationText, useNow } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../parts/Panel.tsx"
import { useAct } from "../parts/useAct.ts"
import { type Column, VirtualTable } from "../parts/VirtualTable.tsx"
import { batchTone, Progress } from "./Batches.tsx"

export const BatchPage = ({ names: [batchId = ""] }: { readonly names: ReadonlyArray<string> }) => {
  const batch = useRead(reads.batch(batchId))
  return (
    <Answer
      of={batch}
      rows={10}
      missing={
        <>
          <PageHead title={batchId} crumbs={[{ text: "Batches", href: "/batches" }]} />
          <div className="card">
            <Empty command="npx detent batch list">There is no batch {batchId} here.</Empty>
          </div>
        </>
      }
    >
      {(status) => <Loaded status={status} />}
    </Answer>
  )
}

const Loaded = ({ status }: { readonly status: BatchStatus }) => {
  const {
    batchId,
    namespace,
    state,
    stage,
    percent,
    documents,
    entities,
    relations,
    usage,
    budget,
    createdAt,
    failure,
    outcome,
    misfits,
    skipped,
    refused,
    notRead,
    extractor,
  } = status
  return (
    <>
      <PageHead
        title={namespace}
        crumbs={[{ text: "Batches", href: "/batches" }]}
        badges={<Badge tone={batchTone(state)}>{stage}</Badge>}
        actions={
          <>
            <CopyMenu path={reads.batch(batchId).path} command={`npx detent batch show ${quoted(batchId)}`} />
            <BatchActions status={status} />
          </>
        }
      >
        {batchId} · started <Ago at={createdAt} /> · extractor {extractor}
      </PageHead>
      {failure === undefined ? null : (
        <p role="alert" className="mb-4 rounded-lg bg-bad-soft px-4 py-2.5 text-bad">
          <b>{failure.code}</b> in {failure.stage}: {failure.message}
          {failure.cause === undefined ? "" : ` (${failure.cause})`}
        </p>
      )}
      <Panel className="mb-4">
        <div className="grid gap-4">
          <Stages state={state} percent={percent} />
          <dl className="grid grid-cols-2 gap-4 sm:grid-cols-4 xl:grid-cols-7">
            <Number name="done" value={`${Math.round(percent)} %`} />
            <Number name="documents" value={`${countText(documents.completed)} of ${countText(documents.total)}`} />
            <Number name="failed" value={countText(documents.failed)} bad={documents.failed > 0} />
            <Number name="entities" value={countText(entities)} />
            <Number name="facts" value={countText(relations)} />
            <Rate status={status} />
            {usage === undefined ? (
              <Number name="models" value="not used" />
            ) : (
              <Number
                name={budget === undefined ? "models" : `models, of ${budget}`}
                value={
                  usage.cost === undefined
                    ? `${countText(usage.inputTokens + usage.outputTokens)} tokens`
                    : `${usage.cost.toFixed(2)} ${usage.currency ?? ""}`
                }
              />
            )}
          </dl>
          {outcome === undefined ? null : (
            <p className="text-muted">
              {countText(outcome.triplesIngested)} triples were added in {durationText(outcome.totalDurationMs)};{" "}
              {countText(outcome.violations)} {outcome.violations === 1 ? "violation" : "violations"}, {countText(outcome.quarantined)}{" "}
              quarantined.{" "}
              <Link href={hrefOf(["knowledge", namespace])} className="text-accent underline">
                Open the graph
              </Link>
            </p>
          )}
          {skipped === undefined ? null : (
            <p className="text-warn">
              {countText(skipped.count)} {skipped.count === 1 ? "chunk has" : "chunks have"} no answer of the model:{" "}
              {skipped.examples
                .slice(0, 2)
                .map(({ text, problem }) => `“${text}” (${problem})`)
                .join(" and ")}
              .
            </p>
          )}
          {refused === undefined ? null : (
            <p className="text-warn">
              {countText(refused.count)} {refused.count === 1 ? "answer of the model is" : "answers of the model are"} not in the graph:{" "}
              {refused.examples
                .slice(0, 2)
                .map(({ text, problem }) => `${text} (${problem})`)
                .join(" and ")}
              .
            </p>
          )}
          {notRead === undefined ? null : (
            <p className="text-muted">
              {countText(notRead.count)} {notRead.count === 1 ? "cell" : "cells"} of tables and objects gave no fact:{" "}
              {notRead.columns
                .slice(0, 8)
                .map(({ column, count }) => `${column} (${countText(count)})`)
                .join(", ")}
              . A mapping says which columns are facts.
            </p>
          )}
          {misfits === undefined ? null : (
            <p className="text-muted">
              {countText(misfits.count)} {misfits.count === 1 ? "value or row was" : "values or rows were"} not read, because a value does
              not fit the datatype of its property, or a row has no name:{" "}
              {misfits.examples
                .slice(0, 2)
                .map(({ text }) => `“${text}”`)
                .join(" and ")}
              .
            </p>
          )}
        </div>
      </Panel>
      <div className="grid gap-4">
        <Documents status={status} />
        <div className="grid gap-4 xl:grid-cols-2">
          <Review status={status} />
          <Artifacts batchId={batchId} />
        </div>
      </div>
    </>
  )
}

const Number = ({ name, value, bad = false }: { readonly name: string; readonly value: string; readonly bad?: boolean }) => (
  <div className="min-w-0">
    <dt className="text-xs text-muted">{name}</dt>
    <dd className={`truncate text-lg font-semibold tabular-nums ${bad ? "text-bad" : ""}`}>{value}</dd>
  </div>
)

/** The rate that the server measures, or the average since the start. */
const Rate = ({ status }: { readonly status: BatchStatus }) => {
  const now = useNow()
  const { ratePerSecond, estimatedCompletionAt } = status
  if (status.isTerminal) return <Number name="took" value={durationText(status.updatedAt - status.createdAt)} />
  if (ratePerSecond !== undefined)
    return (
      <Number
        name={estimatedCompletionAt === undefined ? "speed" : `ready in ${durationText(Math.max(0, estimatedCompletionAt - now))}`}
        value={`${ratePerSecond.toFixed(1)} docs/s`}
      />
    )
  return <Number name="runs for" value={durationText(now - status.createdAt)} />
}

const Stages = ({ state, percent }: { readonly state: string; readonly percent: number }) => {
  const at = batchStages.indexOf(state === "PartiallyCompleted" ? "Completed" : state)
  return (
    <div className="grid gap-2">
      <Progress percent={percent} tone={batchTone(state)} />
      <ol className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
        {batchStages.map((stage, index) => (
          <li
            key={stage}
            aria-current={index === at ? "step" : undefined}
            className={
              index === at ? "font-semibold text-accent" : at > index || at === batchStages.length - 1 ? "text-good" : "text-muted"
            }
          >
            {at > index || (index === at && index === batchStages.length - 1) ? "✓ " : ""}
            {stage}
          </li>
        ))}
        {at < 0 ? <li className="font-semibold text-bad">{state}</li> : null}
      </ol>
    </div>
  )
}

const BatchActions = ({ status: { batchId, state, isTerminal } }: { readonly status: BatchStatus }) => {
  const { act, isBusy } = useAct()
  const [isAsking, setIsAsking] = useState(false)
  const change = (verb: "cancel" | "retry" | "resume", text: string) =>
    void act<BatchStatus>(write("POST", ["batch", batchId, verb]), () => ({ text }))
  return (
    <>
      {state === "Failed" || state === "PartiallyCompleted" ? (
        <ActButton look="primary" isBusy={isBusy} onClick={() => change("retry", "Retrying the batch.")}>
          Retry
        </ActButton>
      ) : null}
      {state === "Cancelled" ? (
        <ActButton look="primary" isBusy={isBusy} onClick={() => change("resume", "The batch is resumed.")}>
          Resume
        </ActButton>
      ) : null}
      {isTerminal ? null : (
        <ActButton look="danger" isBusy={isBusy} onClick={() => setIsAsking(true)}>
          Cancel…
        </ActButton>
      )}
      {isAsking ? (
        <Confirm
          title="Cancel the batch?"
          action="Cancel the batch"
          isDangerous
          onClose={() => setIsAsking(false)}
          onConfirm={() => change("cancel", "The batch is cancelled.")}
        >
          <p className="text-muted">Extracted facts are kept, and the batch can be resumed.</p>
        </Confirm>
      ) : null}
    </>
  )
}

const marks: Readonly<Record<string, readonly [string, string]>> = {
  completed: ["bg-good text-surface", ""],
  processing: ["bg-accent text-on-accent pulse-soft", "•"],
  failed: ["bg-bad text-surface", "×"],
  "set-aside": ["bg-warn text-surface", "!"],
  pending: ["border border-edge bg-surface", ""],
}

const keyOf = ({ documentId }: DocumentStatus) => documentId

const nameOf = (source: string): string => {
  const last = source.split("/").at(-1)
  return last === undefined || last === "" ? source : decodeURIComponent(last.replace(/%(?![0-9a-f]{2})/gi, "%25"))
}

const columns: ReadonlyArray<Column<DocumentStatus>> = [
  { title: "Document", width: "minmax(8rem,2fr)", cell: ({ source }) => <span title={source}>{nameOf(source)}</span> },
  { title: "Status", width: "7rem", cell: ({ status }) => <Badge tone={toneOf(status)}>{status}</Badge> },
  {
    title: "Took",
    width: "4.5rem",
    cell: ({ startedAt, completedAt }) =>
      startedAt === undefined || completedAt === undefined ? "" : durationText(completedAt - startedAt),
    wideOnly: true,
    right: true,
  },
  { title: "Chunks", width: "4rem", cell: ({ chunks }) => (chunks === undefined ? "" : countText(chunks)), wideOnly: true, right: true },
  { title: "Facts", width: "4rem", cell: ({ facts }) => (facts === undefined ? "" : countText(facts)), wideOnly: true, right: true },
  {
    title: "Review",
    width: "4rem",
    cell: ({ forReview }) => (forReview === undefined || forReview === 0 ? "" : countText(forReview)),
    wideOnly: true,
    right: true,
  },
  { title: "Language", width: "5rem", cell: ({ language }) => language ?? "", wideOnly: true },
  {
    title: "Problem",
    width: "minmax(6rem,3fr)",
    cell: ({ error, nextStep }) => (
      <span className={error === null ? "text-muted" : "text-bad"} title={error ?? nextStep}>
        {error ?? nextStep ?? ""}
      </span>
    ),
    wideOnly: true,
  },
]

/** The tokens and the cost of each document, for a batch that uses a model. */
const paidColumns = (currency: string): ReadonlyArray<Column<DocumentStatus>> => [
  { title: "Tokens", width: "4.5rem", cell: ({ tokens }) => (tokens === undefined ? "" : countText(tokens)), wideOnly: true, right: true },
  { title: "Cost", width: "6rem", cell: ({ cost }) => costText(cost, currency), wideOnly: true, right: true },
]

/** Below 1, shows two significant digits: a single document may cost a fraction of a cent. */
const costText = (cost: number | undefined, currency: string): string =>
  cost === undefined ? "" : `${cost >= 1 || cost === 0 ? cost.toFixed(2) : cost.toPrecision(2)} ${currency}`.trimEnd()

/** Above this number of documents there are no cells, only the table. */
const mostCells = 2000

const Documents = ({ status }: { readonly status: BatchStatus }) => {
  const { batchId } = status
  const query = useQueryState()
  const wanted = query.get("doc")
  const address = useCallback((after?: string | number) => reads.batchDocuments(batchId, after), [batchId])
  const pages = useReadPages(address)
  // The first page, of 1,000 documents, is read again while the batch runs.
  const head = useRead(address())
  const documents = useMemo(() => {
    const renewed = new Map((head.data?.documents ?? []).map((one) => [one.documentId, one]))
    const read = (pages.data?.pages ?? []).flatMap(({ documents: some }) => some)
    const known = new Set(read.map(keyOf))
    return [...read.map((one) => renewed.get(one.documentId) ?? one), ...[...renewed.values()].filter((one) => !known.has(one.documentId))]
  }, [pages.data, head.data])
  const failures = useRead(status.documents.failed > 0 || status.documents.setAside > 0 ? reads.batchFailures(batchId) : undefined)
  const waiting = Math.max(0, status.documents.total - documents.length)
  const currency = status.usage?.currency ?? ""
  const isPaid = status.usage !== undefined
  const shown = useMemo(() => (isPaid ? columns.toSpliced(-2, 0, ...paidColumns(currency)) : columns), [isPaid, currency])
  const chosen = documents.find(({ documentId }) => documentId === wanted)
  return (
    <Panel title="Documents" flush aside={`${countText(status.documents.total)} in all`}>
      <div className="grid gap-3 p-4">
        {status.documents.total > mostCells ? null : (
          <ul aria-label="One cell for each document" className="flex flex-wrap gap-1">
            {documents.map(({ documentId, source, status: word }) => {
              const [look, mark] = marks[word] ?? marks["pending"] ?? ["", ""]
              return (
                <li key={documentId}>
                  <Link
                    href={hrefOf(["batches", batchId], { doc: documentId })}
                    title={`${nameOf(source)}: ${word}`}
                    aria-label={`${nameOf(source)}: ${word}`}
                    className={`grid size-5 place-items-center rounded text-xs leading-none font-bold ${look} ${documentId === wanted ? "ring-2 ring-ink" : ""}`}
                  >
                    {mark}
                  </Link>
                </li>
              )
            })}
            {Array.from({ length: waiting }, (_, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: documents that have not started have no name yet.
              <li key={index} className="size-5 rounded border border-line bg-sunken" title="waits" />
            ))}
          </ul>
        )}
        {(failures.data?.groups ?? []).length === 0 ? null : (
          <ul className="grid gap-1" aria-label="Failures by cause">
            {failures.data?.groups.slice(0, mostGroups).map((group) => (
              <FailureRow key={group.fingerprint} batch={status} group={group} />
            ))}
          </ul>
        )}
        {chosen === undefined ? null : (
          <div className="rounded-lg border border-line bg-sunken px-3 py-2">
            <p className="flex flex-wrap items-center gap-2">
              <b>{nameOf(chosen.source)}</b>
              <Badge tone={toneOf(chosen.status)}>{chosen.status}</Badge>
              <span className="text-muted">{chosen.language}</span>
              <Button
                look="quiet"
                icon="close"
                className="ml-auto"
                aria-label="Close the document"
                onClick={() => setQuery({ doc: undefined })}
              />
            </p>
            <p className="text-xs break-all text-muted">
              {chosen.source}
              {chosen.attempt === undefined ? "" : ` · attempt ${chosen.attempt}`}
              {chosen.startedAt === undefined || chosen.completedAt === undefined
                ? ""
                : ` · took ${durationText(chosen.completedAt - chosen.startedAt)}`}
              {chosen.runId === undefined ? "" : ` · run ${chosen.runId.slice(0, 8)}`}
              {chosen.chunks === undefined ? "" : ` · ${countText(chosen.chunks)} ${chosen.chunks === 1 ? "chunk" : "chunks"}`}
              {chosen.tokens === undefined ? "" : ` · ${countText(chosen.tokens)} tokens`}
              {chosen.cost === undefined ? "" : ` · ${costText(chosen.cost, currency)}`}
            </p>
            {chosen.entities === undefined || chosen.facts === undefined ? null : (
              <p>
                {countText(chosen.entities)} entities, {countText(chosen.facts)} facts
                {chosen.forReview === undefined || chosen.forReview === 0 ? "" : `, ${countText(chosen.forReview)} to review`}
              </p>
            )}
            {chosen.error === null ? null : <p className="text-bad">{chosen.error}</p>}
            {chosen.nextStep === undefined ? null : <p>{chosen.nextStep}</p>}
          </div>
        )}
      </div>
      {documents.length === 0 ? (
        <p className="px-4 pb-4 text-muted">No document has started yet.</p>
      ) : (
        <VirtualTable
          label="Documents"
          rows={documents}
          columns={shown}
          keyOf={keyOf}
          hrefOf={({ documentId }) => hrefOf(["batches", batchId], { doc: documentId })}
          isCurrent={({ documentId }) => documentId === wanted}
          onEnd={() => {
            if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage()
          }}
          rowHeight={36}
          height="22rem"
        />
      )}
    </Panel>
  )
}

/** At most this many groups are listed; the table has every document. */
const mostGroups = 10

const FailureRow = ({ batch: { batchId, state }, group }: { readonly batch: BatchStatus; readonly group: FailureGroup }) => {
  const { problem, status: word, count, documents } = group
  const { act, isBusy } = useAct()
  const [isAsking, setIsAsking] = useState(false)
  const canRetry = word === "failed" && (state === "Failed" || state === "PartiallyCompleted")
  const named = `${countText(documents.length)} ${documents.length === 1 ? "document" : "documents"}`
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg bg-bad-soft px-3 py-1.5 text-bad">
      <b className="tabular-nums">{countText(count)}</b>
      <span className="min-w-0 flex-1 basis-48 break-words">{problem}</span>
      <span className="text-xs">{word}</span>
      {documents[0] === undefined ? null : (
        <Link href={hrefOf(["batches", batchId], { doc: documents[0] })} className="text-xs underline">
          Show an example
        </Link>
      )}
      {canRetry ? (
        <ActButton isBusy={isBusy} onClick={() => setIsAsking(true)}>
          Retry {countText(documents.length)}
        </ActButton>
      ) : null}
      {isAsking ? (
        <Confirm
          title={`Retry ${named}?`}
          action={`Retry ${countText(documents.length)}`}
          onClose={() => setIsAsking(false)}
          onConfirm={() =>
            void act<BatchStatus>(write("POST", ["batch", batchId, "retry"], { documents }), () => ({
              text: `Retrying ${named}.`,
              href: hrefOf(["batches", batchId]),
            }))
          }
        >
          <p className="text-ink">Other failed documents are not retried.</p>
        </Confirm>
      ) : null}
    </li>
  )
}

const short = (iri: string): string => iri.split(/[#/]/).at(-1) ?? iri

const Review = ({ status: { batchId, review: counts } }: { readonly status: BatchStatus }) => {
  const review = useRead(reads.batchReview(batchId))
  const { act, isBusy } = useAct()
  const decide = (verb: "accept" | "reject" | "reopen", { factId }: ReviewedFact) =>
    void act<{ readonly decided: number; readonly refused: ReadonlyArray<{ readonly problem: string }> }>(
      write("POST", ["batch", batchId, "review", verb], { facts: [factId], by: "console" }),
      ({ refused: [first] }) =>
        first === undefined
          ? { text: verb === "reopen" ? "The fact is open again." : `The fact is ${verb}ed.` }
          : { text: first.problem, tone: "bad" },
    )
  return (
    <Panel
      title="For review"
      flush
      aside={
        counts === undefined
          ? "facts too unsure for the graph"
          : `${counts.open} open, ${counts.accepted} accepted, ${counts.rejected} rejected`
      }
    >
      <Answer of={review}>
        {({ facts }) =>
          facts.length === 0 ? (
            <p className="px-4 py-3 text-muted">No fact is too unsure for the graph.</p>
          ) : (
            <ul className="max-h-[28rem] overflow-auto">
              {facts.map((fact) => (
                <li key={fact.factId} className="grid gap-1 border-b border-line px-4 py-2.5 last:border-0">
                  <p className="flex flex-wrap items-baseline gap-x-2">
                    <b className="font-medium">{fact.subject}</b> <span className="text-accent">{short(fact.property)}</span>{" "}
                    <b className="font-medium">{fact.object}</b>
                    <span className="text-xs text-muted">{fact.confidence.toFixed(2)}</span>
                    <Badge tone={fact.status === "accepted" ? "good" : fact.status === "rejected" ? "bad" : "plain"}>{fact.status}</Badge>
                  </p>
                  <blockquote className="border-l-2 border-edge pl-2 text-muted">{fact.quote}</blockquote>
                  <p className="text-xs text-muted">
                    {fact.title ?? nameOf(fact.source)} · {fact.why}
                  </p>
                  <span className="flex gap-2">
                    {fact.status === "open" ? (
                      <>
                        <ActButton icon="check" disabled={isBusy} onClick={() => decide("accept", fact)}>
                          Accept
                        </ActButton>
                        <ActButton icon="close" disabled={isBusy} onClick={() => decide("reject", fact)}>
                          Reject
                        </ActButton>
                      </>
                    ) : (
                      <ActButton disabled={isBusy} onClick={() => decide("reopen", fact)}>
                        Reopen
                      </ActButton>
                    )}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}

const Artifacts = ({ batchId }: { readonly batchId: string }) => {
  const artifacts = useRead(reads.batchArtifacts(batchId))
  return (
    <Panel title="Artifacts" flush>
      <Answer of={artifacts}>
        {({ artifacts: found }) =>
          found.length === 0 ? (
            <p className="px-4 py-3 text-muted">The batch has written no file yet.</p>
          ) : (
            <ul className="max-h-[28rem] overflow-auto">
              {found.map(({ name, bytes }) => (
                <li key={name} className="flex items-center gap-3 border-b border-line px-4 py-1.5 last:border-0">
                  <a
                    href={pathOf(["batch", batchId, "artifacts", name])}
                    target="_blank"
                    rel="noreferrer"
                    className="min-w-0 flex-1 truncate font-mono text-xs hover:text-accent hover:underline"
                  >
                    {name}
                  </a>
                  <span className="text-xs text-muted tabular-nums">{bytesText(bytes)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}
