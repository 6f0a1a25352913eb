/** Executions of workflows, by workflow and phase. */
import { useCallback } from "react"
import * as reads from "../api/reads.ts"
import type { ExecutionListing } from "../api/types.ts"
import { machineOfWorkflow, workflowName } from "../browser/addresses.ts"
import { hrefOf, setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Badge, toneOf } from "../parts/Badge.tsx"
import { CopyMenu } from "../parts/Copy.tsx"
import { Chips, Choice } from "../parts/Filters.tsx"
import { Ago, countText, durationText } from "../parts/Moment.tsx"
import { Empty, PageHead, ProblemNote, Skeleton } from "../parts/Panel.tsx"
import { useRows } from "../parts/useRows.ts"
import { type Column, VirtualTable } from "../parts/VirtualTable.tsx"
import { CheckPanel } from "./CheckPanel.tsx"

const phases = ["running", "suspended", "completed", "failed", "interrupted", "held"]

const keyOf = ({ workflow, id }: ExecutionListing) => JSON.stringify([workflow, id])
const rowsOf = ({ executions }: { readonly executions: ReadonlyArray<ExecutionListing> }) => executions

const columns: ReadonlyArray<Column<ExecutionListing>> = [
  { title: "Id", width: "minmax(8rem,2fr)", cell: ({ id }) => id },
  { title: "Workflow", width: "minmax(6rem,1fr)", cell: ({ workflow }) => <span className="text-muted">{workflow}</span>, wideOnly: true },
  { title: "Phase", width: "7.5rem", cell: ({ phase }) => <Badge tone={toneOf(phase)}>{phase}</Badge> },
  { title: "Problem", width: "minmax(5rem,1.5fr)", cell: ({ problem }) => <span title={problem}>{problem}</span>, wideOnly: true },
  { title: "Events", width: "4rem", cell: ({ events }) => countText(events), wideOnly: true, right: true },
  { title: "Took", width: "4.5rem", cell: ({ startedAt, updatedAt }) => durationText(updatedAt - startedAt), wideOnly: true, right: true },
  { title: "Changed", width: "6rem", cell: ({ updatedAt }) => <Ago at={updatedAt} />, wideOnly: true, right: true },
]

export const Workflows = () => {
  const query = useQueryState()
  const workflow = query.get("workflow")
  const phase = query.get("phase")?.toLowerCase()
  const machines = useRead(reads.machines)
  const address = useCallback((after?: string | number) => reads.executions({ workflow, phase }, after), [workflow, phase])
  const { rows, fresh, pages, onEnd, showFresh } = useRows({ address, rowsOf, keyOf })
  const names = (machines.data?.machines ?? []).filter(({ kind }) => kind === "effect-workflow").map(({ name }) => workflowName(name))
  return (
    <>
      <PageHead title="Workflows" actions={<CopyMenu path={address().path} command="npx detent execution list" />}>
        Executions of workflows: durable procedures made of activities.
      </PageHead>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <Choice
          label="Workflow"
          value={workflow ?? ""}
          any="All workflows"
          options={names}
          onChange={(value) => setQuery({ workflow: value })}
        />
        <Chips
          label="Phase"
          chips={phases.map((value) => ({ value }))}
          chosen={phase === undefined ? [] : [phase]}
          onChoose={(value) => setQuery({ phase: value === phase ? undefined : value })}
        />
        {fresh === 0 ? null : (
          <button type="button" className="font-medium text-accent hover:underline" onClick={showFresh}>
            {fresh} new ↑
          </button>
        )}
      </div>
      <section className="card overflow-hidden">
        {pages.error !== null && rows.length === 0 ? <ProblemNote problem={pages.error} onRetry={() => void pages.refetch()} /> : null}
        {pages.isPending ? (
          <div className="p-4">
            <Skeleton rows={8} />
          </div>
        ) : rows.length > 0 ? (
          <VirtualTable
            label="Executions"
            rows={rows}
            columns={columns}
            keyOf={keyOf}
            hrefOf={({ workflow: of, id }) => hrefOf(["workflows", of, id])}
            onEnd={onEnd}
          />
        ) : pages.error === null ? (
          <Empty command="npx detent execution start WORKFLOW">
            No execution {phase === undefined ? "was started yet" : `is ${phase}`}.
          </Empty>
        ) : null}
      </section>
      {workflow === undefined ? null : (
        <div className="mt-4">
          <CheckPanel key={workflow} machine={machineOfWorkflow(workflow)} />
        </div>
      )}
    </>
  )
}
