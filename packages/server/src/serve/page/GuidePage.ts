/**
 * Serves the documentation site that `npm run docs` builds, at `/docs/guide`. An address without a file extension is a page. The pages
 * have inline scripts and styles, so their content security policy allows the scripts of the file, by their hashes.
 */
import { readFileSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { pathOf } from "../RequestGuard.ts"
import { inlineScripts } from "./pageHeaders.ts"
import { decoded, fileAt, sendFile } from "./StaticFiles.ts"

const base = "/docs/guide"

/** The folder of the built site in a clone. Installed packages have none. */
export const guideFolder = (): string => fileURLToPath(new URL("../../../../../docs/.vitepress/dist", import.meta.url))

export class GuidePage {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Whether the request is for a file of the site, or for the address of the site. */
  has(request: IncomingMessage): boolean {
    return isBare(request) || this.#find(request) !== undefined
  }

  /** Answers a request for a file of the site. Returns false for any other request. */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    const found = this.#find(request)
    if (found !== undefined) {
      sendFile(request, response, { ...found, headers: headersOf(found.file) })
      return true
    }
    if (!isBare(request)) return false
    if (fileAt(this.#folder, "/index.html") === undefined) explain(request, response)
    // Links of the page are relative to the folder.
    else response.writeHead(308, { location: `${base}/`, "content-length": "0" }).end()
    return true
  }

  #find({ method, url = "" }: IncomingMessage): { readonly file: string; readonly address: string } | undefined {
    if (method !== "GET" && method !== "HEAD") return undefined
    const path = decoded(pathOf(url))
    if (path === undefined || !path.startsWith(`${base}/`)) return undefined
    const asked = path.slice(base.length)
    const address = asked.endsWith("/") ? `${asked}index.html` : asked
    const file = fileAt(this.#folder, address) ?? fileAt(this.#folder, `${address}.html`)
    return file === undefined ? undefined : { file, address }
  }
}

/** Whether the request is for the address of the site itself, with or without the slash. */
const isBare = ({ method, url = "" }: IncomingMessage): boolean =>
  (method === "GET" || method === "HEAD") && (pathOf(url) === base || pathOf(url) === `${base}/`)

const explain = (request: IncomingMessage, response: ServerResponse): void => {
  const body = "The guide is not built here. Run `npm run docs` in a clone of the repository, then load this page again.\n"
  response.writeHead(404, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  })
  response.end(request.method === "HEAD" ? undefined : body)
}

const headersOf = (file: string): Record<string, string> => ({
  "content-security-policy": policyOf(file.endsWith(".html") ? readFileSync(file, "utf8") : ""),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
})

const policyOf = (html: string): string =>
  [
    "default-src 'none'",
    ["script-src 'self'", ...inlineScripts(html)].join(" "),
    // Highlighted code has style attributes, which a hash cannot allow.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ")
