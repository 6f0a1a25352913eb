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
  { name: "json", kind: "flag", summary: "print JSON on stdout; a list is printed as one JSON line per result" },
  { name: "yes", kind: "flag", short: "y", summary: "confirm all questions" },
  { name: "no-input", kind: "flag", summary: "never ask; a command that needs a confirmation is refused" },
  { name: "no-color", kind: "flag", summary: "print without colours, as with NO_COLOR" },
  { name: "help", kind: "flag", short: "h", summary: "show the help of the command, with examples" },
])
