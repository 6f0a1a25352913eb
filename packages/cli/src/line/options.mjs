/** Options that every command has. */

export const globalOptions = /** @type {const} */ ([
  {
    name: "data",
    kind: "text",
    value: "DIR",
    default: ".detent",
    variable: "DETENT_DATA",
    summary: "folder where everything is kept, or gs://BUCKET/PREFIX, s3://BUCKET/PREFIX; DETENT_DATA",
    complete: "folder",
  },
  {
    name: "database",
    kind: "text",
    value: "URL",
    summary: "sqlite:PATH or postgres://…; DETENT_DATABASE_URL; default: a file in the folder",
  },
  { name: "json", kind: "flag", summary: "JSON on stdout, a line for each result where there are many" },
  { name: "yes", kind: "flag", short: "y", summary: "do it without asking" },
  { name: "no-input", kind: "flag", summary: "never ask; what would ask is refused" },
  { name: "no-color", kind: "flag", summary: "plain text, as with NO_COLOR" },
  { name: "help", kind: "flag", short: "h", summary: "what a command does, with examples" },
])
