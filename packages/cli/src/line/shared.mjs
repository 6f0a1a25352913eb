/** What several commands declare alike. */

export const paging = /** @satisfies {ReadonlyArray<import("./Command.ts").Option>} */ (
  /** @type {const} */ ([
    { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many" },
    { name: "after", kind: "text", value: "CURSOR", summary: "the `next` of the page before" },
  ])
)

export const listening = /** @satisfies {ReadonlyArray<import("./Command.ts").Option>} */ (
  /** @type {const} */ ([
    { name: "port", kind: "integer", value: "N", default: 4400, summary: "where to listen; 0 takes a free one" },
    {
      name: "host",
      kind: "text",
      value: "ADDRESS",
      default: "127.0.0.1",
      summary: "which address to listen on; beyond this machine a token is needed",
    },
    { name: "token", kind: "text", value: "SECRET", summary: "who may operate; better given as DETENT_TOKEN" },
  ])
)
