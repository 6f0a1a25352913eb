/** The nodes of a cluster: which are alive, and their shards. */
import { useState } from "react"
import { write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import { useSession } from "../api/SessionContext.ts"
import type { ClusterNode, WorkingProcess } from "../api/types.ts"
import { useRead } from "../live/useRead.ts"
import { Badge } from "../parts/Badge.tsx"
import { ActButton } from "../parts/Button.tsx"
import { Confirm } from "../parts/Confirm.tsx"
import { CopyMenu } from "../parts/Copy.tsx"
import { Ago, bytesText, countText, durationText, useNow } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead, Panel } from "../parts/Panel.tsx"
import { useAct } from "../parts/useAct.ts"

export const Nodes = () => {
  const nodes = useRead(reads.nodes, { every: 2000 })
  const ready = useRead(reads.ready, { every: 5000 })
  const { session } = useSession()
  return (
    <>
      <PageHead title="Nodes" actions={<CopyMenu path={reads.nodes.path} command="npx detent cluster status" />}>
        The processes that share this database.
      </PageHead>
      <div className="grid gap-4">
        <Panel title="This server">
          <dl className="grid grid-cols-2 gap-4 sm:grid-cols-4">
            <Fact name="Node" value={session?.node ?? "read-only"} />
            <Fact name="Database" value={session?.database === "Postgres" ? "PostgreSQL" : "SQLite"} />
            <Fact name="Version" value={session?.version ?? "…"} />
            <Fact name="Live instances" value={ready.data === undefined ? "…" : countText(ready.data.instancesLive)} />
          </dl>
        </Panel>
        <Answer of={nodes}>{(answer) => <Processes processes={answer.processes} />}</Answer>
        <Panel title="Nodes of the cluster" flush>
          <Answer of={nodes}>
            {({ nodes: found }) =>
              found.length === 0 ? (
                <Empty command="npx detent worker --cluster HOST:PORT">
                  No process is a node of a cluster: one process runs all instances. This command starts a node.
                </Empty>
              ) : (
                <ul>
                  {found.map((node) => (
                    <NodeRow key={node.address} node={node} />
                  ))}
                </ul>
              )
            }
          </Answer>
        </Panel>
      </div>
    </>
  )
}

const Fact = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div className="min-w-0">
    <dt className="text-xs text-muted">{name}</dt>
    <dd className="truncate font-medium" title={value}>
      {value}
    </dd>
  </div>
)

const Processes = ({ processes }: { readonly processes: ReadonlyArray<WorkingProcess> }) => (
  <Panel title="Processes" flush>
    {processes.length === 0 ? <p className="px-4 py-3 text-muted">No process uses this database.</p> : null}
    <ul>
      {processes.map(({ name, role, here, leaseUntil, startedAt, running, rss }) => (
        <li
          key={name}
          className="grid gap-x-4 gap-y-1 border-b border-line px-4 py-2.5 last:border-0 sm:grid-cols-[minmax(0,2fr)_minmax(0,2fr)_auto] sm:items-center"
        >
          <span className="truncate font-medium">
            {name} {here ? <span className="text-xs font-normal text-muted">(this one)</span> : null}
          </span>
          <span className="text-xs text-muted">
            {role === "work" ? "works" : "read-only"}
            {running === undefined ? "" : ` · ${countText(running)} ${running === 1 ? "instance" : "instances"} in memory`}
            {rss === undefined ? "" : ` · ${bytesText(rss)}`}
            {startedAt === undefined ? null : (
              <>
                {" "}
                · started <Ago at={startedAt} />
              </>
            )}
          </span>
          {leaseUntil === undefined ? <Badge>no lease</Badge> : <Lease until={leaseUntil} />}
        </li>
      ))}
    </ul>
  </Panel>
)

const Lease = ({ until }: { readonly until: number }) => {
  const left = until - useNow()
  return <Badge tone={left > 0 ? "good" : "bad"}>{left > 0 ? `lease for ${durationText(left)}` : "lease ended"}</Badge>
}

const shardsTotal = 300

const NodeRow = ({ node: { address, node, startedAt, shards, working, leaseMillis, draining } }: { readonly node: ClusterNode }) => {
  const { act } = useAct()
  const [isAsking, setIsAsking] = useState(false)
  return (
    <li className="grid gap-3 border-b border-line px-4 py-3 last:border-0 sm:grid-cols-[minmax(0,1.5fr)_minmax(0,1fr)_auto_auto] sm:items-center">
      <div className="min-w-0">
        <p className="truncate font-medium">{address}</p>
        <p className="truncate text-xs text-muted">
          {node} · started <Ago at={startedAt} />
        </p>
      </div>
      <div>
        <p className="text-xs text-muted">
          {shards} of {shardsTotal} shards · {countText(working)} running
        </p>
        <div aria-hidden="true" className="mt-1 h-1.5 overflow-hidden rounded-full bg-sunken">
          <div className="h-full rounded-full bg-accent" style={{ width: `${(100 * shards) / shardsTotal}%` }} />
        </div>
      </div>
      <Badge tone={draining ? "warn" : leaseMillis > 0 ? "good" : "bad"}>
        {draining ? "draining" : `lease ${durationText(leaseMillis)}`}
      </Badge>
      <ActButton disabled={draining} onClick={() => setIsAsking(true)}>
        Drain…
      </ActButton>
      {isAsking ? (
        <Confirm
          title={`Drain ${address}?`}
          action="Drain it"
          isDangerous
          onClose={() => setIsAsking(false)}
          onConfirm={() => void act(write("POST", ["nodes", address, "drain"]), () => ({ text: `${address} is draining.` }))}
        >
          <p className="text-muted">The node hands its instances over to the other nodes and takes no more.</p>
        </Confirm>
      ) : null}
    </li>
  )
}
