/** What runs for long, and what sets it up. */
import { listening } from "./shared.mjs"

export const runningCommands = /** @satisfies {ReadonlyArray<import("./Command.ts").Command>} */ (
  /** @type {const} */ ([
    {
      name: "dev",
      serves: true,
      summary: "server and workers in one process, on an embedded database",
      arguments: [],
      options: [{ name: "demo", kind: "flag", summary: "begin with sample documents and uploads" }, ...listening],
      examples: [
        { line: "detent dev --demo", says: "something to look at within seconds" },
        { line: "detent dev --port 0 --data try", says: "a free port, and data that may be thrown away" },
      ],
    },
    {
      name: "serve",
      serves: true,
      summary: "the server with its workers, for a deployment",
      arguments: [],
      options: [{ name: "observe", kind: "flag", summary: "answer questions only: nothing is worked on or changed here" }, ...listening],
      examples: [
        {
          line: "DETENT_TOKEN=… detent serve --host 0.0.0.0 --database postgres://db/detent",
          says: "beyond this machine a token is needed",
        },
      ],
    },
    {
      name: "worker",
      serves: true,
      summary: "do the work of others: batches, uploads, commands, timers",
      detail: "Start as many as you like on one PostgreSQL. On SIGTERM it hands back what it has not finished.",
      arguments: [],
      options: [
        { name: "until-idle", kind: "flag", summary: "end when there is nothing left to do: with 1 where a command failed for good" },
      ],
      examples: [{ line: "detent worker --database postgres://db/detent", says: "until it is stopped" }],
    },
    {
      name: "activity",
      summary: "run one activity and end: what a job runner or Cloud Tasks starts",
      detail:
        "The name is also taken from ACTIVITY_NAME and the input from ACTIVITY_INPUT. The result is JSON on stdout.\n" +
        "It uses the configuration of its batch and reports to it: activities move a batch of `batch run --dispatch activities` to its end.",
      arguments: [{ name: "name", summary: "which one", choices: ["extraction", "resolution", "validation", "ingestion"], optional: true }],
      options: [{ name: "input", kind: "text", value: "JSON", summary: "what it works on" }],
      examples: [
        {
          line: `detent activity extraction --input '{"batchId":"batch-3f9c2a71b0d4","documentId":"doc-1a2b3c4d5e6f","sourceUri":"file:///…","ontologyUri":"file:///…"}'`,
          says: "run again with the same input, it finds what it did before",
        },
      ],
    },
    {
      name: "init",
      summary: "make a project that runs",
      arguments: [{ name: "folder", summary: "where; default: the template's name", optional: true, complete: "folder" }],
      options: [
        {
          name: "template",
          kind: "text",
          value: "NAME",
          choices: ["order", "documents", "uploads"],
          default: "order",
          summary: "what to begin with",
        },
        {
          name: "packages",
          kind: "text",
          value: "DIR",
          summary: "packed packages to copy into the project. Default: those that detent was installed from, if any",
          complete: "folder",
        },
      ],
      examples: [
        { line: "detent init shop --packages dist-packages", says: "after `npm run pack` in a clone: a project that holds what it needs" },
        { line: "detent init shop --template order && cd shop && npm install && npm start", says: "a machine of your own" },
        { line: "detent init --template documents", says: "a folder of documents, an ontology, a manifest" },
      ],
    },
    {
      name: "mcp",
      serves: true,
      summary: "a Model Context Protocol server on stdin and stdout, for agents",
      detail:
        "Tools: list_machines, list_instances, read_instance, read_history, list_executions, read_execution; with --role operate also send_event, resume_execution, interrupt_execution. Where knowledge is on: query_graph, watch_batch and, with --role operate, start_batch.",
      arguments: [],
      options: [
        {
          name: "role",
          kind: "text",
          value: "ROLE",
          choices: ["read", "operate"],
          default: "read",
          summary: "whether it may only look, or act too",
        },
      ],
      examples: [{ line: "detent mcp --role operate --data .detent", says: "the command to configure in an agent" }],
    },
    {
      name: "completions",
      summary: "the completion script of a shell",
      arguments: [{ name: "shell", summary: "which shell", choices: ["bash", "zsh", "fish"] }],
      options: [],
      examples: [
        { line: 'eval "$(detent completions bash)"', says: "in ~/.bashrc" },
        { line: "detent completions fish > ~/.config/fish/completions/detent.fish", says: "once" },
      ],
    },
  ])
)
