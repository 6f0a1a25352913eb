/** What commands print of a batch, from its state alone. The commands themselves run in batch.test.ts. */
import { BatchStateJson, defaultBatchConfig } from "@detent/knowledge"
import * as Schema from "effect/Schema"
import { assert, describe, it } from "vitest"
import { batchExitCode, batchNextStep, batchStep, batchText, estimateText, stateLooks } from "../../src/batch/BatchView.ts"
import { coloured, plain } from "../../src/output/Style.ts"

const id = "batch-0123456789ab"
const here = { data: ".detent", database: undefined }
const hash = "a".repeat(16)

const common = {
  batchId: id,
  manifestUri: "file:///data/manifest.json",
  ontologyVersion: "coast/ontology@0123456789abcdef",
  targetNamespace: "coast",
  config: defaultBatchConfig,
  documentsTotal: 4,
  retryCount: 0,
  attempt: 0,
  createdAt: 1_700_000_000_000,
  updatedAt: 1_700_000_000_000,
}

const extracted = {
  documentsCompleted: 3,
  documentsFailed: 1,
  documentsSetAside: 0,
  documentsUnchanged: 0,
  entityCount: 20,
  relationCount: 46,
  reviewCount: 0,
}

const stats = {
  documentsProcessed: 4,
  documentsFailed: 0,
  documentsSetAside: 0,
  documentsUnchanged: 0,
  documentsWithdrawn: 0,
  entitiesExtracted: 20,
  relationsExtracted: 46,
  clustersResolved: 12,
  violations: 0,
  quarantined: 0,
  forReview: 0,
  triplesIngested: 46,
  triplesTotal: 286,
  totalDurationMs: 90_000,
}

const state = (tag: string, more: object) => Schema.decodeUnknownSync(BatchStateJson)(JSON.stringify({ _tag: tag, ...common, ...more }))

const completed = (more: object = {}, ofStats: object = {}) =>
  state("Completed", {
    ...extracted,
    documentsCompleted: 4,
    documentsFailed: 0,
    canonicalVersion: hash,
    previousVersion: null,
    canonicalGraphUri: "file:///data/canonical/coast/entities.ttl",
    stats: { ...stats, ...ofStats },
    completedAt: 1_700_000_090_000,
    ...more,
  })

const failed = (code: string) =>
  state("Failed", { ...extracted, failedInStage: "extracting", error: { code, message: "it broke" }, failedAt: 1_700_000_000_000 })

describe("a batch in the output of commands", () => {
  it("shows its progress in documents, facts and tokens", () => {
    const usage = { calls: 7, inputTokens: 14_000, outputTokens: 200, cost: 0.031_234, currency: "USD" }
    const extracting = state("Extracting", { ...extracted, failuresSince: 0, round: 0, usage })
    assert.deepStrictEqual(batchStep(extracting), {
      stage: "Extracting",
      percent: 70,
      text: "4/4 documents, 46 facts, 14,200 tokens, 0.0312 USD",
    })
  })

  it("shows what a completed batch added, and how much of it the graph still has", () => {
    const standing = { review: { open: 0, accepted: 0, rejected: 0 }, inGraph: 40, isWithdrawn: false, graph: undefined }
    const text = batchText(completed(), plain, here, standing)
    assert.match(text, /^facts +46 about 12 entities$/m)
    assert.match(text, /^triples +46 from this batch; 286 in the graph when it ended; 40 from this batch now$/m)
    assert.match(text, /^took +1m 30s$|^took +1 min 30 s$|^took +90/m)
    assert.notMatch(text, /for review|not read|extractor|spent|failed +while/)
  })

  it("says so where nothing changed, instead of counts of zero", () => {
    const unchanged = completed({ documentsUnchanged: 4 }, { triplesIngested: 0, relationsExtracted: 0 })
    assert.match(batchText(unchanged, plain, here), /^changes +none: no document changed, and the graph is as before$/m)
  })

  it("names facts for review and violations with the commands that list them, in this place", () => {
    const text = batchText(completed({ reviewCount: 3 }, { violations: 2, forReview: 3 }), plain, { data: "my data", database: "x" })
    assert.match(text, /^review them +detent batch review list batch-0123456789ab --data 'my data' --database …$/m)
    assert.match(text, /^violations +2; list them: detent batch show batch-0123456789ab --quarantine --data 'my data' --database …$/m)
  })

  it.each([
    ["completed", completed(), /^See the facts: detent graph relations --namespace coast;/, 0],
    [
      "completed with held statements",
      completed({}, { quarantined: 1 }),
      /^See what validation quarantined: detent batch show .+ --quarantine$/,
      0,
    ],
    ["failed", failed("NoDocument"), /^Correct the cause, then: detent batch retry batch-0123456789ab$/, 1],
    ["out of budget", failed("BudgetExhausted"), /^Raise the budget and continue: detent batch resume .+ --budget AMOUNT$/, 1],
    ["invalid", failed("ValidationFailed"), /start the same `detent batch run` again$/, 1],
    [
      "cancelled",
      state("Cancelled", { ...extracted, cancelledInStage: "extracting", cancelledAt: 1 }),
      /^Continue it: detent batch resume batch-0123456789ab$/,
      1,
    ],
  ] as const)("that is %s names the next step, and has its exit code", (_, batch, step, code) => {
    assert.match(batchNextStep(batch, here) ?? "", step)
    assert.strictEqual(batchExitCode(batch), code)
  })

  it("has a colour for its state only where there are colours", () => {
    assert.strictEqual(stateLooks("Failed", coloured), coloured.red("Failed"))
    assert.strictEqual(stateLooks("Failed", plain), "Failed")
  })

  it("is estimated with and without a known price", () => {
    const estimate = {
      extractor: "anthropic/x",
      documents: 2,
      unchanged: 0,
      unreadable: 1,
      chunks: 9,
      calls: 9,
      inputTokens: 12_000,
      outputTokens: 900,
    }
    const unpriced = estimateText(estimate, plain)
    assert.match(unpriced, /^cost +price not known; add it to knowledge\.prices$/m)
    assert.match(unpriced, /^unreadable +1 documents, which would fail$/m)
    assert.notMatch(unpriced, /^unchanged/m)
    assert.match(estimateText({ ...estimate, cost: 1.239, currency: "USD" }, plain), /^cost +about 1\.24 USD$/m)
  })
})
