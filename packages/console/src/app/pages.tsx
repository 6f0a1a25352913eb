/** The pages, with their places in the navigation, their keys and their addresses. Each is loaded when it is first opened. */
import { type ComponentType, lazy } from "react"
import type { IconName } from "../parts/Icon.tsx"

export interface Page {
  readonly name: string
  readonly path: string
  readonly icon: IconName
  /** The key after `g`. */
  readonly key: string
  readonly group: "Now" | "Machines" | "Work" | "Data" | "Server"
  /** The system that the page belongs to: without it the page is not in the navigation. */
  readonly system?: "knowledge" | "uploads"
}

export const pages: ReadonlyArray<Page> = [
  { name: "Overview", path: "/", icon: "overview", key: "o", group: "Now" },
  { name: "Machines", path: "/machines", icon: "machine", key: "m", group: "Machines" },
  { name: "Instances", path: "/instances", icon: "instance", key: "i", group: "Machines" },
  { name: "Workflows", path: "/workflows", icon: "workflow", key: "w", group: "Machines" },
  { name: "Commands", path: "/commands", icon: "command", key: "c", group: "Work" },
  { name: "Queues", path: "/queues", icon: "queue", key: "q", group: "Work" },
  { name: "Batches", path: "/batches", icon: "batch", key: "b", group: "Data", system: "knowledge" },
  { name: "Knowledge", path: "/knowledge", icon: "knowledge", key: "k", group: "Data", system: "knowledge" },
  { name: "Uploads", path: "/uploads", icon: "upload", key: "u", group: "Data", system: "uploads" },
  { name: "Nodes", path: "/nodes", icon: "node", key: "n", group: "Server" },
  { name: "System", path: "/system", icon: "system", key: "s", group: "Server" },
]

type Names = { readonly names: ReadonlyArray<string> }

const Overview = lazy(() => import("../pages/Overview.tsx").then(({ Overview: page }) => ({ default: page })))
const Machines = lazy(() => import("../pages/Machines.tsx").then(({ Machines: page }) => ({ default: page })))
const MachinePage = lazy(() => import("../pages/MachinePage.tsx").then(({ MachinePage: page }) => ({ default: page })))
const Instances = lazy(() => import("../pages/Instances.tsx").then(({ Instances: page }) => ({ default: page })))
const InstancePage = lazy(() => import("../pages/instance/InstancePage.tsx").then(({ InstancePage: page }) => ({ default: page })))
const Workflows = lazy(() => import("../pages/Workflows.tsx").then(({ Workflows: page }) => ({ default: page })))
const WorkflowPage = lazy(() => import("../pages/WorkflowPage.tsx").then(({ WorkflowPage: page }) => ({ default: page })))
const Commands = lazy(() => import("../pages/Commands.tsx").then(({ Commands: page }) => ({ default: page })))
const Queues = lazy(() => import("../pages/Queues.tsx").then(({ Queues: page }) => ({ default: page })))
const Batches = lazy(() => import("../pages/Batches.tsx").then(({ Batches: page }) => ({ default: page })))
const BatchPage = lazy(() => import("../pages/BatchPage.tsx").then(({ BatchPage: page }) => ({ default: page })))
const Knowledge = lazy(() => import("../pages/Knowledge.tsx").then(({ Knowledge: page }) => ({ default: page })))
const GraphPage = lazy(() => import("../pages/GraphPage.tsx").then(({ GraphPage: page }) => ({ default: page })))
const SparqlPage = lazy(() => import("../pages/SparqlPage.tsx").then(({ SparqlPage: page }) => ({ default: page })))
const Uploads = lazy(() => import("../pages/Uploads.tsx").then(({ Uploads: page }) => ({ default: page })))
const UploadPage = lazy(() => import("../pages/UploadPage.tsx").then(({ UploadPage: page }) => ({ default: page })))
const Nodes = lazy(() => import("../pages/Nodes.tsx").then(({ Nodes: page }) => ({ default: page })))
const System = lazy(() => import("../pages/System.tsx").then(({ System: page }) => ({ default: page })))

/** The page of an address; undefined where there is none. */
export const pageOf = ([first, ...rest]: ReadonlyArray<string>): ComponentType<Names> | undefined => {
  const table: Readonly<Record<string, ReadonlyArray<ComponentType<Names> | undefined>>> = {
    machines: [Machines, MachinePage],
    instances: [Instances, undefined, InstancePage],
    workflows: [Workflows, undefined, WorkflowPage],
    commands: [Commands],
    queues: [Queues, Queues],
    batches: [Batches, BatchPage],
    knowledge: [Knowledge, GraphPage, rest[1] === "sparql" ? SparqlPage : undefined],
    uploads: [Uploads, UploadPage],
    nodes: [Nodes],
    system: [System],
  }
  return first === undefined ? Overview : table[first]?.[rest.length]
}
