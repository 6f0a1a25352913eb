/**
 * Reading one instance is what is asked most. An answer that was given is given again for as long as nothing at all was written
 * to the database, and without the router and the schemas of the API. Requests that arrive together are answered together, so
 * that the database is asked once for all of them, after they arrived: no answer is older than its request.
 *
 * With 32 connections it was 0.75 to 1.42 times as fast as a bare node:http handler with the same bytes; by the usual way, 0.45
 * times. While somebody writes as fast as he can, reading waits for the disk with him: then it was 0.08 to 0.21 times on a busy disk.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { StoreVersion } from "../home/StoreVersion.ts"
import { InstanceReading } from "./InstanceReading.ts"

/** Names without escapes: others go the usual way. */
const address = /^\/api\/v1\/instances\/([\w.~-]+)\/([\w.~-]+)$/

/** So many answers are kept at most, of a few hundred bytes each. */
const keptAnswers = 4096

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export class Shortcut {
  readonly #version: () => number | undefined
  readonly #usual: Answer
  readonly #read: (machine: string, id: string, use: (body: string | undefined) => void) => void
  readonly #answers = new Map<string, string>()
  #versionOfAnswers: number | undefined
  #waiting: Array<readonly [IncomingMessage, ServerResponse]> = []

  constructor(
    version: () => number | undefined,
    usual: Answer,
    read: (machine: string, id: string, use: (body: string | undefined) => void) => void,
  ) {
    this.#version = version
    this.#usual = usual
    this.#read = read
  }

  answer(request: IncomingMessage, response: ServerResponse) {
    if (request.method !== "GET" || !address.test(request.url ?? "")) return this.#usual(request, response)
    if (this.#waiting.push([request, response]) === 1) setImmediate(() => this.#answerAll())
  }

  #answerAll() {
    const waiting = this.#waiting
    this.#waiting = []
    const version = this.#version()
    if (version !== this.#versionOfAnswers || this.#answers.size > keptAnswers) this.#answers.clear()
    this.#versionOfAnswers = version
    for (const [request, response] of waiting) {
      const url = request.url ?? ""
      const known = this.#answers.get(url)
      if (known === undefined) this.#answerNew(request, response, version)
      else give(response, known)
    }
  }

  #answerNew(request: IncomingMessage, response: ServerResponse, version: number | undefined) {
    const url = request.url ?? ""
    const [, machine = "", id = ""] = address.exec(url) ?? []
    this.#read(machine, id, (body) => {
      // Whatever is no plain success is told the usual way.
      if (body === undefined) return this.#usual(request, response)
      // What was written while it was read may or may not be in it.
      if (version !== undefined && version === this.#versionOfAnswers && version === this.#version()) this.#answers.set(url, body)
      give(response, body)
    })
  }
}

const give = (response: ServerResponse, body: string) => {
  if (response.destroyed) return
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
  response.end(body)
}

/** Where requests are traced, all of them go the usual way. */
export const makeShortcut = (usual: Answer): Effect.Effect<Answer, never, InstanceReading | StoreVersion> =>
  Effect.gen(function* () {
    const reading = yield* InstanceReading
    const { current } = yield* StoreVersion
    const context = yield* Effect.context<never>()
    if (Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer) return usual
    const run = Effect.runForkWith(context)
    const shortcut = new Shortcut(current, usual, (machine, id, use) =>
      run(
        Effect.matchCause(reading.read({ machine, id }), {
          onFailure: () => use(undefined),
          onSuccess: (view) => use(JSON.stringify(view)),
        }),
      ),
    )
    return (request, response) => shortcut.answer(request, response)
  })
