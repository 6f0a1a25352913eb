/** Asks the API for what the page shows, and follows its live streams. The token, if one is needed, lives as long as the tab. */

const tokenName = "detent-token"

/** @param {string} token */
export const keepToken = (token) => sessionStorage.setItem(tokenName, token)

export const forgetToken = () => sessionStorage.removeItem(tokenName)

export const hasToken = () => sessionStorage.getItem(tokenName) !== null

/** The server said no; its problem says why. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} detail
   */
  constructor(status, detail) {
    super(detail)
    this.status = status
  }
}

/**
 * A path below `/api/v1`, made of names that may contain anything.
 *
 * @param {ReadonlyArray<string>} names
 * @param {Readonly<Record<string, string | number | undefined>>} [query]
 */
export function pathOf(names, query = {}) {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  const search = new URLSearchParams(given).toString()
  return `api/v1/${names.map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`
}

/**
 * @template A
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<A>}
 */
export async function ask(path, signal) {
  return (await open(path, {}, signal)).json()
}

/**
 * A drawing as a picture's address: nothing that is in it can run.
 *
 * @param {string} path
 */
export async function askPicture(path) {
  return URL.createObjectURL(await (await open(path)).blob())
}

/**
 * The events of a live stream, until it ends or is given up.
 *
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<{ readonly event: string, readonly data: string }>}
 */
export async function* follow(path, signal) {
  const { body } = await open(path, { accept: "text/event-stream" }, signal)
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (text + part.value).split("\n\n")
    text = blocks.pop() ?? ""
    for (const block of blocks) {
      const event = eventOf(block)
      if (event !== undefined) yield event
    }
  }
}

/**
 * @param {string} block
 * @returns {{ readonly event: string, readonly data: string } | undefined}
 */
export function eventOf(block) {
  const lines = block.split("\n")
  /** @param {string} name */
  const values = (name) => lines.flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).replace(/^ /, "")] : []))
  const data = values("data")
  return data.length === 0 ? undefined : { event: values("event").at(-1) ?? "message", data: data.join("\n") }
}

/**
 * @param {string} path
 * @param {Record<string, string>} [headers]
 * @param {AbortSignal} [signal]
 */
async function open(path, headers = {}, signal) {
  const token = sessionStorage.getItem(tokenName)
  const response = await fetch(path, {
    headers: token === null ? headers : { ...headers, authorization: `Bearer ${token}` },
    ...(signal === undefined ? {} : { signal }),
  })
  if (response.ok) return response
  throw new Refused(response.status, await problemOf(response))
}

/** @param {Response} response */
async function problemOf(response) {
  const text = await response.text()
  try {
    return String(JSON.parse(text).detail)
  } catch {
    // Something between the page and the server answered.
    return `${response.status} ${response.statusText}`
  }
}
