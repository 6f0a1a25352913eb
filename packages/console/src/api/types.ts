/** The answers of the API, as they arrive: the JSON of the server's own schemas. Only types are imported, so no code comes along. */
import type {
  BatchApi,
  ClusterApi,
  CommandApi,
  ExecutionApi,
  InstanceApi,
  KnowledgeApi,
  MachineApi,
  SystemApi,
  UploadApi,
} from "@detent/server/api"

export type MachineListing = typeof MachineApi.MachineListing.Encoded
export type MachineDetails = typeof MachineApi.MachineDetails.Encoded
export type InstanceListing = typeof InstanceApi.InstanceListing.Encoded
export type InstanceView = typeof InstanceApi.InstanceView.Encoded
export type HistoryEntry = typeof InstanceApi.HistoryEntry.Encoded
export type LegalEvent = typeof InstanceApi.LegalEvent.Encoded
export type Timer = typeof InstanceApi.Timer.Encoded
export type Sent = typeof InstanceApi.Sent.Encoded
export type Command = typeof CommandApi.StoredCommand.Encoded
export type CommandStatus = typeof CommandApi.CommandStatus.Encoded
export type Queue = typeof CommandApi.Queue.Encoded
export type DeadTimer = typeof CommandApi.DeadTimer.Encoded
export type Execution = typeof ExecutionApi.Execution.Encoded
export type ExecutionListing = typeof ExecutionApi.ExecutionListing.Encoded
export type ExecutionEvent = typeof ExecutionApi.ExecutionEvent.Encoded
export type ClusterNode = typeof ClusterApi.ClusterNode.Encoded
export type Readiness = typeof SystemApi.Readiness.Encoded
export type BatchListing = typeof BatchApi.BatchListing.Encoded
export type BatchStatus = typeof BatchApi.BatchStatus.Encoded
export type DocumentStatus = typeof BatchApi.DocumentStatus.Encoded
export type Artifact = typeof BatchApi.Artifact.Encoded
export type ReviewedFact = typeof BatchApi.ReviewedFact.Encoded
export type UploadListing = typeof UploadApi.UploadListing.Encoded
export type UploadStatus = typeof UploadApi.UploadStatus.Encoded
export type UploadItem = typeof UploadApi.UploadItem.Encoded
export type UploadKind = typeof UploadApi.UploadKind.Encoded
export type Graph = typeof KnowledgeApi.GraphInfo.Encoded
export type Entity = typeof KnowledgeApi.Entity.Encoded
export type Relation = typeof KnowledgeApi.Relation.Encoded
export type Provenance = typeof KnowledgeApi.Provenance.Encoded

export type Tagged = InstanceView["state"]
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

export interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

interface Line {
  readonly kind: string
  readonly text: string
}

export interface DiagramLayout {
  readonly fingerprint: string
  readonly width: number
  readonly height: number
  readonly states: ReadonlyArray<
    Area & {
      readonly key: string
      readonly state?: string
      readonly name: string
      readonly final: boolean
      readonly failure: boolean
      readonly lines: ReadonlyArray<ReadonlyArray<Line>>
    }
  >
  readonly groups: ReadonlyArray<Area & { readonly key: string; readonly name: string; readonly lines: ReadonlyArray<Line> }>
  readonly edges: ReadonlyArray<{
    readonly kind: string
    readonly from: string
    readonly to: string
    readonly causes: ReadonlyArray<string>
    readonly label: ReadonlyArray<string>
    readonly labelAt?: Area
    readonly points: ReadonlyArray<{ readonly x: number; readonly y: number }>
  }>
  readonly start?: Area & { readonly key: string }
  readonly stops: ReadonlyArray<Area & { readonly key: string; readonly reason: string }>
}
