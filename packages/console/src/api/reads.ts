/** The reads of the console, by page. Each is an address with the type of its answer. */
import { type Read, read } from "./Client.ts"
import type * as T from "./types.ts"

type List<Name extends string, A> = { readonly [K in Name]: ReadonlyArray<A> } & { readonly next?: string | number }

export interface InstanceFilter {
  readonly machine?: string | undefined
  readonly state?: ReadonlyArray<string> | undefined
  readonly status?: string | undefined
  readonly search?: string | undefined
  readonly updatedAfter?: number | undefined
  readonly updatedBefore?: number | undefined
}

/** Conditions on indexed fields, and an order by one: only for lists. */
export interface FieldFilter {
  readonly where?: string | undefined
  readonly order?: string | undefined
}

export const session: Read<T.Session> = read(["session"])
export const ready: Read<T.Readiness> = { path: "/health/ready" }
export const machines: Read<{ readonly machines: ReadonlyArray<T.MachineListing> }> = read(["machines"])
export const layout = (name: string): Read<T.DiagramLayout> => read(["machines", name, "diagram", "layout"])
/** What the definitions of the server make of the stored instances of a machine. */
export const machineCheck = (
  machine: string,
  query: { readonly ended?: boolean; readonly since?: number; readonly whatIf?: boolean },
): Read<{ readonly reports: ReadonlyArray<T.MachineReport> }> => read(["machine-check"], { machine, ...query })
export const machine = (name: string): Read<T.MachineDetails> => read(["machines", name])

export const instances = (
  { where, order = where === undefined ? "newest" : undefined, ...filter }: InstanceFilter & FieldFilter,
  after?: string | number,
  limit = 100,
): Read<List<"instances", T.InstanceListing> & { readonly filling?: { readonly filled: number } }> =>
  read(["instances"], { ...filter, where, order, limit, after })
export const instance = (machineName: string, id: string): Read<T.InstanceView> => read(["instances", machineName, id])
export const history = (
  machineName: string,
  id: string,
  query: {
    readonly after?: number
    readonly before?: number
    readonly order?: "desc"
    readonly limit?: number
    readonly event?: string
    readonly brief?: boolean
  },
): Read<List<"entries", T.HistoryEntry>> => read(["instances", machineName, id, "history"], query)
/** The number of events on one page of a history. */
export const historyPage = 200

/** The first page of the history: its latest events, without their fields. */
export const latestEvents = (machineName: string, id: string, query: { readonly before?: number; readonly event?: string } = {}) =>
  history(machineName, id, { order: "desc", limit: historyPage, brief: true, ...query })

export const stateAt = (machineName: string, id: string, sequence: number): Read<{ readonly sequence: number; readonly state: T.Tagged }> =>
  read(["instances", machineName, id, "states", String(sequence)])
export const legalEvents = (
  machineName: string,
  id: string,
  at?: number,
): Read<{ readonly state: string; readonly events: ReadonlyArray<T.LegalEvent> }> =>
  read(["instances", machineName, id, "legal-events"], { at })
/** The latest commands of an instance, or the commands of one of its events. */
export const commandsOf = (
  machineName: string,
  id: string,
  query: { readonly sequence?: number; readonly limit?: number },
): Read<List<"commands", T.Command>> => read(["instances", machineName, id, "commands"], query)
export const timersOf = (machineName: string, id: string): Read<{ readonly timers: ReadonlyArray<T.Timer> }> =>
  read(["instances", machineName, id, "timers"])

export interface CommandFilter {
  readonly status?: string | undefined
  readonly queue?: string | undefined
  readonly slot?: string | undefined
  readonly machine?: string | undefined
  readonly id?: string | undefined
  readonly fingerprint?: string | undefined
  readonly enqueuedAfter?: number | undefined
  readonly enqueuedBefore?: number | undefined
  /** Only the commands of these numbers. */
  readonly number?: ReadonlyArray<number> | undefined
}

export const commands = (filter: Omit<CommandFilter, "number">, after?: string | number, limit = 100): Read<List<"commands", T.Command>> =>
  read(["commands"], { ...filter, limit, after })
export const command = (key: string): Read<T.Command> => read(["commands", key])
export const commandGroups = (
  filter: Omit<CommandFilter, "number">,
): Read<{ readonly groups: ReadonlyArray<T.CommandGroup>; readonly scanned?: number }> =>
  read(["commands", "groups"], { ...filter, status: "failed" })
export const queues: Read<{ readonly queues: ReadonlyArray<T.Queue> }> = read(["queues"])
export const queueGroups = (queue: string, after?: string | number): Read<List<"groups", T.QueueGroup>> =>
  read(["queues", queue, "groups"], { after, limit: 50 })
