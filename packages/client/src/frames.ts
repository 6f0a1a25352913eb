/** Reads server-sent events from the body of a response. */

// This package runs without Effect, so time comes from the platform.
// @effect-diagnostics globalTimers:off

export interface Frame {
  readonly id: string | undefined
  readonly event: string
  readonly data: string
}

/** The server sends at least a comment every 15 seconds. */
const longestSilence = 45_000

/** Ends with the response, and when the connection has been silent for so long that it must be lost. */
export async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => undefined)
  const decoder = new TextDecoder()
  let text = ""
  try {
    for (;;) {
      const timer = setTimeout(cancel, longestSilence)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split("\n\n")
      text = blocks.pop() ?? ""
      for (const block of blocks) {
        const frame = frameOf(block)
        if (frame !== undefined) yield frame
      }
    }
  } finally {
    cancel()
  }
}

/** Undefined for a comment, which only keeps the connection open. */
const frameOf = (block: string): Frame | undefined => {
  let id: string | undefined
  let event = "message"
  const data: Array<string> = []
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":")
    const [name, value] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")]
    if (name === "id") id = value
    else if (name === "event") event = value
    else if (name === "data") data.push(value)
  }
  return id === undefined && data.length === 0 ? undefined : { id, event, data: data.join("\n") }
}
