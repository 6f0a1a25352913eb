/**
 * A server that speaks the wire formats of Anthropic's Messages, OpenAI's Chat Completions and Responses, and Ollama's chat, as one answer
 * or as a stream of events, and is as strict about requests as they are. Its responses, including faults, are scripted.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export type Api = "anthropic" | "chat" | "responses" | "ollama"

/** How the server handles one request. */
export type Turn =
  /** Delays the turn. */
  | { readonly afterMillis: number; readonly turn: Turn }
  | { readonly redirects: string }
  /** The answer of the model. */
  | {
      readonly says: unknown
      readonly stop?: string
      readonly omit?: ReadonlyArray<string>
      /** The answer as parts of content, or as the call of a tool. Default: as one text. */
      readonly as?: "parts" | "tool"
      /** The tokens that were read from the cache, of the 100 of a prompt. */
      readonly cached?: number
      /** The pause between two parts of a stream. */
      readonly pauseMillis?: number
    }
  /** The first part of an answer, and then nothing: of a stream the connection ends, or an error follows. */
  | { readonly breaksOff: "end" | { readonly error: unknown } }
  /** An error with the status of success. */
  | { readonly late: unknown }
  | { readonly refuses: string }
  | {
      readonly status: number
      readonly error?: string
      readonly code?: string
      readonly headers?: Readonly<Record<string, string>>
      /** The whole body, in place of the provider's usual one. */
      readonly whole?: unknown
    }
  /** A body that is not JSON. */
  | { readonly body: string }
  /** The connection breaks after this many characters of a valid response. */
  | { readonly cutAfter: number }
  | "hang"
  | "reset"

/** What a server with the API of OpenAI takes. Of Anthropic's models, only newer ones take a schema, and older ones tools. */
export interface ServerDialect {
  readonly limit: "max_completion_tokens" | "max_tokens"
  readonly format: "json_schema" | "json_object" | "tool" | "none"
  /** Default: true. Some servers send streams only to verified customers. */
  readonly streams?: boolean
}

/** What OpenAI's own server takes for its current models. */
const ownDialect: ServerDialect = { limit: "max_completion_tokens", format: "json_schema" }

export interface Heard {
  readonly path: string
  readonly headers: Readonly<Record<string, string | Array<string> | undefined>>
  readonly body: Readonly<Record<string, unknown>>
}

export interface ProviderServer {
  readonly url: string
  readonly heard: Array<Heard>
  /** Number of responses that the client abandoned. */
  readonly abandoned: () => number
}

export const key = "sk-test-0123456789-secret"

/** One turn per request in order, or a function of the request. */
export type Script = ReadonlyArray<Turn> | ((heard: Heard, index: number) => Turn)

const turnOf = (script: Script, heard: ReadonlyArray<Heard>): Turn => {
  const index = heard.length - 1
  const last = heard[index]
  const turn = typeof script === "function" ? last && script(last, index) : script[index]
  return turn ?? { status: 500, error: "the script is over" }
}

export const startProvider = (
  api: Api,
  script: Script,
  dialect: ServerDialect = ownDialect,
): Effect.Effect<ProviderServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const heard: Array<Heard> = []
    let abandoned = 0
    const server = createServer((request, response) => {
      response.on("close", () => {
        if (!response.writableFinished) abandoned++
      })
      void answer(api, dialect, request, response, heard, () => turnOf(script, heard))
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () => Effect.promise(() => close(server)),
    )
    const { port } = server.address() as AddressInfo
    const base = api === "chat" || api === "responses" ? "/v1" : ""
    return { url: `http://127.0.0.1:${port}${base}`, heard, abandoned: () => abandoned }
  })

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

const paths: Readonly<Record<Api, string>> = {
  anthropic: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  ollama: "/api/chat",
}

