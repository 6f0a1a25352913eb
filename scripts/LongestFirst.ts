/**
 * The order of test files: the longest first, of whichever project, so that no worker is left alone with a long file at the end.
 * Vitest orders by size where it has not seen a file before, as in a fresh clone, and runs one project after the other.
 */
import { statSync } from "node:fs"
import { relative } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { root } from "./projects.mjs"

/** The files that take five seconds or more, the longest first. */
const long = [
  "packages/server/test/serve/hostile.test.ts",
  "packages/knowledge/test/batch/crash/crash.test.ts",
  "packages/cli/test/pack.test.ts",
  "packages/durable/test/engine/Postgres.test.ts",
  "packages/cli/test/batch.test.ts",
  "packages/durable/test/engine/Sqlite.test.ts",
  "packages/uploads/test/crash/crash.test.ts",
  "packages/durable/test/crash/commands.test.ts",
  "packages/uploads/test/crash/steps.test.ts",
  "packages/cli/test/postgres/copy.test.ts",
  "packages/durable/test/crash/postgresFaults.test.ts",
  "packages/durable/test/workflow/Postgres.test.ts",
  "packages/durable/test/eventlog/processes.test.ts",
  "packages/server/test/page/accessible.test.ts",
  "packages/server/test/page/console.test.ts",
  "packages/server/test/page/limits.test.ts",
  "packages/cli/test/init.test.ts",
  "packages/knowledge/test/postgres/Batches.test.ts",
  "packages/durable/test/engine/Memory.test.ts",
  "packages/knowledge/test/batch/Models.test.ts",
  "packages/durable/test/crash/crash.test.ts",
  "packages/cli/test/systems.test.ts",
  "packages/cli/test/serving.test.ts",
  "packages/durable/test/crash/nodes.test.ts",
  "packages/knowledge/test/runs/crash.test.ts",
  "packages/durable/test/workflow/Sqlite.test.ts",
  "packages/durable/test/crash/ownership/sameHost.test.ts",
  "packages/durable/test/crash/ownership/ownership.test.ts",
  "packages/server/test/serve/live.test.ts",
  "packages/knowledge/test/document/Hostile.test.ts",
  "packages/knowledge/test/postgres/Outage.test.ts",
  "packages/server/test/serve/crash.test.ts",
  "packages/uploads/test/trouble.test.ts",
  "packages/durable/test/simulation/simulation.test.ts",
  "packages/durable/test/workflow/parity/crash.test.ts",
  "packages/knowledge/test/batch/Losses.test.ts",
  "packages/server/test/serve/batches.test.ts",
  "packages/durable/test/SqliteFile.test.ts",
  "packages/uploads/test/Uploads.test.ts",
  "packages/durable/test/processes/ProcessPool.test.ts",
  "packages/knowledge/test/threads/WorkerPool.test.ts",
  "packages/cli/test/operating.test.ts",
  "packages/cli/test/activity.test.ts",
  "packages/uploads/test/readOnce.test.ts",
  "packages/server/test/serve/badInput.test.ts",
  "packages/cli/test/instance.test.ts",
  "packages/cli/test/models.test.ts",
  "packages/durable/test/workflow/simulation/simulation.test.ts",
  "packages/cli/test/upload.test.ts",
  "packages/uploads/test/races.test.ts",
  "packages/uploads/test/files.test.ts",
  "packages/durable/test/eventlog/SqlEventJournal.test.ts",
  "packages/cli/test/mcp.test.ts",
  "packages/cli/test/bin.test.ts",
  "packages/durable/test/command/Postgres.test.ts",
  "examples/test/demo.test.ts",
  "packages/durable/test/command/backlog.test.ts",
  "packages/durable/test/command/Sqlite.test.ts",
  "packages/knowledge/test/storage/FileStorage.test.ts",
  "packages/knowledge/test/batch/Ingestion.test.ts",
  "packages/durable/test/SqliteLocks.test.ts",
  "packages/cli/test/postgres/postgres.test.ts",
  "packages/durable/test/workflow/Memory.test.ts",
  "packages/durable/test/promise/crash.test.ts",
  "packages/uploads/test/hostile.test.ts",
  "packages/uploads/test/progress.test.ts",
  "packages/uploads/test/search.test.ts",
  "packages/durable/test/PostgresStore.test.ts",
  "packages/durable/test/command/Memory.test.ts",
  "packages/knowledge/test/rdf/LineSort.test.ts",
  "packages/knowledge/test/postgres/Activities.test.ts",
  "packages/durable/test/promise/machines.test.ts",
  "packages/knowledge/test/validate/Quarantine.test.ts",
  "packages/server/test/api/described.test.ts",
  "examples/test/Refund.test.ts",
  "packages/knowledge/test/graph/GraphQuery.test.ts",
  "packages/uploads/test/kinds.test.ts",
  "packages/knowledge/test/batch/Cancel.test.ts",
  "packages/knowledge/test/batch/Concurrent.test.ts",
  "packages/server/test/serve/readiness.test.ts",
  "examples/test/Saga.test.ts",
  "packages/durable/test/command/handoff.test.ts",
  "packages/durable/test/promise/workflows.test.ts",
  "packages/durable/test/ManyInstances.test.ts",
  "packages/durable/test/eventlog/outage.test.ts",
  "packages/knowledge/test/batch/Provenance.test.ts",
  "packages/machine/test/diagram/escape.test.ts",
  "examples/test/Approval.test.ts",
  "packages/durable/test/command/notices.test.ts",
  "packages/server/test/serve/cancelledBatch.test.ts",
  "packages/server/test/serve/rpcSocket.test.ts",
  "packages/cli/test/upkeep.test.ts",
  "packages/knowledge/test/batch/FailurePolicy.test.ts",
  "packages/knowledge/test/batch/Incremental.test.ts",
  "packages/knowledge/test/batch/SetAside.test.ts",
]

const ranks = new Map(long.map((file, rank) => [file, rank]))

const rankOf = ({ moduleId }: TestSpecification): number => ranks.get(relative(root, moduleId).replaceAll("\\", "/")) ?? long.length

export class LongestFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sizes = new Map(files.map((file) => [file, statSync(file.moduleId).size]))
    const sizeOf = (file: TestSpecification) => sizes.get(file) ?? 0
    return Promise.resolve(files.toSorted((one, other) => rankOf(one) - rankOf(other) || sizeOf(other) - sizeOf(one)))
  }
}
