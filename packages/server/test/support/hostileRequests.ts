/** Requests that no client of the API sends, as the bytes on the wire. */
import { connect } from "node:net"
import * as Effect from "effect/Effect"
import { scaled } from "../../../store/test/support/patience.ts"

/** What a request brings to be recognised. */
export type Caller = string | undefined

export interface Part {
  readonly method: string
  readonly target: string
  readonly headers: ReadonlyArray<string>
  readonly body: string
}

const methods = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "PURGE"]

const long = (part: string, length: number) => part.repeat(Math.ceil(length / part.length))

const targets = (origin: string): ReadonlyArray<string> => [
  "/",
  "//",
  "*",
  "/.",
  "/../../etc/passwd",
  "/%2e%2e/%2e%2e/etc/passwd",
  "/%00",
  "/%",
  "/%ff%fe",
  "/assets/%5c..%5c",
  "/docs",
  "/docs/guide/..%2f..%2fpackage.json",
  "/health/live",
  "/health//ready/",
  "/metrics",
  "/openapi.json",
  "/rpc",
  "//RPC/",
  "/rpc/socket",
  "/api/v1/machines",
  `${origin}/api/v1/machines`,
  `${origin}/api/v1/live`,
  "/api/v1/machine-check",
  "http://elsewhere.test/api/v1/machines",
  "/api/v1/machines/dense/diagram/layout",
  "/api/v1/machines/dense/diagram/svg?theme=dark",
  "/api/v1/machines/endless/diagram/svg",
  `/api/v1/machines/${long("a%2f", 12_000)}`,
  `/api/v1/instances?after=${long("A", 12_000)}`,
  `/api/v1/instances?state=${long("x&state=", 12_000)}`,
  "/api/v1/instances/tally/__proto__/history?limit=1e9",
  "/api/v1/session",
  "/api/v1/batch",
  "/api/v1/uploads?md5=x&kind=__proto__",
  "/api/v1/upload-kinds/Items/items?text=%22",
  "/activities/extraction",
  "/?token=secret",
]

const headers: ReadonlyArray<ReadonlyArray<string>> = [
  [],
  ["content-type: application/json"],
  ["content-type: multipart/form-data; boundary="],
  ["content-type: application/sparql-query"],
  [`cookie: ${long("detent=read.0.x;", 12_000)}`],
  [`accept-encoding: ${long("br;q=0,", 12_000)}`, "accept: text/html"],
  [`accept: ${long("text/html,", 12_000)}`],
  ["origin: http://elsewhere.test", "sec-fetch-site: cross-site"],
  [`idempotency-key: ${long("k", 5_000)}`],
  ["last-event-id: 99999999999999999999"],
  [`x-forwarded-for: ${long("1,", 12_000)}`, "expect: 100-continue"],
  ["expect: the unexpected"],
  ["connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13", "sec-websocket-key: x"],
  ["connection: Upgrade", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"],
  ["transfer-encoding: chunked"],
  ["range: bytes=0-,0-,0-,0-"],
  ["if-none-match: *"],
]

const bodies: ReadonlyArray<string> = [
  "",
  "{",
  "null",
  long("[", 100_000),
  long('{"a":', 100_000),
  `{"id":"${long("x", 200_000)}"}`,
  JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`key${at}`, at]))),
  long(" ", 300_000),
  long("\u0000", 1_000),
  `{"token":"${long("t", 100_000)}"}`,
  `{"__proto__":{"_tag":"Add"},"constructor":1}`,
]

/** So many requests, always the same: every part occurs, each with changing others. */
export const generated = (origin: string, count: number): ReadonlyArray<Part> => {
  const every = targets(origin)
  return Array.from({ length: count }, (_, at) => ({
    method: methods[(at * 7 + Math.floor(at / 35)) % methods.length] ?? "GET",
    target: every[at % every.length] ?? "/",
    headers: headers[(at * 5 + Math.floor(at / 9)) % headers.length] ?? [],
    body: bodies[(at * 3 + Math.floor(at / 17)) % bodies.length] ?? "",
  }))
}

/**
 * Sends a request over a connection of its own, and leaves once the answer begins or after a moment. Returns the status; undefined where
 * the server gave none, as to a request for which it waits.
 */
export const send = (
  url: string,
  { method, target, headers: more, body }: Part,
  caller: Caller,
  /** What it says about its body. */
  length = Buffer.byteLength(body),
) =>
  Effect.callback<number | undefined>((resume) => {
    const { hostname, port, host } = new URL(url)
    const chunked = more.some((one) => one.startsWith("transfer-encoding"))
    const lines = [
      `${method} ${target} HTTP/1.1`,
      `host: ${host}`,
      ...more,
      ...(caller === undefined ? [] : [`authorization: Bearer ${caller}`]),
      ...(chunked ? [] : [`content-length: ${length}`]),
    ]
    const socket = connect(Number(port), hostname, () => socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`))
    let status: number | undefined
    socket.once("data", (data) => {
      status = Number(/^HTTP\/1\.1 (\d{3})/.exec(String(data))?.[1])
      // Some leave without reading, which is a part of the attack.
      socket.resetAndDestroy()
    })
    socket.setTimeout(scaled(500), () => socket.destroy())
    socket.on("error", () => undefined)
    socket.once("close", () => resume(Effect.succeed(status)))
  })

/** A request with a value of JSON. */
export const posting = (target: string, value: unknown): Part => ({
  method: "POST",
  target,
  headers: ["content-type: application/json"],
  body: JSON.stringify(value),
})

/** Events of instances that cost as much as possible to read, to refuse and to repeat in the answer. */
export const events = (): ReadonlyArray<Part> => {
  const tag = (part: string) => ({ _tag: long(part, 80_000) })
  return [
    ...["a+", "a-", "a.", "a://b", "\u0301", " "].map((part) => posting("/api/v1/instances/tally/one/events", tag(part))),
    posting("/api/v1/instances/tally/one/events", { _tag: "Add", by: long("1", 80_000) }),
    posting("/api/v1/instances/tally", { id: long("a/", 80_000) }),
    posting("/api/v1/instances/spinner/one/events", { _tag: "go" }),
    posting("/api/v1/instances/spinner/one/events/check", { _tag: "go" }),
    posting(`/api/v1/knowledge/coast/sparql?query=${encodeURIComponent(`ASK { SERVICE <http://${long("a-", 9_000)}> { ?s ?p ?o } }`)}`, {}),
  ]
}

/** Calls of procedures, one per line. */
export const calls = (count: number): string =>
  Array.from(
    { length: count },
    (_, at) =>
      `${JSON.stringify({ _tag: "Request", id: String(at), tag: "batch_getStatus", payload: { batchId: "batch-000000000000" }, headers: [] })}\n`,
  ).join("")
