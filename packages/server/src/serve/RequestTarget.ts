/**
 * Brings the target of a request into one form before anything looks at it, so that the guard, the limits, the pages and the router see
 * the same path: absolute targets lose their origin, letters and digits are not percent-encoded, slashes are neither repeated nor at the
 * end. The router compares what remains letter by letter.
 */
import type { IncomingMessage } from "node:http"
import type { ProblemResponse } from "./ProblemResponse.ts"

/** Rewrites the target of the request, or returns why it is refused. */
export const normaliseTarget = (request: IncomingMessage): ProblemResponse | undefined => {
  const { url = "" } = request
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(url)
  if (absolute !== null) {
    const [origin, host = ""] = absolute
    // The host of an absolute target takes precedence over the header: RFC 9112, section 3.2.2.
    request.headers.host = host
    request.url = normalPath(url.slice(origin.length))
    return undefined
  }
  // An upgrade may also be asked for with an asterisk, or with the host that a tunnel would go to.
  if (!url.startsWith("/")) return noPath
  request.url = normalPath(url)
  return undefined
}

/** Other characters of a path that mean the same with and without encoding: RFC 3986, section 2.3. */
const unreserved = /^[\w.~-]$/

const normalPath = (target: string): string => {
  const end = target.search(/[?;#]/)
  const [path, rest] = end === -1 ? [target, ""] : [target.slice(0, end), target.slice(end)]
  const decoded = path.replaceAll(/%([0-9a-f]{2})/gi, (encoded, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16))
    return unreserved.test(character) ? character : encoded
  })
  const segments = decoded.split("/").filter((segment) => segment !== "")
  // Links of the pages below this address are relative to a folder.
  const isFolder = decoded.endsWith("/") && segments[0] === "docs" && segments[1] === "guide"
  return `/${segments.join("/")}${isFolder ? "/" : ""}${rest}`
}

const noPath: ProblemResponse = {
  status: 400,
  name: "AddressInvalid",
  title: "The address cannot be understood",
  detail: "the target of the request is no path; send one that begins with a slash, such as /health/live",
}
