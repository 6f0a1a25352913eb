/** Batches of documents and uploads of items. */
import { paging } from "./shared.mjs"

const batch = /** @type {const} */ ({ name: "batch", summary: "the batch's id, as `detent batch list` shows it" })
const upload = /** @type {const} */ ({ name: "upload", summary: "the upload's id, as `detent upload list` shows it" })

/** Of a batch that starts again. */
const again = /** @satisfies {ReadonlyArray<import("./Command.ts").Option>} */ (
  /** @type {const} */ ([
    { name: "budget", kind: "text", value: "AMOUNT", summary: "a larger budget for models, like 10usd" },
    { name: "base-url", kind: "text", value: "URL", summary: "another address of its model" },
    { name: "detach", kind: "flag", summary: "leave the work to a running server or worker" },
  ])
)

export const batchCommands = /** @satisfies {ReadonlyArray<import("./Command.ts").Command>} */ (
  /** @type {const} */ ([
    {
      name: "batch run",
      summary: "turn documents into a validated knowledge graph",
      detail:
        "Takes a manifest.json, a folder that has one, or a folder of documents together with --ontology and --namespace.\n" +
        "Run again, it extracts what changed, skips what did not, and takes documents that are gone out of the graph.\n" +
        "Stop it with Ctrl-C or kill it: what was done is stored, and `detent batch resume` continues from there.\n" +
        "Models need a key in OPENAI_API_KEY or ANTHROPIC_API_KEY. It is sent to the provider and nowhere else.",
      arguments: [{ name: "source", summary: "a manifest.json, or a folder", complete: "file" }],
      options: [
        {
          name: "ontology",
          kind: "text",
          value: "FILE",
          summary: "what can be said about what; for a folder without manifest",
          complete: "file",
        },
        { name: "namespace", kind: "text", value: "NAME", summary: "the graph to add to; for a folder without manifest" },
        {
          name: "shapes",
          kind: "text",
          value: "FILE",
          summary: "SHACL shapes to validate with; default: derived from the ontology",
          complete: "file",
        },
        { name: "examples", kind: "text", value: "FILE", summary: "sentences with their facts, to learn from", complete: "file" },
        { name: "keep-missing", kind: "flag", summary: "keep documents in the graph that are gone from the folder or manifest" },
        {
          name: "extractor",
          kind: "text",
          value: "NAME",
          summary: "built-in, openai:MODEL or anthropic:MODEL. Default: the manifest's, then knowledge.extractor, then built-in",
        },
        {
          name: "base-url",
          kind: "text",
          value: "URL",
          summary: "a server that speaks the provider's protocol. Default: OPENAI_BASE_URL for OpenAI, then the provider's own",
        },
        { name: "budget", kind: "text", value: "AMOUNT", summary: "stop before models cost more, like 5usd or 200000tokens" },
        { name: "estimate", kind: "flag", summary: "print chunks, tokens and cost, and stop: no model is asked" },
        {
          name: "on-failure",
          kind: "text",
          value: "POLICY",
          choices: ["continue", "failFast", "retryFailed"],
          default: "continue",
          summary: "what becomes of the batch when a document fails",
        },
        {
          name: "validation",
          kind: "text",
          value: "POLICY",
          choices: ["quarantine", "fail", "warn"],
          default: "quarantine",
          summary: "what becomes of statements that the shapes refuse",
        },
        { name: "concurrency", kind: "integer", value: "N", default: 64, minimum: 1, summary: "documents worked on at once" },
        {
          name: "dispatch",
          kind: "text",
          value: "WHO",
          choices: ["process", "activities"],
          default: "process",
          summary: "who does the work: a process of detent, or `detent activity` calls of a job runner",
        },
        { name: "detach", kind: "flag", summary: "start it and leave the work to a running server or worker" },
      ],
      examples: [
        { line: "detent batch run corpus", says: "a folder with a manifest.json" },
        {
          line: "detent batch run letters --ontology people.ttl --namespace family",
          says: "any folder of txt, md, html, json, csv or pdf",
        },
        { line: "detent batch run letters --keep-missing", says: "letters that were deleted stay in the graph" },
        { line: "detent batch run corpus --json | tail -1", says: "progress as lines of JSON; the last one is the end" },
        { line: "detent batch run corpus --extractor openai:gpt-5-mini --estimate", says: "what a model would cost" },
        {
          line: "detent batch run corpus --extractor openai:llama3 --base-url http://localhost:11434/v1",
          says: "a model on your own machine",
        },
      ],
    },
    {
      name: "batch list",
      summary: "batches and where they stand",
      arguments: [],
      options: [
        {
          name: "state",
          kind: "text",
          value: "STATE",
          choices: [
            "Pending",
            "Extracting",
            "Resolving",
            "Validating",
            "Ingesting",
            "Completed",
            "PartiallyCompleted",
            "Failed",
            "Cancelled",
          ],
          summary: "only batches in this state",
        },
        ...paging,
      ],
      examples: [{ line: "detent batch list --state Failed", says: "batches that need attention" }],
    },
    {
      name: "batch show",
      summary: "one batch: state, counts, failures, where its files are",
      arguments: [batch],
      options: [
        {
          name: "documents",
          kind: "text",
          value: "WHICH",
          choices: ["processing", "completed", "failed"],
          summary: "list its documents of this kind as well",
        },
        { name: "quarantine", kind: "flag", summary: "list the statements that validation held back, with the reason and the document" },
      ],
      examples: [
        { line: "detent batch show batch-3f9c2a71b0d4 --documents failed", says: "which documents failed, and why" },
        { line: "detent batch show batch-3f9c2a71b0d4 --quarantine", says: "what did not enter the graph, and why" },
      ],
    },
    {
      name: "batch watch",
      summary: "follow a batch until it ends; does no work itself",
      detail: "For a batch that a server, a worker or another terminal works on. Ctrl-C ends the watching, not the batch.",
      arguments: [batch],
      options: [],
      examples: [{ line: "detent batch watch batch-3f9c2a71b0d4 --json", says: "a line of JSON for each change" }],
    },
    {
      name: "batch cancel",
      summary: "end a batch; what was extracted is kept",
      arguments: [batch],
      options: [],
      examples: [{ line: "detent batch cancel batch-3f9c2a71b0d4 --yes", says: "`detent batch resume` goes on with it later" }],
    },
    {
      name: "batch retry",
      summary: "start a failed batch again, and work on it here",
      arguments: [batch],
      options: again,
      examples: [{ line: "detent batch retry batch-3f9c2a71b0d4", says: "documents that are done are not read again" }],
    },
    {
      name: "batch resume",
      summary: "go on with a batch that was stopped, killed, cancelled or has failed",
      arguments: [batch],
      options: again,
      examples: [
        { line: "detent batch resume batch-3f9c2a71b0d4", says: "after Ctrl-C, kill -9 or a power cut" },
        { line: "detent batch resume batch-3f9c2a71b0d4 --budget 10usd", says: "after it stopped at a smaller budget" },
      ],
    },
    {
      name: "batch withdraw",
      summary: "take the facts of a batch out of its graph",
      detail: "The batch and its artifacts stay. The graph gets a new version without the batch.",
      arguments: [batch],
      options: [],
      examples: [{ line: "detent batch withdraw batch-3f9c2a71b0d4", says: "asks first; --yes agrees" }],
    },
    {
      name: "upload run",
      summary: "upload a file of items (JSON, JSON lines, also gzip)",
      detail:
        "Items that are broken are set aside with their reason; the others are stored. Stopped or killed, it resumes with `detent upload retry`.\n" +
        "Items are those of Hacker News, or of an upload that detent.config.ts defines: `detent upload kinds` lists them.",
      arguments: [{ name: "file", summary: "the file", complete: "file" }],
      options: [
        { name: "kind", kind: "text", value: "NAME", summary: "what its items are; default: the first upload of the configuration" },
        { name: "force", kind: "flag", summary: "also when the same file was uploaded before" },
        { name: "detach", kind: "flag", summary: "start it and leave the work to a running server or worker" },
      ],
      examples: [
        { line: "detent upload run items.json", says: "ends with 5 when some items were refused" },
        { line: "detent upload run items.jsonl.gz --force --json", says: "again, with progress as lines of JSON" },
        { line: "detent upload run products.json --kind Products", says: "items of an upload of your own" },
      ],
    },
    {
      name: "upload kinds",
      summary: "what can be uploaded here, and which fields a search compares",
      arguments: [],
      options: [],
      examples: [{ line: "detent upload kinds --json", says: "Hacker News, and the uploads of detent.config.ts" }],
    },
    {
      name: "upload list",
      summary: "uploads, the newest first",
      arguments: [],
      options: [...paging],
      examples: [{ line: "detent upload list --limit 5 --json", says: "the five newest, a line each" }],
    },
    {
      name: "upload show",
      summary: "one upload: state, counts, why items were refused",
      arguments: [upload],
      options: [
        {
          name: "items",
          kind: "text",
          value: "WHICH",
          choices: ["stored", "failed", "processing"],
          summary: "list its items of this kind as well",
        },
        ...paging,
      ],
      examples: [{ line: "detent upload show batch-09ab41cc02 --items failed", says: "what is wrong with which line" }],
    },
    {
      name: "upload watch",
      summary: "follow an upload until it rests; does no work itself",
      detail: "For an upload that a server, a worker or another terminal works on. Ctrl-C ends the watching, not the upload.",
      arguments: [upload],
      options: [],
      examples: [{ line: "detent upload watch batch-09ab41cc02 --json", says: "a line of JSON for each change" }],
    },
    {
      name: "upload history",
      summary: "one item of an upload: when it was ingested, validated, stored or refused",
      arguments: [upload, { name: "item", summary: "its number, as `detent upload show --items failed` shows it" }],
      options: [],
      examples: [{ line: "detent upload history batch-09ab41cc02 17", says: "every try, with times and reasons" }],
    },
    {
      name: "upload retry",
      summary: "try refused items, or a failed upload, again; go on with a stopped one",
      arguments: [upload],
      options: [{ name: "detach", kind: "flag", summary: "leave the work to a running server or worker" }],
      examples: [{ line: "detent upload retry batch-09ab41cc02", says: "only what is not stored yet is tried" }],
    },
    {
      name: "upload cancel",
      summary: "stop the work of an upload; stored items stay",
      arguments: [upload],
      options: [{ name: "reason", kind: "text", value: "TEXT", summary: "why; `detent upload show` shows it" }],
      examples: [{ line: "detent upload cancel batch-3f9c2a71b0d4e5f6", says: "asks first; --yes agrees" }],
    },
    {
      name: "upload correct",
      summary: "give a refused item other content, for the next retry; one that would be refused again is not taken",
      arguments: [upload, { name: "item", summary: "its number, as `detent upload show --items failed` shows it" }],
      options: [{ name: "with", kind: "text", value: "JSON", summary: "the item, whole" }],
      examples: [
        {
          line: `detent upload correct batch-3f9c2a71b0d4e5f6 17 --with '{"id":8863,"type":"story","by":"dhouston","time":1175714200}'`,
          says: "then: detent upload retry",
        },
      ],
    },
    {
      name: "upload search",
      summary: "stored items by words and fields",
      arguments: [{ name: "text", summary: "words that the item has", optional: true }],
      options: [
        {
          name: "type",
          kind: "text",
          value: "TYPE",
          choices: ["job", "story", "comment", "poll", "pollopt"],
          summary: "only of this type",
        },
        { name: "by", kind: "text", value: "AUTHOR", summary: "only by this author" },
        { name: "kind", kind: "text", value: "NAME", summary: "what the items are; default: HackerNews" },
        { name: "where", kind: "text", value: "FIELD=VALUE", summary: "only with this value; several are separated by commas" },
        { name: "upload", kind: "text", value: "ID", summary: "only of this upload" },
        ...paging,
      ],
      examples: [
        { line: "detent upload search database --type story --limit 5", says: "the newest first" },
        { line: "detent upload search lathe --kind Products --where brand=Acme", says: "items of an upload of your own" },
      ],
    },
  ])
)