const answer = async (
  api: Api,
  dialect: ServerDialect,
  request: IncomingMessage,
  response: ServerResponse,
  heard: Array<Heard>,
  next: () => Turn,
) => {
  let text = ""
  for await (const piece of request) text += piece
  const body = JSON.parse(text) as Record<string, unknown>
  heard.push({ path: request.url ?? "", headers: request.headers, body })
  const problem = problemWith(api, dialect, request, body)
  if (problem !== undefined) return send(response, problem.status, errorBody(api, problem.status, problem.error))
  let turn = next()
  while (typeof turn === "object" && "afterMillis" in turn) {
    const { afterMillis, turn: later } = turn
    await sleep(afterMillis)
    turn = later
  }
  if (turn === "hang") return
  if (typeof turn === "object" && "redirects" in turn) return send(response, 307, {}, { location: turn.redirects })
  if (turn === "reset") return void request.socket.destroy()
  if ("status" in turn)
    return send(response, turn.status, turn.whole ?? errorBody(api, turn.status, turn.error ?? "error", turn.code), turn.headers)
  if ("late" in turn) return send(response, 200, turn.late)
  if ("body" in turn) return void response.writeHead(200, { "content-type": "application/json" }).end(turn.body)
  if ("cutAfter" in turn) {
    const whole = JSON.stringify(reply(api, body, { says: { entities: [] } }))
    response.writeHead(200, { "content-type": "application/json", "content-length": String(whole.length) })
    response.write(whole.slice(0, turn.cutAfter))
    await sleep(20)
    return void request.socket.destroy()
  }
  if ("breaksOff" in turn) {
    const whole = reply(api, body, { says: { entities: [] } })
    return stream(api, response, [...eventsOf(api, whole).slice(0, 2), ...(turn.breaksOff === "end" ? [] : [turn.breaksOff.error])], 0)
  }
  const whole = reply(api, body, turn)
  if (body["stream"] !== true) return send(response, 200, whole)
  return stream(api, response, eventsOf(api, whole), "says" in turn ? (turn.pauseMillis ?? 0) : 0)
}

/** Sends events in pieces that end in the middle of them, as networks do. */
const stream = async (api: Api, response: ServerResponse, events: ReadonlyArray<unknown>, pauseMillis: number) => {
  const isLines = api === "ollama"
  response.writeHead(200, { "content-type": isLines ? "application/x-ndjson" : "text/event-stream; charset=utf-8" })
  if (!isLines) response.write(": at work\n\n")
  for (const event of events) {
    const type = at(event, "type")
    const text = isLines
      ? `${JSON.stringify(event)}\n`
      : `${typeof type === "string" ? `event: ${type}\n` : ""}data: ${JSON.stringify(event)}\n\n`
    response.write(text.slice(0, 7))
    response.write(text.slice(7))
    if (pauseMillis > 0) await sleep(pauseMillis)
  }
  response.end(api === "chat" ? "data: [DONE]\n\n" : undefined)
}

const halves = (text: string): ReadonlyArray<string> => [text.slice(0, 10), text.slice(10)]

/** The events with which each API sends a whole reply in parts. */
const eventsOf = (api: Api, whole: unknown): ReadonlyArray<unknown> => {
  if (api === "chat") {
    const { content, refusal, tool_calls: calls } = at(whole, "choices", "0", "message") as Record<string, unknown>
    const parts = (deltas: ReadonlyArray<unknown>) => deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }))
    const texts = typeof content === "string" ? halves(content).map((text) => ({ content: text })) : [{ content }]
    const called = Array.isArray(calls) ? calls : []
    return [
      { choices: [], prompt_filter_results: [] },
      ...parts([{ role: "assistant", content: "", refusal: null }]),
      ...parts(typeof refusal === "string" ? [{ refusal }] : called.length > 0 ? [] : texts),
      ...called.flatMap((call) =>
        parts(
          halves(String(at(call, "function", "arguments"))).map((text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
        ),
      ),
      { choices: [{ index: 0, delta: {}, finish_reason: at(whole, "choices", "0", "finish_reason") }] },
      ...(at(whole, "usage") === undefined ? [] : [{ choices: [], usage: at(whole, "usage") }]),
    ]
  }
  if (api === "anthropic") {
    const { content = [], usage, stop_reason: stop } = whole as Record<string, unknown>
    return [
      {
        type: "message_start",
        message: { ...(whole as object), content: [], stop_reason: null, usage: { ...(usage as object), output_tokens: 1 } },
      },
      { type: "ping" },
      ...(content as ReadonlyArray<Record<string, unknown>>).flatMap((block, index) => [
        { type: "content_block_start", index, content_block: { ...block, text: "", input: {} } },
        ...halves(block["type"] === "tool_use" ? JSON.stringify(block["input"]) : String(block["text"] ?? block["thinking"])).map(
          (text) => ({
            type: "content_block_delta",
            index,
            delta:
              block["type"] === "tool_use"
                ? { type: "input_json_delta", partial_json: text }
                : block["type"] === "text"
                  ? { type: "text_delta", text }
                  : { type: "thinking_delta", thinking: text },
          }),
        ),
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: at(usage, "output_tokens") } },
      { type: "message_stop" },
    ]
  }
  if (api === "ollama") {
    const { message, ...counts } = whole as Record<string, unknown>
    return [
      { message: { role: "assistant", content: "", thinking: "Is it a ship?" }, done: false },
      ...halves(String(at(message, "content"))).map((content) => ({ message: { role: "assistant", content }, done: false })),
      { message: { role: "assistant", content: "" }, ...counts },
    ]
  }
  return [
    { type: "response.created", response: { status: "in_progress" } },
    { type: "response.output_text.delta", delta: "{" },
    { type: at(whole, "status") === "completed" ? "response.completed" : "response.incomplete", response: whole },
  ]
}

