/** The graphs of this server. */
import * as reads from "../api/reads.ts"
import { hrefOf, Link } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { CopyMenu } from "../parts/Copy.tsx"
import { Ago, countText } from "../parts/Moment.tsx"
import { Answer, Empty, PageHead } from "../parts/Panel.tsx"

export const Knowledge = () => {
  const graphs = useRead(reads.graphs)
  return (
    <>
      <PageHead title="Knowledge" actions={<CopyMenu path={reads.graphs.path} command="npx detent graph stats" />}>
        Graphs of facts. Each fact shows the quotes that support it.
      </PageHead>
      <Answer of={graphs}>
        {({ graphs: found }) =>
          found.length === 0 ? (
            <div className="card">
              <Empty command="npx detent batch run FOLDER">There is no graph yet. A batch of documents makes one.</Empty>
            </div>
          ) : (
            <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
              {found.map(({ namespace, version, triples, contributions }) => {
                const last = Math.max(...contributions.map(({ ingestedAt }) => ingestedAt))
                return (
                  <li key={namespace} className="card relative grid gap-2 p-4 hover:border-edge">
                    <Link href={hrefOf(["knowledge", namespace])} className="truncate text-lg font-semibold after:absolute after:inset-0">
                      {namespace}
                    </Link>
                    <p className="text-2xl font-semibold tabular-nums">
                      {countText(triples)} <span className="text-sm font-normal text-muted">triples</span>
                    </p>
                    <p className="flex flex-wrap gap-x-3 text-xs text-muted">
                      <span>version {version.slice(0, 8)}</span>
                      <span>
                        {contributions.length} {contributions.length === 1 ? "batch" : "batches"}
                      </span>
                      {Number.isFinite(last) ? (
                        <span>
                          changed <Ago at={last} />
                        </span>
                      ) : null}
                    </p>
                    <p className="relative z-10 flex gap-4">
                      <Link href={hrefOf(["knowledge", namespace, "sparql"])} className="text-accent hover:underline">
                        SPARQL
                      </Link>
                    </p>
                  </li>
                )
              })}
            </ul>
          )
        }
      </Answer>
    </>
  )
}