export const deadTimers: Read<{ readonly timers: ReadonlyArray<T.DeadTimer> }> = read(["timers", "dead"])

export const schedules = (after?: string | number): Read<List<"schedules", T.Schedule>> => read(["schedules"], { after })
export const schedule = (name: string): Read<T.Schedule> => read(["schedules", name])

export const executions = (
  filter: { readonly workflow?: string | undefined; readonly phase?: string | undefined },
  after?: string | number,
  limit = 100,
): Read<List<"executions", T.ExecutionListing>> => read(["executions"], { ...filter, order: "newest", limit, after })
export const execution = (workflow: string, id: string): Read<T.Execution> => read(["executions", workflow, id])
export const spans = (
  workflow: string,
  id: string,
): Read<{ readonly phase: string; readonly startedAt: number; readonly endedAt?: number; readonly spans: ReadonlyArray<T.Span> }> =>
  read(["executions", workflow, id, "spans"], { limit: 10_000 })

export const batches = (filter: { readonly state?: string | undefined }, after?: string | number): Read<List<"batches", T.BatchListing>> =>
  read(["batch"], { ...filter, order: "newest", limit: 100, after })
export const batch = (batchId: string): Read<T.BatchStatus> => read(["batch", batchId])
export const batchDocuments = (batchId: string, after?: string | number): Read<List<"documents", T.DocumentStatus>> =>
  read(["batch", batchId, "documents"], { limit: 1000, after })
export const batchArtifacts = (batchId: string): Read<{ readonly artifacts: ReadonlyArray<T.Artifact> }> =>
  read(["batch", batchId, "artifacts"])
export const batchFailures = (batchId: string): Read<{ readonly groups: ReadonlyArray<T.FailureGroup> }> =>
  read(["batch", batchId, "failures"])
export const batchReview = (batchId: string): Read<List<"facts", T.ReviewedFact>> => read(["batch", batchId, "review"], { limit: 200 })

export const uploads = (after?: string | number): Read<List<"uploads", T.UploadListing>> => read(["uploads"], { limit: 100, after })
export const upload = (batchId: string): Read<T.UploadStatus> => read(["uploads", batchId])
export const uploadItems = (
  batchId: string,
  query: { readonly state?: string | undefined; readonly reason?: string | undefined },
  after?: string | number,
): Read<List<"items", T.UploadItem>> => read(["uploads", batchId, "items"], { ...query, limit: 200, after })
export const uploadItem = (batchId: string, index: number): Read<T.UploadItemHistory> => read(["uploads", batchId, "items", String(index)])
export const uploadKinds: Read<{ readonly kinds: ReadonlyArray<T.UploadKind> }> = read(["upload-kinds"])

export const metricsHistory: Read<T.MetricsHistory> = read(["metrics", "history"])

export const nodes: Read<{ readonly nodes: ReadonlyArray<T.ClusterNode>; readonly processes: ReadonlyArray<T.WorkingProcess> }> = read([
  "nodes",
])

export const graphs: Read<{ readonly graphs: ReadonlyArray<T.Graph> }> = read(["knowledge"])
export const graph = (namespace: string, version?: string): Read<T.Graph> => read(["knowledge", namespace], { version })
export const entities = (namespace: string, search: string | undefined, version?: string): Read<List<"entities", T.Entity>> =>
  read(["knowledge", namespace, "entities"], { search, version, limit: 100 })
export const provenance = (namespace: string, entity: string, version?: string): Read<List<"facts", T.Provenance>> =>
  read(["knowledge", namespace, "provenance"], { entity, version, limit: 300 })

export const neighbourhood = (namespace: string, entity: string, version?: string): Read<T.Neighbourhood> =>
  read(["knowledge", namespace, "neighbourhood"], { entity, depth: 1, limit: 100, version })

export const documentText = (namespace: string, documentId: string, start: number, end: number, version?: string): Read<T.DocumentText> =>
  read(["knowledge", namespace, "documents", documentId, "text"], { start, end, version })

export const identities = (namespace: string): Read<List<"decisions", T.IdentityDecision>> =>
  read(["knowledge", namespace, "identities"], { limit: 200 })

export const versions = (namespace: string): Read<List<"versions", T.GraphVersion>> => read(["knowledge", namespace, "versions"])

export const versionDiff = (namespace: string, from: string, to: string): Read<T.VersionDiff> =>
  read(["knowledge", namespace, "diff"], { from, to, limit: 200 })

export const vocabulary = (namespace: string, version?: string): Read<T.Vocabulary> =>
  read(["knowledge", namespace, "vocabulary"], { version })
