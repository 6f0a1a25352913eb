/** The answers of the API, as they arrive: the JSON of the server's own schemas. Only types are imported, so no code comes along. */
import type {
  BatchApi,
  ClusterApi,
  CommandApi,
  ExecutionApi,
  InstanceApi,
  KnowledgeApi,
  MachineApi,
  ScheduleApi,
  SessionApi,
  SystemApi,
  UploadApi,
} from "@detent/api"

export type MachineListing = typeof MachineApi.MachineListing.Encoded
export type MachineDetails = typeof MachineApi.MachineDetails.Encoded
export type MachineReport = typeof MachineApi.MachineReport.Encoded
export type InstanceListing = typeof InstanceApi.InstanceListing.Encoded
export type InstanceView = typeof InstanceApi.InstanceView.Encoded
export type HistoryEntry = typeof InstanceApi.HistoryEntry.Encoded
export type LegalEvent = typeof InstanceApi.LegalEvent.Encoded
export type Timer = typeof InstanceApi.Timer.Encoded
export type Sent = typeof InstanceApi.Sent.Encoded
export type Command = typeof CommandApi.StoredCommand.Encoded
export type CommandStatus = typeof CommandApi.CommandStatus.Encoded
export type Queue = typeof CommandApi.Queue.Encoded
export type QueueGroup = typeof CommandApi.QueueGroup.Encoded
export type DeadTimer = typeof CommandApi.DeadTimer.Encoded
export type Schedule = typeof ScheduleApi.Schedule.Encoded
export type ScheduleRun = typeof ScheduleApi.ScheduleRun.Encoded
export type Execution = typeof ExecutionApi.Execution.Encoded
export type ExecutionListing = typeof ExecutionApi.ExecutionListing.Encoded
export type ClusterNode = typeof ClusterApi.ClusterNode.Encoded
export type Readiness = typeof SystemApi.Readiness.Encoded
export type BatchListing = typeof BatchApi.BatchListing.Encoded
export type BatchStatus = typeof BatchApi.BatchStatus.Encoded
export type MappingPreview = typeof BatchApi.MappingPreview.Encoded
export type DocumentStatus = typeof BatchApi.DocumentStatus.Encoded
export type Artifact = typeof BatchApi.Artifact.Encoded
export type ReviewedFact = typeof BatchApi.ReviewedFact.Encoded
export type UploadListing = typeof UploadApi.UploadListing.Encoded
export type UploadStatus = typeof UploadApi.UploadStatus.Encoded
export type UploadItem = typeof UploadApi.UploadItem.Encoded
export type UploadPlan = typeof UploadApi.UploadPlan.Encoded
export type CorrectionReport = typeof UploadApi.CorrectionReport.Encoded
export type UploadKind = typeof UploadApi.UploadKind.Encoded
export type UploadPreview = typeof UploadApi.UploadPreview.Encoded
export type Mapping = UploadPreview["mapping"]
export type FieldRule = Mapping["fields"][number]
export type Graph = typeof KnowledgeApi.GraphInfo.Encoded
export type Entity = typeof KnowledgeApi.Entity.Encoded
export type Provenance = typeof KnowledgeApi.Provenance.Encoded

export type Tagged = InstanceView["state"]
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }
export type Session = typeof SessionApi.Session.Encoded
export type DiagramLayout = typeof MachineApi.DiagramLayout.Encoded
export type BulkSent = typeof InstanceApi.BulkSent.Encoded
export type CommandGroup = typeof CommandApi.CommandGroup.Encoded
export type Span = typeof ExecutionApi.Span.Encoded
export type MetricsHistory = typeof SystemApi.MetricsHistory.Encoded
export type Series = MetricsHistory["series"][number]
export type WorkingProcess = typeof ClusterApi.WorkingProcess.Encoded
export type Neighbourhood = typeof KnowledgeApi.Neighbourhood.Encoded
export type DocumentText = typeof KnowledgeApi.DocumentText.Encoded
export type IdentityDecision = typeof KnowledgeApi.Identity.Encoded
export type GraphVersion = typeof KnowledgeApi.GraphVersionInfo.Encoded
export type VersionDiff = typeof KnowledgeApi.VersionDiff.Encoded
export type Vocabulary = typeof KnowledgeApi.Vocabulary.Encoded
export type UploadItemHistory = typeof UploadApi.UploadItemHistory.Encoded
export type FailureGroup = typeof BatchApi.FailureGroup.Encoded
