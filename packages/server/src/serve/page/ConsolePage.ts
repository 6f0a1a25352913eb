/**
 * Serves the built files of the console. Every address that is not a file gets `index.html`, which routes in the browser.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { pathOf } from "../RequestGuard.ts"
import { ConsoleBuild } from "./ConsoleBuild.ts"
import { pageHeaders } from "./pageHeaders.ts"
import { decoded, fileAt, sendFile } from "./StaticFiles.ts"

/** Addresses of the server itself. */
const reserved = /^\/(?:api|rpc|docs|health|metrics)(?:\/|$)|^\/openapi\.json$/i

interface Found {
  /** Absent where the console is not built yet. */
  readonly file: string | undefined
  readonly address: string
}

/** The folder of the built console: in the installed package `@detent/console`, or in a clone. */
export const consoleFolder = (): string => {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("@detent/console/package.json")), "dist")
  } catch {
    // The package is not installed: a clone may have built it.
    return fileURLToPath(new URL("../../../../console/dist", import.meta.url))
  }
}

export class ConsolePage {
  readonly #folder: string
  readonly #build: ConsoleBuild

  constructor(folder: string) {
    this.#folder = folder
    this.#build = new ConsoleBuild(folder)
  }

  /** Whether the request is for a file of the console. */
  has(request: IncomingMessage): boolean {
    return this.#find(request) !== undefined
  }

  /** Answers a request for a file of the console. Returns false for any other request. */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    const found = this.#find(request)
    if (found === undefined) return false
    if (found.file === undefined) {
      this.#build.answer(request, response)
      return true
    }
    sendFile(request, response, { file: found.file, address: found.address, headers: pageHeaders })
    return true
  }

  #find(request: IncomingMessage): Found | undefined {
    const { method, url = "", headers } = request
    if (method !== "GET" && method !== "HEAD") return undefined
    // A typed address may have a stray %: the console shows "not found" for it.
    const address = decoded(pathOf(url)) ?? pathOf(url)
    if (reserved.test(address)) return undefined
    const file = fileAt(this.#folder, address)
    if (file !== undefined) return { file, address }
    // A missing file is a 404: only a request for a page gets `index.html`.
    if (!String(headers.accept ?? "").includes("text/html")) return undefined
    return { file: fileAt(this.#folder, "/index.html"), address: "/index.html" }
  }
}
