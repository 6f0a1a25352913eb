/** The pages in their order. A test compares them with the files. */

/** @typedef {{ readonly text: string, readonly link: string }} Entry */
/** @typedef {{ readonly text: string, readonly collapsed?: boolean, readonly items: ReadonlyArray<Entry> }} Section */

/** @type {ReadonlyArray<Section>} */
export const sidebar = [
  {
    text: "Introduction",
    items: [
      { text: "Getting started", link: "/getting-started" },
      { text: "Examples", link: "/examples" },
      { text: "Guarantees", link: "/guarantees" },
      { text: "Compare", link: "/compare" },
      { text: "Glossary", link: "/glossary" },
    ],
  },
  {
    text: "Concepts",
    items: [
      { text: "Machine", link: "/concepts/machine" },
      { text: "Instance", link: "/concepts/instance" },
      { text: "Journal", link: "/concepts/journal" },
      { text: "Snapshot", link: "/concepts/snapshot" },
      { text: "Command", link: "/concepts/command" },
      { text: "Timer", link: "/concepts/timer" },
      { text: "Owner", link: "/concepts/owner" },
      { text: "Execution", link: "/concepts/execution" },
    ],
  },
  {
    text: "Machines",
    items: [
      { text: "Define", link: "/guides/define" },
      { text: "Schemas of zod, valibot and arktype", link: "/guides/schemas" },
      { text: "Decide", link: "/guides/decide" },
      { text: "Test", link: "/guides/test" },
      { text: "Draw", link: "/guides/draw" },
    ],
  },
  {
    text: "Durable instances",
    items: [
      { text: "Persist", link: "/guides/persist" },
      { text: "Timers", link: "/guides/timers" },
      { text: "Schedules", link: "/guides/schedules" },
      { text: "Find instances", link: "/guides/search" },
      { text: "Commands and outbox", link: "/guides/commands" },
      { text: "Queues, groups and limits", link: "/guides/flow-control" },
      { text: "Queries and questions", link: "/guides/questions" },
      { text: "Child processes", link: "/guides/children" },
      { text: "Versions and upcasters", link: "/guides/versions" },
      { text: "Webhooks", link: "/guides/webhooks" },
      { text: "Send from SQL", link: "/guides/sql" },
      { text: "Domain events", link: "/guides/domain-events" },
      { text: "Plain async", link: "/guides/async" },
    ],
  },
  {
    text: "Workflows",
    items: [
      { text: "Workflows", link: "/guides/workflows" },
      { text: "Entity workflows as data", link: "/guides/entity-workflows" },
    ],
  },
  {
    text: "Operation",
    items: [
      { text: "On one machine", link: "/guides/one-machine" },
      { text: "Docker and compose", link: "/guides/docker" },
      { text: "On PostgreSQL", link: "/guides/postgresql" },
      { text: "Many nodes", link: "/guides/many-nodes" },
      { text: "On Kubernetes", link: "/guides/kubernetes" },
      { text: "On Google Cloud", link: "/guides/google-cloud" },
      { text: "The console", link: "/guides/console" },
      { text: "Monitoring", link: "/guides/monitoring" },
      { text: "Limits and cost", link: "/guides/limits" },
      { text: "Upgrade and roll back", link: "/guides/upgrade" },
      { text: "Backup and restore", link: "/guides/backup" },
      { text: "Security", link: "/guides/security" },
      { text: "Inside of your own server", link: "/guides/embed" },
      { text: "Call it from a page", link: "/guides/client" },
      { text: "Agents and MCP", link: "/guides/agents" },
      { text: "Debug a stuck instance", link: "/guides/debug" },
      { text: "Troubleshooting", link: "/guides/troubleshooting" },
    ],
  },
  {
    text: "Systems",
    items: [
      { text: "Knowledge graphs", link: "/knowledge" },
      { text: "Write an ontology", link: "/ontology" },
      { text: "Models: hosted, local and Azure", link: "/guides/models" },
      { text: "Uploads", link: "/uploads" },
    ],
  },
  {
    text: "Migration",
    items: [
      { text: "From XState", link: "/migration/from-xstate" },
      { text: "From Temporal", link: "/migration/from-temporal" },
      { text: "From DBOS", link: "/migration/from-dbos" },
      { text: "From BullMQ", link: "/migration/from-bullmq" },
    ],
  },
  {
    text: "Background",
    items: [
      { text: "Architecture", link: "/architecture" },
      { text: "Benchmarks", link: "/benchmarks" },
    ],
  },
  {
    text: "Reference",
    items: [
      { text: "Configuration", link: "/reference/configuration" },
      { text: "Command line", link: "/reference/cli" },
      { text: "HTTP API", link: "/reference/http" },
      { text: "Errors", link: "/reference/errors" },
      { text: "API of the packages", link: "/reference/api" },
    ],
  },
]
