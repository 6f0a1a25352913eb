/**
 * Builds the console of a clone on the first request for it, and answers with a page that reloads itself until the build is done.
 * Installed packages contain the built console.
 */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { pageHeaders } from "./pageHeaders.ts"

/** `idle` -> `building` -> `idle` after a successful build, or `failed`. */
type Mode = { readonly _tag: "idle" } | { readonly _tag: "building" } | { readonly _tag: "failed"; readonly problem: string }

export class ConsoleBuild {
  readonly #script: string
  #mode: Mode = { _tag: "idle" }

  /** `folder` receives the built files. */
  constructor(folder: string) {
    this.#script = join(folder, "../build.mjs")
  }

  /** Answers a request for a page while there is no build. */
  answer(request: IncomingMessage, response: ServerResponse) {
    if (this.#mode._tag === "idle" && existsSync(this.#script)) this.#begin()
    const { status, title, text, refresh } = this.#words()
    const body = pageOf(title, text, refresh)
    response.writeHead(status, {
      ...pageHeaders,
      "content-type": "text/html; charset=utf-8",
      "content-length": String(Buffer.byteLength(body)),
      "cache-control": "no-store",
    })
    response.end(request.method === "HEAD" ? undefined : body)
  }

  #begin() {
    this.#mode = { _tag: "building" }
    const build = spawn(process.execPath, [this.#script], { stdio: ["ignore", "ignore", "pipe"] })
    let said = ""
    build.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-2000)
    })
    const fail = ({ message }: Error) => {
      this.#mode = { _tag: "failed", problem: message }
    }
    build.on("error", fail)
    build.stderr.on("error", fail)
    build.on("exit", (code) => {
      this.#mode = code === 0 ? { _tag: "idle" } : { _tag: "failed", problem: said }
    })
  }

  #words() {
    if (this.#mode._tag === "building")
      return { status: 503, title: "Building the console", text: "It takes a few seconds.", refresh: true }
    const problem =
      this.#mode._tag === "failed" ? this.#mode.problem : "this installation has no built console; install @detent/console again"
    return { status: 503, title: "The console is not available", text: problem, refresh: false }
  }
}

const pageOf = (title: string, text: string, refresh: boolean): string =>
  [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Detent</title>`,
    refresh ? `<meta http-equiv="refresh" content="1">` : "",
    `</head><body><h1>${title}</h1><pre>${escaped(text)}</pre><p><a href="/docs">API reference</a></p></body></html>`,
  ].join("")

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
