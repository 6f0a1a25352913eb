/** Queries a graph with SPARQL: an editor with completion, and the answer as a table, a graph or raw text. */

import { useQuery } from "@tanstack/react-query"
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react"
import { pathOf, send } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import { hrefOf, Link, setQuery, useQueryState } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Button } from "../parts/Button.tsx"
import { CopyMenu, quoted } from "../parts/Copy.tsx"
import { Chips } from "../parts/Filters.tsx"
import { Graph, mostNodes } from "../parts/Graph.tsx"
import { countText } from "../parts/Moment.tsx"
import { Empty, PageHead, Panel, ProblemNote, Skeleton } from "../parts/Panel.tsx"
import { VirtualTable } from "../parts/VirtualTable.tsx"
import { GraphTabs, shortIri } from "./GraphPage.tsx"

interface Term {
  readonly type: "uri" | "bnode" | "literal"
  readonly value: string
}

interface Rows {
  readonly kind: "rows"
  readonly variables: ReadonlyArray<string>
  readonly bindings: ReadonlyArray<Readonly<Record<string, Term>>>
}

type Result =
  | Rows
  | { readonly kind: "truth"; readonly value: boolean }
  | { readonly kind: "triples"; readonly triples: ReadonlyArray<readonly [string, string, string]> }

interface Answered {
  readonly result: Result
  readonly raw: string
  readonly millis: number
}

const firstQuery = "SELECT ?subject ?property ?object\nWHERE { ?subject ?property ?object }\nLIMIT 50"

const ask = async (namespace: string, text: string, version: string | undefined): Promise<Answered> => {
  const begun = performance.now()
  const response = await send(pathOf(["knowledge", namespace, "sparql"], { version }), {
    method: "POST",
    headers: { "content-type": "application/sparql-query" },
    body: text,
  })
  const raw = await response.text()
  return { result: resultOf(raw, response.headers.get("content-type") ?? ""), raw, millis: performance.now() - begun }
}

const resultOf = (raw: string, type: string): Result => {
  if (!type.includes("json")) return { kind: "triples", triples: raw.split("\n").flatMap(tripleOf) }
  const answer = JSON.parse(raw) as {
    readonly head: { readonly vars?: ReadonlyArray<string> }
    readonly boolean?: boolean
    readonly results?: { readonly bindings: Rows["bindings"] }
  }
  if (answer.boolean !== undefined) return { kind: "truth", value: answer.boolean }
  return { kind: "rows", variables: answer.head.vars ?? [], bindings: answer.results?.bindings ?? [] }
}

const tripleOf = (line: string): ReadonlyArray<readonly [string, string, string]> => {
  const found = /^(\S+) <([^>]*)> (.+) \.$/.exec(line.trim())
  return found === null ? [] : [[bare(found[1] ?? ""), found[2] ?? "", bare(found[3] ?? "")]]
}

/** An IRI or a literal without its marks, datatype and language. Neither of those contains a quotation mark. */
const bare = (term: string): string => {
  if (term.startsWith('"')) return term.slice(1, Math.max(1, term.lastIndexOf('"')))
  return term.startsWith("<") && term.endsWith(">") ? term.slice(1, -1) : term
}

/** Earlier queries, latest first, in this browser only. */
const historyKey = "detent-sparql"
const longestHistory = 50

/** Longer queries are not kept: a browser stores five million characters for a site. */
const longestKept = 10_000

/** Servers limit addresses to a few thousand characters. A longer query runs without being in the address. */
const longestAddress = 6000

const pastQueries = (): ReadonlyArray<string> => {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(historyKey) ?? "[]")
    return Array.isArray(stored) ? stored.filter((one) => typeof one === "string") : []
  } catch {
    // Another program wrote something else under the key.
    return []
  }
}

const remember = (text: string) => {
  if (text.length > longestKept) return
  localStorage.setItem(historyKey, JSON.stringify([text, ...pastQueries().filter((one) => one !== text)].slice(0, longestHistory)))
}

