/** Options that every command has. */

export const globalOptions = /** @type {const} */ ([
  {
    name: "data",
    kind: "text",
    value: "DIR",
    default: ".detent",
    variable: "DETENT_DATA",
    summary: "data folder, or gs://BUCKET/PREFIX, s3://BUCKET/PREFIX. Environment: DETENT_DATA",
    complete: "folder",
  },
  {
    name: "database",
    kind: "text",
    value: "URL",
    summary: "sqlite:PATH or postgres://…. Environment: DETENT_DATABASE_URL. Default: a file in the data folder",
  },
  { name: "json", kind: "flag", summary: "JSON on stdout, a line for each result where there are many" },
  { name: "yes", kind: "flag", short: "y", summary: "act without asking" },
  { name: "no-input", kind: "flag", summary: "never ask; a command that would ask is refused" },
  { name: "no-color", kind: "flag", summary: "plain text, as with NO_COLOR" },
  { name: "help", kind: "flag", short: "h", summary: "explain the command, with examples" },
])
