/** Finds and sends the files of a built page. They hold nothing secret, so they are served without a token. */
import { createReadStream, type Stats, statSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { extname, join, normalize, sep } from "node:path"
import { pipeline } from "node:stream"

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

/** The build puts a hash of the content into these names, so the content of a name never changes. */
const hashed = /^\/assets\/[^/]{1,100}[-.][\w-]{8,40}\.\w{1,8}$/

/** Best first. A build may write compressed copies beside each file. */
const encodings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const

/** Returns the file at an address below a folder. Undefined where there is none, it is hidden, or it is outside of the folder. */
export const fileAt = (folder: string, address: string): string | undefined => {
  const file = normalize(join(folder, address))
  const isInside = file.startsWith(folder + sep) && !/(?:^|[\\/])\./.test(address)
  return isInside && statsOf(file)?.isFile() ? file : undefined
}

/** Decodes the percent-encoded path of a request. Returns undefined for an invalid encoding: no file has such a name. */
export const decoded = (path: string): string | undefined => {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

/** Sends a file, or its compressed copy; 304 where the client has the file. */
export const sendFile = (
  request: IncomingMessage,
  response: ServerResponse,
  { file, address, headers: pageHeaders }: { readonly file: string; readonly address: string; readonly headers: Record<string, string> },
): void => {
  const { encoded, encoding, stats } = encodedFile(file, String(request.headers["accept-encoding"] ?? ""))
  const tag = `W/"${stats.size.toString(36)}-${Math.floor(stats.mtimeMs).toString(36)}"`
  const headers: Record<string, string> = {
    ...pageHeaders,
    "content-type": types[extname(file)] ?? "application/octet-stream",
    "cache-control": hashed.test(address) ? "public, max-age=31536000, immutable" : "no-cache",
    etag: tag,
    vary: "accept, accept-encoding",
  }
  if (request.headers["if-none-match"] === tag) {
    response.writeHead(304, headers).end()
    return
  }
  if (encoding !== undefined) headers["content-encoding"] = encoding
  response.writeHead(200, { ...headers, "content-length": String(stats.size) })
  if (request.method === "HEAD") response.end()
  // The callback gets the error of a file that was removed, or of a client that left. Both streams are destroyed then.
  else pipeline(createReadStream(encoded), response, () => undefined)
}

const encodedFile = (
  file: string,
  accepted: string,
): { readonly encoded: string; readonly encoding: string | undefined; readonly stats: Stats } => {
  for (const [encoding, ending] of encodings) {
    if (!new RegExp(`(?:^|[ ,])${encoding}(?:$|[ ,;])`).test(accepted)) continue
    const stats = statsOf(file + ending)
    if (stats?.isFile()) return { encoded: file + ending, encoding, stats }
  }
  return { encoded: file, encoding: undefined, stats: statSync(file) }
}

const statsOf = (file: string): Stats | undefined => {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    // The file system refuses the name: it is too long, or one of its folders is a file.
    return undefined
  }
}
