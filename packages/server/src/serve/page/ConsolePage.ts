/**
 * The files of the console: the folder that its build makes. They hold nothing secret, so they are served without a token. Every address
 * of a page that is no file is answered with `index.html`, which finds out itself what to show.
 */
import { createReadStream, type Stats, statSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createRequire } from "node:module"
import { dirname, extname, join, normalize, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { pathOf } from "../RequestGuard.ts"
import { ConsoleBuild } from "./ConsoleBuild.ts"
import { pageHeaders } from "./pageHeaders.ts"

/** Addresses of the server itself. */
const reserved = /^\/(?:api|rpc|docs|health|metrics)(?:\/|$)|^\/openapi\.json$/i

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
}

/** What the build names with a hash of its content never changes under its name. */
const hashed = /^\/assets\/.+[-.][\w-]{8,}\.\w+$/

/** Best first. The build writes them beside each file. */
const encodings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const

interface Found {
  /** Absent where the console is not built yet. */
  readonly file: string | undefined
  readonly address: string
}

/** Where the build of `@detent/console` is: the installed package, or the folder of a clone. */
export const consoleFolder = (): string => {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("@detent/console/package.json")), "dist")
  } catch {
    // It is not installed: a clone may have built it all the same.
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
    const { file, encoding, stats } = this.#encoded(found.file, String(request.headers["accept-encoding"] ?? ""))
    const tag = `W/"${stats.size.toString(36)}-${Math.floor(stats.mtimeMs).toString(36)}"`
    const headers: Record<string, string> = {
      ...pageHeaders,
      "content-type": types[extname(found.file)] ?? "application/octet-stream",
      "cache-control": hashed.test(found.address) ? "public, max-age=31536000, immutable" : "no-cache",
      etag: tag,
      vary: "accept, accept-encoding",
    }
    if (request.headers["if-none-match"] === tag) {
      response.writeHead(304, headers).end()
      return true
    }
    if (encoding !== undefined) headers["content-encoding"] = encoding
    response.writeHead(200, { ...headers, "content-length": String(stats.size) })
    if (request.method === "HEAD") response.end()
    else
      createReadStream(file)
        .on("error", () => response.destroy())
        .pipe(response)
    return true
  }

  #find(request: IncomingMessage): Found | undefined {
    const { method, url = "", headers } = request
    if (method !== "GET" && method !== "HEAD") return undefined
    const address = decoded(pathOf(url))
    if (address === undefined || reserved.test(address)) return undefined
    const file = normalize(join(this.#folder, address))
    const isInside = file.startsWith(this.#folder + sep) && !/(?:^|[\\/])\./.test(address)
    if (isInside && statsOf(file)?.isFile()) return { file, address }
    // A file that is not there is none of the page's addresses: a browser that asks for it wants no page.
    if (!String(headers.accept ?? "").includes("text/html")) return undefined
    const index = join(this.#folder, "index.html")
    return { file: statsOf(index)?.isFile() ? index : undefined, address: "/index.html" }
  }

  #encoded(file: string, accepted: string): { readonly file: string; readonly encoding: string | undefined; readonly stats: Stats } {
    for (const [encoding, ending] of encodings) {
      if (!new RegExp(`(?:^|[ ,])${encoding}(?:$|[ ,;])`).test(accepted)) continue
      const stats = statsOf(file + ending)
      if (stats?.isFile()) return { file: file + ending, encoding, stats }
    }
    return { file, encoding: undefined, stats: statSync(file) }
  }
}

const statsOf = (file: string): Stats | undefined => {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    // The file system knows no such name: it is too long, or a part of it is a file.
    return undefined
  }
}

const decoded = (path: string): string | undefined => {
  try {
    return decodeURIComponent(path)
  } catch {
    // No file has a name that cannot be decoded.
    return undefined
  }
}
