import type { IncomingMessage } from "node:http"

/** Headers of every answer. An answer that needs others, such as a page or a drawing, replaces them. */

/** Nothing may be loaded or run where an answer is opened as a page. */
const contentPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export const commonHeaders = new Map<string, string>([
  ["content-security-policy", contentPolicy],
  ["x-content-type-options", "nosniff"],
  ["referrer-policy", "no-referrer"],
  ["cache-control", "no-store"],
])

/** Lets a page of a web application read the answer, and send a token. */
export const applicationHeaders = ({ headers: { origin = "" } }: IncomingMessage): Map<string, string> =>
  new Map([
    ["access-control-allow-origin", origin],
    ["access-control-allow-methods", "GET, HEAD, POST"],
    ["access-control-allow-headers", "authorization, content-type, idempotency-key, last-event-id"],
    ["access-control-max-age", "600"],
    ["cross-origin-resource-policy", "cross-origin"],
    ["vary", "origin"],
  ])

/** A drawing has styles of its own. In a sandbox, its scripts would not run either. */
export const drawingHeaders = { "content-security-policy": `${contentPolicy}; style-src 'unsafe-inline'; sandbox` }
