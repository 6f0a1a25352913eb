/**
 * Models on the user's own machine, through Ollama's own API. Ollama cuts off the beginning of prompts that are longer than its context,
 * without saying so, and its address with the API of OpenAI cannot set the context: here each request asks for one that holds it. Another
 * context loads the model again, so it only grows.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Answered } from "../CallGuard.ts"
import { estimateTokens } from "../Cost.ts"
import { cutOff, type ModelClient, type ModelRequest } from "../ModelClient.ts"
import { endpointOf } from "./ChatCompletions.ts"
import { inFoundDialect, withSchema } from "./Dialect.ts"
import { makePost, notAnAnswer, optional } from "./Post.ts"
import type { Provider, ProviderOptions, ReasoningEffort } from "./Provider.ts"

const keyName = "OLLAMA_API_KEY"

const ownPort = 11434

/** The address of Ollama's own variable may lack protocol and port. 0.0.0.0 is where it listens, not where it can be reached. */
const urlOf = (given = `localhost:${ownPort}`): string => {
  const address = given.replace(/(?<!\/)\/+$/, "").replace(/\/(?:v1|api)$/, "")
  const whole = address.includes("://") ? address : `http://${address}${/:\d+$/.test(address) ? "" : `:${ownPort}`}`
  return `${whole.replace("//0.0.0.0", "//127.0.0.1")}/api/chat`
}

/** The least context: Ollama's own default is too small for a prompt with an ontology. */
const leastContext = 8192

/** The part of the context that is kept for the answer. */
const contextOfAnswer = 4096

export const makeOllamaClient = (options: ProviderOptions): Effect.Effect<ModelClient> =>
  Effect.gen(function* () {
    const { model, effort } = options
    const extractor = `ollama/${model}`
    const url = urlOf(options.baseUrl)
    const post = yield* makePost({ ...endpointOf({ keyName }, options), extractor, url, joined: replyOfEvents })
    const send = yield* inFoundDialect(extractor, [{ hasSchema: true }, { hasSchema: false }], post)
    let context = leastContext
    return {
      name: extractor,
      model,
      complete: (request) =>
        Effect.suspend(() => {
          const needed = estimateTokens(request.system + request.prompt) + Math.min(request.maxOutputTokens, contextOfAnswer)
          while (context < needed) context *= 2
          const room = context
          return Effect.map(
            send(({ hasSchema }) => bodyOf(model, request, { hasSchema, room, effort })),
            (raw) => {
              const reply = Schema.decodeUnknownResult(Reply)(raw)
              return Result.isSuccess(reply) ? answered(extractor, request, room, reply.success) : notAnAnswer(extractor, url, request, raw)
            },
          )
        }),
    }
  })

interface Form {
  readonly hasSchema: boolean
  readonly room: number
  readonly effort: ReasoningEffort | undefined
}

const bodyOf = (model: string, request: ModelRequest, { hasSchema, room, effort }: Form) => ({
  model,
  messages: [
    { role: "system", content: hasSchema ? request.system : withSchema(request) },
    { role: "user", content: request.prompt },
  ],
  ...(hasSchema ? { format: request.schema } : {}),
  ...(effort === undefined ? {} : { think: effort === "none" ? false : effort === "minimal" ? "low" : effort }),
  stream: true,
  options: { num_ctx: room, num_predict: request.maxOutputTokens },
})

const Reply = Schema.Struct({
  message: Schema.Struct({ content: Schema.String }),
  done: Schema.Boolean,
  done_reason: optional(Schema.String),
  prompt_eval_count: optional(Schema.Finite),
  eval_count: optional(Schema.Finite),
})
type Reply = typeof Reply.Type

/** The whole reply of a stream: the last event has the counts. */
const replyOfEvents = (events: ReadonlyArray<unknown>): unknown => {
  const parts = events.map((event) => Schema.decodeUnknownResult(Reply)(event)).filter(Result.isSuccess)
  const last = parts.at(-1)?.success
  if (last?.done !== true) return undefined
  return { ...last, message: { content: parts.map(({ success }) => success.message.content).join("") } }
}

const answered = (extractor: string, request: ModelRequest, room: number, reply: Reply): Answered<string> => {
  const { content } = reply.message
  const tokens = {
    inputTokens: reply.prompt_eval_count ?? estimateTokens(request.system + request.prompt),
    outputTokens: reply.eval_count ?? estimateTokens(content),
  }
  const isFull = tokens.inputTokens + tokens.outputTokens >= room
  return { tokens, answer: reply.done_reason === "length" || isFull ? cutOff(extractor) : Result.succeed(content) }
}

export const ollama: Provider = { keyName, needsKey: "nowhere", baseUrlName: "OLLAMA_HOST", make: makeOllamaClient }
