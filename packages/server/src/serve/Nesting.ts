/**
 * Limits how deeply a request nests JSON. Decoding, comparing and storing a value recurse on each level, so that a body of a few
 * thousand brackets exhausts the stack.
 */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { ProblemResponse } from "./ProblemResponse.ts"
import { pathOf } from "./RequestGuard.ts"

/** Deeper than any value that a program models. */
export const deepestNesting = 500

/** Whether the text opens more lists and objects inside each other than are allowed. Text that is not JSON may count as either. */
export const isNestedTooDeeply = (text: string): boolean => {
  if (text.length <= deepestNesting) return false
  let depth = 0
  let isString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isString) {
      if (code === backslash) at++
      else if (code === quote) isString = false
    } else if (code === quote) isString = true
    else if (code === openBracket || code === openBrace) {
      if (++depth > deepestNesting) return true
    } else if (code === closeBracket || code === closeBrace) depth--
  }
  return false
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Whether the request has a JSON body that can be too deep. A body without a type counts as JSON, as the router reads it. Messages of
 * procedures are checked one by one.
 */
export const mayNest = ({ headers, method, url }: HttpServerRequest, bodyBytes: number): boolean => {
  // No route reads the body of a GET, so such a request does not wait for it either.
  if (method === "GET" || method === "HEAD" || pathOf(url) === "/rpc") return false
  const length = Number(headers["content-length"] ?? 0)
  return length > deepestNesting && length <= bodyBytes && /^$|json/i.test(headers["content-type"] ?? "")
}

export const nestedTooDeeply: ProblemResponse = {
  status: 400,
  name: "PayloadInvalid",
  title: "The request cannot be understood",
  detail: `the body is nested too deeply; send lists and objects at most ${deepestNesting} levels deep`,
}