const send = (response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

/** The problem for which the real servers would reject the request, if any. */
const problemWith = (api: Api, dialect: ServerDialect, request: IncomingMessage, body: Record<string, unknown>) => {
  if (request.method !== "POST" || request.url !== paths[api]) return { status: 404, error: `no such path: ${request.url}` }
  const { authorization, "x-api-key": ofAnthropic, "api-key": ofAzure } = request.headers
  const authorized = api === "ollama" || authorization === `Bearer ${key}` || ofAnthropic === key || ofAzure === key
  if (!authorized)
    return {
      status: 401,
      error: `Incorrect API key provided: ${request.headers.authorization?.replace("Bearer ", "") ?? request.headers["x-api-key"]}`,
    }
  if (api === "anthropic" && request.headers["anthropic-version"] !== "2026-10-21")
    return { status: 400, error: `anthropic-version: ${request.headers["anthropic-version"]} is not known` }
  if (typeof body["model"] !== "string") return { status: 400, error: "model: required" }
  if (body["stream"] === true && dialect.streams === false)
    return { status: 400, error: "Your organization must be verified to stream this model." }
  if (api === "chat") return chatProblem(dialect, body)
  if (api === "ollama") return typeof at(body, "options", "num_ctx") === "number" ? undefined : { status: 400, error: "no context" }
  if (api === "anthropic") {
    const problem = anthropicProblem(dialect, body)
    if (problem !== undefined || dialect.format !== "json_schema") return problem
  }
  const limit = body[api === "anthropic" ? "max_tokens" : "max_output_tokens"]
  if (typeof limit !== "number") return { status: 400, error: "a limit of tokens is required here" }
  const wrong = schemaProblem(schemaIn(api, body))
  return wrong === undefined ? undefined : { status: 400, error: wrong }
}

const anthropicProblem = ({ format }: ServerDialect, body: Record<string, unknown>) => {
  if (typeof at(body, "system", "0", "text") !== "string") return { status: 400, error: "system: a list of blocks is expected here" }
  const given = at(body, "output_config", "format", "type") ?? (body["tools"] === undefined ? "none" : "tool")
  return given === format ? undefined : { status: 400, error: `output_config.format: ${String(given)} is not supported by this model` }
}

const chatProblem = ({ limit, format }: ServerDialect, body: Record<string, unknown>) => {
  const other = limit === "max_tokens" ? "max_completion_tokens" : "max_tokens"
  if (other in body)
    return { status: 400, error: `Unsupported parameter: '${other}' is not supported with this model. Use '${limit}' instead.` }
  if (typeof body[limit] !== "number") return { status: 400, error: "a limit of tokens is required here" }
  const given = at(body, "response_format", "type") ?? "none"
  if (given !== format) return { status: 400, error: `'response_format' of type '${String(given)}' is not supported with this model` }
  const wrong = format === "json_schema" ? schemaProblem(schemaIn("chat", body)) : undefined
  return wrong === undefined ? undefined : { status: 400, error: wrong }
}

const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (inner, name) => (typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[name] : undefined),
    value,
  )

export const schemaIn = (api: Api, body: unknown): unknown => {
  if (api === "anthropic") return at(body, "output_config", "format", "schema")
  return api === "chat" ? at(body, "response_format", "json_schema", "schema") : at(body, "text", "format", "schema")
}

/** In strict mode, every object must list all its fields as required and forbid others. */
const schemaProblem = (schema: unknown): string | undefined => {
  if (schema === undefined) return "a schema is required here"
  const fields = at(schema, "properties")
  if (at(schema, "type") === "object") {
    if (at(schema, "additionalProperties") !== false) return "additionalProperties must be false"
    const names = Object.keys((fields ?? {}) as object)
    if (JSON.stringify(at(schema, "required")) !== JSON.stringify(names)) return "every property must be required"
  }
  const inner = [...Object.values((fields ?? {}) as object), at(schema, "items")].filter((part) => part !== undefined)
  return inner.map(schemaProblem).find((problem) => problem !== undefined)
}

