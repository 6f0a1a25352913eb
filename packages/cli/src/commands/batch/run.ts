import { Batches, type BatchId, keyNames, modelForms, ReasoningEffort } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { readBySource, sourceOf } from "../../batch/BatchSource.ts"
import { noBaseUrl, selectionOf, startBatch } from "../../batch/BatchStarting.ts"
import { batchText, batchView, estimateText } from "../../batch/BatchView.ts"
import { leftOutText } from "../../batch/LeftOut.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge, type Place } from "../../workspace/Opening.ts"
import { neededServer, runningServerWith } from "../../workspace/Server.ts"
import { allowedSource } from "../../workspace/Sources.ts"
import { keyOption } from "../shared.ts"
import { followOnServer, workOn } from "./following.ts"

const { estimating, observing, working } = knowledge

export default command(
  {
    name: "batch run",
    summary: "turn documents into a validated knowledge graph",
    detail:
      "Takes a manifest.json, a folder that has one, or a folder of documents together with --ontology and --namespace.\n" +
      "Folders and files may be in a bucket: gs://BUCKET/PREFIX or s3://BUCKET/PREFIX.\n" +
      "A second run extracts changed documents, skips unchanged ones, and removes documents that are missing now from the graph.\n" +
      "Stop it with Ctrl-C or kill it: finished work is stored, and `detent batch resume` continues from there.\n" +
      `Models need the key of their provider in the environment: ${keyNames.join(", ")}. It is sent to the provider only.`,
    arguments: [{ name: "source", summary: "a folder, a bucket folder (gs://, s3://) or a manifest.json", complete: "file" }],
    options: [
      {
        name: "ontology",
        kind: "text",
        value: "FILE",
        summary: "the ontology: classes and properties; for a folder without a manifest",
        complete: "file",
      },
      { name: "namespace", kind: "text", value: "NAME", summary: "the graph to add to; for a folder without a manifest" },
      {
        name: "shapes",
        kind: "text",
        value: "FILE",
        summary: "SHACL shapes to validate with. Default: derived from the ontology",
        complete: "file",
      },
      {
        name: "examples",
        kind: "text",
        value: "FILE",
        summary: "sentences with their facts, to learn from, or for a model to see",
        complete: "file",
      },
      {
        name: "mapping",
        kind: "text",
        value: "FILE",
        summary: "the mapping of tables and objects to facts, as `detent batch map` writes it. Default: that of the manifest",
        complete: "file",
      },
      { name: "keep-missing", kind: "flag", summary: "keep documents in the graph that are no longer in the folder or manifest" },
      {
        name: "extractor",
        kind: "text",
        value: "NAME",
        summary: `built-in, ${modelForms}. Default: that of the manifest, then knowledge.extractor, then built-in`,
      },
      {
        name: "base-url",
        kind: "text",
        value: "URL",
        summary: "a server with the provider's API. Default: OPENAI_BASE_URL for OpenAI, then the provider's own address",
      },
      { name: "budget", kind: "text", value: "AMOUNT", summary: "stop before models use more than this, such as 5usd or 200000tokens" },
      {
        name: "price",
        kind: "text",
        value: "READ/WRITTEN",
        summary: "prices of a million tokens, such as 0.25/2. Default: knowledge.prices, then the built-in table",
      },
      {
        name: "rpm",
        kind: "integer",
        value: "N",
        minimum: 1,
        summary: "most requests to the model in a minute. Default: knowledge.limits, then 50",
      },
      {
        name: "effort",
        kind: "text",
        value: "EFFORT",
        choices: ReasoningEffort.literals,
        summary: "how much a reasoning model thinks before it answers. Default: the model's own",
      },
      {
        name: "instructions",
        kind: "text",
        value: "FILE",
        summary: "what a model should know beside the ontology: conventions of the documents, what to leave out",
        complete: "file",
      },
      {
        name: "glossary",
        kind: "text",
        value: "FILE",
        summary: "words of the documents and what they mean, for a model: WORD: MEANING on each line",
        complete: "file",
      },
      { name: "estimate", kind: "flag", summary: "only estimate chunks, tokens and cost; no model is called" },
      {
        name: "on-failure",
        kind: "text",
        value: "POLICY",
        choices: ["continue", "failFast", "retryFailed"],
        default: "continue",
        summary: "what the batch does when a document fails",
      },
      {
        name: "validation",
        kind: "text",
        value: "POLICY",
        choices: ["quarantine", "fail", "warn"],
        default: "quarantine",
        summary: "what happens to statements that violate the shapes",
      },
      { name: "concurrency", kind: "integer", value: "N", default: 64, minimum: 1, summary: "documents extracted at the same time" },
      {
        name: "dispatch",
        kind: "text",
        value: "WHO",
        choices: ["process", "tasks", "activities"],
        default: "process",
        summary:
          "where activities run: in this process, as tasks of the queue in knowledge.tasks, or as `detent activity` calls of a job runner",
      },
      { name: "max-retries", kind: "integer", value: "N", minimum: 0, summary: "how often the batch can be retried. Default: 3" },
      { name: "no-resolution", kind: "flag", summary: "skip entity resolution: mentions of the same entity stay separate" },
      keyOption,
      { name: "detach", kind: "flag", summary: "start the batch on the running server of this workspace, and do not follow it" },
    ],
    examples: [
      { line: "detent batch run corpus", says: "a folder with a manifest.json" },
      {
        line: "detent batch run letters --ontology people.ttl --namespace family",
        says: "any folder of txt, md, html, json, jsonl, csv, tsv, xlsx or pdf",
      },
      {
        line: "detent batch run gs://docs/letters --ontology gs://docs/people.ttl --namespace family --data gs://results/detent --database postgres://db/detent",
        says: "documents and results in buckets; s3:// works the same",
      },
      { line: "detent batch run letters --keep-missing", says: "letters that were deleted stay in the graph" },
      { line: "detent batch run corpus --json | tail -1", says: "progress as JSON lines; the last line is the final status" },
      { line: "detent batch run corpus --extractor openai:gpt-5-mini --estimate", says: "what a model would cost" },
      {
        line: "detent batch run corpus --extractor ollama:llama3.3",
        says: "a model on your own machine",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const read = yield* readBySource(input)
      const leftOut = yield* leftOutText(input)
      if (leftOut !== undefined) yield* (yield* Output).note(leftOut)
      const locations = [read.folder, ...read.files]
      const selection = yield* selectionOf(input)
      if (input.estimate) return yield* Effect.provide(showEstimate(input, selection), estimating(input, locations))
      const server = input.detach ? yield* neededServer(input, "knowledge") : yield* runningServerWith(input, "knowledge")
      const dispatch = input.dispatch === "process" ? {} : { dispatch: input.dispatch }
      const config = {
        failurePolicy: input["on-failure"],
        concurrency: input.concurrency,
        validation: input.validation,
        ...dispatch,
        ...(input["max-retries"] === undefined ? {} : { maxRetries: input["max-retries"] }),
        ...(input["no-resolution"] ? { resolveEntities: false } : {}),
        ...selection,
      }
      if (server !== undefined) {
        yield* noBaseUrl(input)
        const started = allowedSource(input.data, read, startBatch(server, input, config, input.key))
        const batchId = yield* Effect.provide(started, observing(input))
        return yield* followOnServer(input, batchId)
      }
      return yield* Effect.gen(function* () {
        const batchId = yield* allowedSource(input.data, read, startBatch(undefined, input, config, input.key))
        return yield* input.dispatch === "activities" ? showWaiting(input, batchId) : workOn(input, batchId)
      }).pipe(Effect.provide(working(input, locations)))
    }),
)

const showEstimate = (input: Parameters<typeof sourceOf>[0], config: Effect.Success<ReturnType<typeof selectionOf>>) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { folder, manifest } = yield* sourceOf(input)
    const estimate = yield* operations.estimate({ folder, manifest, config })
    yield* output.value(estimate, () => estimateText(estimate, output.style))
  })

/** Shows a batch that waits for activities. No process works on it until the first activity, so there is no progress to follow. */
const showWaiting = (input: Place, id: BatchId) =>
  Effect.gen(function* () {
    const output = yield* Output
    const batches = yield* Batches
    const begun = yield* Stream.runHead(Stream.filter(batches.watch(id), ({ _tag }) => _tag !== "Pending"))
    const state = Option.isSome(begun) ? begun.value : yield* operations.state(id)
    yield* output.value(batchView(state), () => batchText(state, output.style, input))
    yield* output.note(
      output.noteStyle.dim(
        "It waits for `detent activity extraction` of each document in its manifest.json, then resolution, validation and ingestion",
      ),
    )
  })