export const SparqlPage = ({ names: [namespace = ""] }: { readonly names: ReadonlyArray<string> }) => {
  const query = useQueryState()
  const inAddress = query.get("q")
  const [long, setLong] = useState<string>()
  const asked = inAddress ?? long
  const [text, setText] = useState(asked ?? firstQuery)
  // Also when the user goes back to an earlier query.
  useEffect(() => {
    if (asked !== undefined) setText(asked)
  }, [asked])
  const version = query.get("version")
  const view = query.get("as") ?? "table"
  const setView = (as: string) => setQuery({ as: as === "table" ? undefined : as })
  const answer = useQuery<Answered, Error>({
    queryKey: ["sparql", namespace, version ?? "", asked ?? ""],
    queryFn: () => ask(namespace, asked ?? "", version),
    enabled: asked !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const run = () => {
    remember(text)
    if (text === asked) void answer.refetch()
    else if (encodeURIComponent(text).length <= longestAddress) setQuery({ q: text }, { push: true })
    else {
      setLong(text)
      setQuery({ q: undefined }, { push: true })
    }
  }
  return (
    <>
      <PageHead
        title="SPARQL"
        crumbs={[
          { text: "Knowledge", href: "/knowledge" },
          { text: namespace, href: hrefOf(["knowledge", namespace]) },
        ]}
        actions={
          <CopyMenu
            path={pathOf(["knowledge", namespace, "sparql"], { query: text, version })}
            command={`npx detent graph query ${quoted(text)} --namespace ${quoted(namespace)}`}
          />
        }
      />
      <GraphTabs namespace={namespace} version={version} here="SPARQL" />
      <div className="grid gap-4">
        <Panel
          title="Query"
          aside={
            <>
              <PastQueries onChoose={setText} />
              <Button look="primary" icon="play" onClick={run}>
                Run
              </Button>
            </>
          }
        >
          <Editor namespace={namespace} version={version} text={text} onChange={setText} onRun={run} />
        </Panel>
        <Panel
          title="Answer"
          flush
          aside={
            answer.data === undefined ? undefined : (
              <>
                <span>
                  {sizeOf(answer.data.result)} in {Math.round(answer.data.millis)} ms
                </span>
                <Chips label="Show as" chips={["table", "graph", "raw"].map((value) => ({ value }))} chosen={[view]} onChoose={setView} />
                <Export answered={answer.data} />
              </>
            )
          }
        >
          {asked === undefined ? (
            <Empty>Write a query and run it with Ctrl-Enter.</Empty>
          ) : answer.error !== null ? (
            <ProblemNote problem={answer.error} onRetry={run} />
          ) : answer.data === undefined ? (
            <div className="p-4">
              <Skeleton />
            </div>
          ) : view === "raw" ? (
            <pre className="max-h-[60dvh] overflow-auto p-4 font-mono text-xs whitespace-pre-wrap">{answer.data.raw.slice(0, 200_000)}</pre>
          ) : view === "graph" ? (
            <ResultGraph result={answer.data.result} />
          ) : (
            <ResultTable result={answer.data.result} namespace={namespace} />
          )}
        </Panel>
      </div>
    </>
  )
}

const sizeOf = (result: Result): string =>
  result.kind === "truth" ? "one answer" : `${countText(result.kind === "rows" ? result.bindings.length : result.triples.length)} rows`

const PastQueries = ({ onChoose }: { readonly onChoose: (text: string) => void }) => {
  const past = pastQueries()
  if (past.length === 0) return null
  return (
    <label>
      <span className="sr-only">Earlier queries</span>
      <select className="field max-w-44" value="" onChange={({ target }) => onChoose(target.value)}>
        <option value="">Earlier queries</option>
        {past.map((one) => (
          <option key={one} value={one}>
            {one.replace(/\s+/g, " ").slice(0, 80)}
          </option>
        ))}
      </select>
    </label>
  )
}

const keywords = [
  "SELECT",
  "CONSTRUCT",
  "ASK",
  "DESCRIBE",
  "WHERE",
  "FILTER",
  "OPTIONAL",
  "UNION",
  "MINUS",
  "BIND",
  "VALUES",
  "GROUP BY",
  "ORDER BY",
  "HAVING",
  "LIMIT",
  "OFFSET",
  "DISTINCT",
  "COUNT",
  "PREFIX",
  "GRAPH",
]

const Editor = ({
  namespace,
  version,
  text,
  onChange,
  onRun,
}: {
  readonly namespace: string
  readonly version: string | undefined
  readonly text: string
  readonly onChange: (text: string) => void
  readonly onRun: () => void
}) => {
  const area = useRef<HTMLTextAreaElement>(null)
  const [cursor, setCursor] = useState(0)
  const [at, setAt] = useState(0)
  const [isClosed, setIsClosed] = useState(true)
  const vocabulary = useRead(reads.vocabulary(namespace, version), { fixed: true })
  const terms = useMemo(
    () => [...(vocabulary.data?.properties ?? []), ...(vocabulary.data?.classes ?? [])].map(({ iri }) => iri),
    [vocabulary.data],
  )
  const word = /(?<![\w:/#.<?$-])[\w:/#.<?$-]*$/.exec(text.slice(0, cursor))?.[0] ?? ""
  const variables = useMemo(() => [...new Set(text.match(/\?\w+/g))], [text])
  const offered = useMemo(() => {
    const wanted = word.replace(/^</, "").toLowerCase()
    if (wanted.startsWith("?")) return variables.filter((one) => one.startsWith(wanted) && one !== wanted).slice(0, 8)
    if (wanted.length < 2) return []
    const fitting = terms.filter((iri) => shortIri(iri).toLowerCase().startsWith(wanted) || iri.toLowerCase().startsWith(wanted))
    return [
      ...keywords.filter((one) => one.toLowerCase().startsWith(wanted) && one.toLowerCase() !== wanted),
      ...fitting.map((iri) => `<${iri}>`),
    ].slice(0, 8)
  }, [word, terms, variables])
  const isOpen = !isClosed && offered.length > 0
  const complete = (offer: string) => {
    const field = area.current
    if (field === null) return
    // Changes the field itself and its cursor, so that text typed before the next frame comes after the completion.
    field.setRangeText(`${offer} `, cursor - word.length, cursor, "end")
    onChange(field.value)
    setCursor(field.selectionEnd)
    setIsClosed(true)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onRun()
    else if (!isOpen) return
    else if (event.key === "ArrowDown") setAt((at + 1) % offered.length)
    else if (event.key === "ArrowUp") setAt((at + offered.length - 1) % offered.length)
    else if (event.key === "Tab" || event.key === "Enter") complete(offered[Math.min(at, offered.length - 1)] ?? "")
    else if (event.key === "Escape") setIsClosed(true)
    else return
    event.preventDefault()
  }
  return (
    <div className="relative">
      <label htmlFor="sparql" className="sr-only">
        SPARQL query
      </label>
      <textarea
        id="sparql"
        ref={area}
        rows={Math.min(18, Math.max(6, text.split("\n").length + 1))}
        className="field font-mono text-sm leading-relaxed"
        spellCheck={false}
        value={text}
        aria-autocomplete="list"
        aria-controls="sparql-offers"
        onChange={({ target }) => {
          onChange(target.value)
          setCursor(target.selectionStart)
          setAt(0)
          setIsClosed(false)
        }}
        onSelect={({ currentTarget }) => setCursor(currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
      />
      <ul
        id="sparql-offers"
        aria-label="Completions"
        className={isOpen ? "card absolute top-full left-2 z-20 max-w-full overflow-hidden p-1 shadow-float" : "hidden"}
      >
        {offered.map((offer, index) => (
          <li key={offer}>
            <button
              type="button"
              tabIndex={-1}
              className={`block w-full truncate rounded px-2 py-1 text-left font-mono text-xs ${index === at ? "bg-accent-soft" : ""}`}
              onPointerDown={(event) => {
                event.preventDefault()
                complete(offer)
              }}
            >
              {offer}
            </button>
          </li>
        ))}
      </ul>
      <p className="mt-1.5 text-xs text-muted">Ctrl-Enter runs the query. Tab takes a completion.</p>
    </div>
  )
}

const asRows = (result: Exclude<Result, { readonly kind: "truth" }>): Rows =>
  result.kind === "rows"
    ? result
    : {
        kind: "rows",
        variables: ["subject", "property", "object"],
        bindings: result.triples.map(([subject, property, object]) => ({
          subject: { type: "uri", value: subject },
          property: { type: "uri", value: property },
          object: { type: object.includes("://") ? "uri" : "literal", value: object },
        })),
      }

interface NumberedRow {
  readonly row: Readonly<Record<string, Term>>
  readonly index: number
}

const ResultTable = ({ result, namespace }: { readonly result: Result; readonly namespace: string }) => {
  if (result.kind === "truth") return <p className="px-4 py-6 text-center text-xl font-semibold">{result.value ? "yes" : "no"}</p>
  const { variables, bindings } = asRows(result)
  if (bindings.length === 0) return <Empty>Nothing matches.</Empty>
  return (
    <VirtualTable
      label="Rows"
      rows={bindings.map((row, index) => ({ row, index }))}
      columns={variables.map((name) => ({
        title: name,
        width: "minmax(7rem,1fr)",
        cell: ({ row }: NumberedRow) => {
          const term = row[name]
          if (term === undefined) return ""
          if (term.type !== "uri") return <span title={term.value}>{term.value}</span>
          return (
            <Link
              href={hrefOf(["knowledge", namespace], { entity: term.value })}
              title={term.value}
              className="text-accent hover:underline"
            >
              {shortIri(term.value)}
            </Link>
          )
        },
      }))}
      keyOf={({ index }) => String(index)}
      rowHeight={34}
      height="56dvh"
    />
  )
}

const ResultGraph = ({ result }: { readonly result: Result }) => {
  const { nodes, edges } = useMemo(() => {
    if (result.kind === "truth") return { nodes: [], edges: [] }
    const { variables, bindings } = asRows(result)
    const [from = "", property = "", to = ""] = variables.length >= 3 ? variables : [variables[0], "", variables[1]]
    const labels = new Map<string, string>()
    const found = bindings.flatMap((row) => {
      const [one, other] = [row[from], row[to]]
      if (one === undefined || other === undefined || labels.size >= mostNodes) return []
      for (const { value } of [one, other]) labels.set(value, shortIri(value))
      return [{ from: one.value, to: other.value, label: shortIri(row[property]?.value ?? "") }]
    })
    return { nodes: [...labels].map(([id, label]) => ({ id, label })), edges: found }
  }, [result])
  const [centre, setCentre] = useState<string>()
  if (nodes.length === 0) return <Empty>A graph needs rows with a subject, a property and an object.</Empty>
  return (
    <div className="p-3">
      <Graph nodes={nodes} edges={edges} centre={centre ?? nodes[0]?.id ?? ""} label="The answer as a graph" onOpen={setCentre} />
    </div>
  )
}

const csvOf = (result: Result): string => {
  if (result.kind === "truth") return `answer\n${result.value}\n`
  const { variables, bindings } = asRows(result)
  const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return [variables, ...bindings.map((row) => variables.map((name) => row[name]?.value ?? ""))]
    .map((cells) => cells.map(cell).join(","))
    .join("\n")
}

const Export = ({ answered }: { readonly answered: Answered }) => {
  const save = (name: string, type: string, text: string) => {
    const link = document.createElement("a")
    link.href = URL.createObjectURL(new Blob([text], { type }))
    link.download = name
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <>
      <Button look="quiet" onClick={() => save("answer.csv", "text/csv", csvOf(answered.result))}>
        CSV
      </Button>
      <Button
        look="quiet"
        onClick={() =>
          answered.result.kind === "triples"
            ? save("answer.nt", "application/n-triples", answered.raw)
            : save("answer.json", "application/json", answered.raw)
        }
      >
        {answered.result.kind === "triples" ? "N-Triples" : "JSON"}
      </Button>
    </>
  )
}
