/** Gives pages the live stream, and repeats the reads that a hint concerns. */

import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query"
import { createContext, type ReactNode, use, useEffect, useState, useSyncExternalStore } from "react"
import { isUnderWay } from "../api/batchStates.ts"
import { type LiveEvent, type LiveMode, type LiveState, LiveStream } from "./LiveStream.ts"

const Live = createContext<LiveStream | undefined>(undefined)

export const LiveProvider = ({ children }: { readonly children: ReactNode }) => {
  const client = useQueryClient()
  const [stream, setStream] = useState<LiveStream>()
  useEffect(() => {
    const opened = new LiveStream()
    setStream(opened)
    return () => opened.close()
  }, [])
  useEffect(() => (stream === undefined ? undefined : readAgain(stream, client)), [stream, client])
  return <Live value={stream}>{children}</Live>
}

const nothing: LiveState = { mode: "connecting", heardAt: undefined, connections: 0 }

export const useLiveState = (): LiveState => {
  const stream = use(Live)
  return useSyncExternalStore(stream?.subscribe ?? never, () => stream?.state() ?? nothing)
}

/** The mode alone. It changes rarely, while the state changes with every event. */
export const useLiveMode = (): LiveMode => {
  const stream = use(Live)
  return useSyncExternalStore(stream?.subscribe ?? never, () => (stream?.state() ?? nothing).mode)
}

const never = () => () => {}

/** Hints are collected for this long before anything is read. */
const quiet = 250

/** After a round of reads, the pause per read of that round: at most two requests a second, however many hints arrive. */
const millisPerRead = 500

const isConcerned = ({ queryKey, meta }: Query, prefixes: ReadonlyArray<string>): boolean =>
  prefixes.some((prefix) => prefix === "" || (meta?.["isFixed"] !== true && String(queryKey[0]).startsWith(prefix)))

/** Collects hints and invalidates the reads they concern. Hidden tabs read nothing until they are shown. */
const readAgain = (stream: LiveStream, client: QueryClient) => {
  const pending = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let restsUntil = 0
  let { connections } = stream.state()
  const flush = () => {
    timer = undefined
    if (document.hidden) return
    const prefixes = [...pending]
    pending.clear()
    const predicate = (query: Query) => isConcerned(query, prefixes)
    const reads = client.getQueryCache().findAll({ type: "active", predicate }).length
    restsUntil = performance.now() + reads * millisPerRead
    void client.invalidateQueries({ predicate })
  }
  const schedule = () => {
    timer ??= setTimeout(flush, Math.max(quiet, restsUntil - performance.now()))
  }
  const stopEvents = stream.onEvent((event) => {
    for (const prefix of concernedBy(event)) pending.add(prefix)
    schedule()
  })
  const stopStates = stream.subscribe(() => {
    const state = stream.state()
    if (state.connections > 1 && state.connections !== connections) {
      pending.add("")
      schedule()
    }
    connections = state.connections
  })
  const onShown = () => {
    if (!document.hidden && pending.size > 0) schedule()
  }
  document.addEventListener("visibilitychange", onShown)
  return () => {
    stopEvents()
    stopStates()
    document.removeEventListener("visibilitychange", onShown)
    clearTimeout(timer)
  }
}

/** The prefixes of the addresses whose answers a hint makes stale. */
const concernedBy = ({ topic, data }: LiveEvent): ReadonlyArray<string> => {
  const given = (typeof data === "object" && data !== null ? data : {}) as Readonly<Record<string, unknown>>
  const part = (name: string) => encodeURIComponent(String(given[name] ?? ""))
  switch (topic) {
    case "counts":
      return ["/api/v1/machines"]
    case "changed":
      return ["/api/v1/instances?", "/api/v1/executions", `/api/v1/instances/${part("machine")}/${part("id")}`]
    case "many":
      return ["/api/v1/instances", "/api/v1/executions"]
    case "batch":
      // A batch that has ended may have changed its graph.
      return isUnderWay(given["state"]) ? ["/api/v1/batch"] : ["/api/v1/batch", "/api/v1/knowledge"]
    case "upload":
      return ["/api/v1/uploads"]
    case "queue":
      return ["/api/v1/queues", "/api/v1/commands", "/api/v1/timers"]
    case "node":
      return ["/api/v1/nodes"]
    default:
      return []
  }
}