const errorBody = (api: Api, status: number, message: string, code?: string): unknown =>
  api === "ollama"
    ? { error: message }
    : api === "anthropic"
      ? {
          type: "error",
          error: { type: status === 529 ? "overloaded_error" : status === 429 ? "rate_limit_error" : "api_error", message },
          request_id: "req_1",
        }
      : { error: { message, type: "error", param: null, code: code ?? null } }

type Says = Extract<Turn, { readonly says: unknown } | { readonly refuses: string }>

const reply = (api: Api, body: Record<string, unknown>, turn: Says): unknown => {
  const text = "refuses" in turn ? turn.refuses : typeof turn.says === "string" ? turn.says : JSON.stringify(turn.says)
  const whole = wholeReply(api, body, turn, text)
  for (const field of "omit" in turn ? (turn.omit ?? []) : []) delete whole[field]
  return whole
}

const wholeReply = (api: Api, body: Record<string, unknown>, turn: Says, text: string): Record<string, unknown> => {
  const isRefusal = "refuses" in turn
  const stop = "stop" in turn ? turn.stop : undefined
  const as = "as" in turn ? turn.as : undefined
  const cached = ("cached" in turn ? turn.cached : undefined) ?? 0
  if (api === "ollama") {
    return {
      model: body["model"],
      message: { role: "assistant", content: text },
      done: true,
      done_reason: stop ?? "stop",
      prompt_eval_count: 100,
      eval_count: 20,
    }
  }
  if (api === "anthropic") {
    return {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: body["model"],
      content: [
        { type: "thinking", thinking: 'Is it {"entities":[]}?', signature: "sig" },
        as === "tool" ? { type: "tool_use", id: "toolu_1", name: "answer", input: JSON.parse(text) } : { type: "text", text },
      ],
      stop_reason: isRefusal ? "refusal" : (stop ?? "end_turn"),
      stop_sequence: null,
      usage: {
        input_tokens: 100 - cached,
        output_tokens: 20,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: cached,
        service_tier: "standard",
      },
    }
  }
  if (api === "chat") {
    return {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1_700_000_000,
      model: body["model"],
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: isRefusal || as === "tool" ? null : as === "parts" ? partsOf(text) : text,
            refusal: isRefusal ? text : null,
            ...(as === "tool" ? { tool_calls: [{ id: "call_1", type: "function", function: { name: "answer", arguments: text } }] } : {}),
          },
          logprobs: null,
          finish_reason: stop ?? "stop",
        },
      ],
      usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, prompt_tokens_details: { cached_tokens: cached } },
    }
  }
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    status: stop === undefined ? "completed" : "incomplete",
    incomplete_details: stop === undefined ? null : { reason: stop },
    model: body["model"],
    output: [
      { type: "reasoning", id: "rs_1", summary: [] },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [isRefusal ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120, input_tokens_details: { cached_tokens: cached } },
  }
}

const partsOf = (text: string) => [
  { type: "reasoning", text: 'Is it {"entities":[]}?' },
  { type: "text", text: text.slice(0, 10) },
  { type: "text", text: text.slice(10) },
]

/** The prompt of a request, the document text in it, and whether it asks for entities or facts. */
export const questionIn = ({ body }: Heard) => {
  const prompt = String(at(body, "messages", "1", "content") ?? at(body, "messages", "0", "content") ?? at(body, "input"))
  const text = /<(text-[0-9a-f]{16})>\n([\s\S]*)\n<\/\1>/.exec(prompt)?.[2] ?? ""
  return { prompt, text, asks: /^Entities:\n/.test(prompt) ? ("facts" as const) : ("entities" as const) }
}

/** A model that reads ships' logs: it finds ships, and facts of the form "A passed B". */
export const shipModel = (heard: Heard): Turn => {
  const { prompt, text, asks } = questionIn(heard)
  if (asks === "entities")
    return {
      says: { entities: [...text.matchAll(/Ship\p{L}+/gu)].map(([quote]) => ({ quote, class: "Ship", known: null, confidence: 0.9 })) },
    }
  const ships = [...prompt.matchAll(/^(\d+): "(Ship\p{L}+)"/gmu)].map(([, number, name]) => ({ number: Number(number), name }))
  const numberOf = (name: string | undefined) => ships.find((ship) => ship.name === name)?.number
  return {
    says: {
      facts: [...text.matchAll(/(Ship\p{L}+) passed (Ship\p{L}+)/gu)].map(([quote, subject, object]) => ({
        subject: numberOf(subject),
        property: "passed",
        object: numberOf(object),
        value: null,
        normalized: null,
        quote,
        confidence: 0.9,
      })),
    },
  }
}
