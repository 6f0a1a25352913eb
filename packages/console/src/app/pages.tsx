/** The pages, with their places in the navigation, their keys and their addresses. Each is loaded when it is first opened. */
import { type ComponentType, useEffect, useRef, useState } from "react"
import { isServerThere } from "../api/Client.ts"
import { useLiveMode } from "../live/LiveContext.tsx"
import type { IconName } from "../parts/Icon.tsx"
import { Skeleton } from "../parts/Panel.tsx"

export interface Page {
  readonly name: string
  readonly path: string
  readonly icon: IconName
  /** The key after `g`. */
  readonly key: string
  readonly group: "Now" | "Machines" | "Work" | "Data" | "Server"
  /** The system that the page belongs to. On a server without it, the page is not in the navigation. */
  readonly system?: "knowledge" | "uploads"
}

export const pages: ReadonlyArray<Page> = [
  { name: "Overview", path: "/", icon: "overview", key: "o", group: "Now" },
  { name: "Machines", path: "/machines", icon: "machine", key: "m", group: "Machines" },
  { name: "Instances", path: "/instances", icon: "instance", key: "i", group: "Machines" },
  { name: "Workflows", path: "/workflows", icon: "workflow", key: "w", group: "Machines" },
  { name: "Commands", path: "/commands", icon: "command", key: "c", group: "Work" },
  { name: "Queues", path: "/queues", icon: "queue", key: "q", group: "Work" },
  { name: "Schedules", path: "/schedules", icon: "clock", key: "e", group: "Work" },
  { name: "Batches", path: "/batches", icon: "batch", key: "b", group: "Data", system: "knowledge" },
  { name: "Knowledge", path: "/knowledge", icon: "knowledge", key: "k", group: "Data", system: "knowledge" },
  { name: "Uploads", path: "/uploads", icon: "upload", key: "u", group: "Data", system: "uploads" },
  { name: "Nodes", path: "/nodes", icon: "node", key: "n", group: "Server" },
  { name: "System", path: "/system", icon: "system", key: "s", group: "Server" },
]

type Names = { readonly names: ReadonlyArray<string> }

/** A page whose file is loaded when it is first opened. */
export interface PageFile {
  readonly load: () => Promise<ComponentType<Names>>
  readonly loaded: () => ComponentType<Names> | undefined
}

const onDemand = (read: () => Promise<ComponentType<Names>>): PageFile => {
  let page: ComponentType<Names> | undefined
  return {
    load: async () => {
      page ??= await read()
      return page
    },
    loaded: () => page,
  }
}

const retryMillis = 1000

/** Shows a page as soon as its file is loaded. React's `lazy` would show its fallback for at least 300 ms. */
export const ShownPage = ({ file, names }: Names & { readonly file: PageFile }) => {
  const [Page, setPage] = useState(file.loaded)
  const [problem, setProblem] = useState<Error>()
  const liveMode = useLiveMode()
  const mode = useRef(liveMode)
  useEffect(() => {
    mode.current = liveMode
  }, [liveMode])
  useEffect(() => {
    let isLeft = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const later = () => {
      timer = setTimeout(() => void load(), retryMillis)
    }
    const load = async (): Promise<void> => {
      // Some browsers never request a file again whose request has failed: none is sent while the server may be away.
      const isAway = file.loaded() === undefined && mode.current === "offline" && !(await isServerThere())
      if (isLeft) return
      if (isAway) return later()
      return file.load().then(
        (page) => setPage(() => page),
        async (reason: unknown) => {
          const isThere = await isServerThere()
          if (isLeft) return
          // The server is restarting and will have the file again.
          if (!isThere) later()
          else setProblem(reason instanceof Error ? reason : new Error(String(reason)))
        },
      )
    }
    void load()
    return () => {
      isLeft = true
      clearTimeout(timer)
    }
  }, [file])
  if (problem !== undefined) throw problem
  return Page === undefined ? <Skeleton rows={8} /> : <Page names={names} />
}

const Overview = onDemand(() => import("../pages/Overview.tsx").then(({ Overview: page }) => page))
const Machines = onDemand(() => import("../pages/Machines.tsx").then(({ Machines: page }) => page))
const MachinePage = onDemand(() => import("../pages/MachinePage.tsx").then(({ MachinePage: page }) => page))
const Instances = onDemand(() => import("../pages/Instances.tsx").then(({ Instances: page }) => page))
const InstancePage = onDemand(() => import("../pages/instance/InstancePage.tsx").then(({ InstancePage: page }) => page))
const Workflows = onDemand(() => import("../pages/Workflows.tsx").then(({ Workflows: page }) => page))
const WorkflowPage = onDemand(() => import("../pages/WorkflowPage.tsx").then(({ WorkflowPage: page }) => page))
const Commands = onDemand(() => import("../pages/Commands.tsx").then(({ Commands: page }) => page))
const Queues = onDemand(() => import("../pages/Queues.tsx").then(({ Queues: page }) => page))
const Batches = onDemand(() => import("../pages/Batches.tsx").then(({ Batches: page }) => page))
const BatchPage = onDemand(() => import("../pages/BatchPage.tsx").then(({ BatchPage: page }) => page))
const Knowledge = onDemand(() => import("../pages/Knowledge.tsx").then(({ Knowledge: page }) => page))
const GraphPage = onDemand(() => import("../pages/GraphPage.tsx").then(({ GraphPage: page }) => page))
const SparqlPage = onDemand(() => import("../pages/SparqlPage.tsx").then(({ SparqlPage: page }) => page))
const Schedules = onDemand(() => import("../pages/Schedules.tsx").then(({ Schedules: page }) => page))
const Uploads = onDemand(() => import("../pages/Uploads.tsx").then(({ Uploads: page }) => page))
const UploadPage = onDemand(() => import("../pages/UploadPage.tsx").then(({ UploadPage: page }) => page))
const Nodes = onDemand(() => import("../pages/Nodes.tsx").then(({ Nodes: page }) => page))
const System = onDemand(() => import("../pages/System.tsx").then(({ System: page }) => page))

/** The page of an address; undefined where there is none. */
export const pageOf = ([first, ...rest]: ReadonlyArray<string>): PageFile | undefined => {
  const table: Readonly<Record<string, ReadonlyArray<PageFile | undefined>>> = {
    machines: [Machines, MachinePage],
    instances: [Instances, undefined, InstancePage],
    workflows: [Workflows, undefined, WorkflowPage],
    commands: [Commands],
    queues: [Queues, Queues],
    schedules: [Schedules, Schedules],
    batches: [Batches, BatchPage],
    knowledge: [Knowledge, GraphPage, rest[1] === "sparql" ? SparqlPage : undefined],
    uploads: [Uploads, UploadPage],
    nodes: [Nodes],
    system: [System],
  }
  return first === undefined ? Overview : table[first]?.[rest.length]
}
