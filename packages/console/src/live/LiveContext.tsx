/** Gives pages the live stream, and reads again what a hint says has changed. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query"
import { createContext, type ReactNode, use, useEffect, useState, useSyncExternalStore } from "react"
import { type LiveEvent, type LiveState, LiveStream } from "./LiveStream.ts"

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

const never = () => () => {}

/** At most this often the same reads are repeated, however many hints arrive. */
const quiet = 500

/** Collects hints and invalidates the reads they concern. Hidden tabs read nothing until they are shown. */
const readAgain = (stream: LiveStream, client: QueryClient) => {
  const pending = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let { connections } = stream.state()
  const flush = () => {
    timer = undefined
    if (document.hidden) return
    const prefixes = [...pending]
    pending.clear()
    void client.invalidateQueries({ predicate: ({ queryKey }) => prefixes.some((prefix) => String(queryKey[0]).startsWith(prefix)) })
  }
  const schedule = () => {
    timer ??= setTimeout(flush, quiet)
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

/** The addresses whose answers a hint makes old. */
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
      return ["/api/v1/batch"]
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
