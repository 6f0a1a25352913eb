/**
 * Standard input as the messages of an MCP client, one per line. The library's parser stops at a line that is not JSON, so this module
 * answers such a line with an error and does not pass it on.
 */
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"

export const messageStdio: Layer.Layer<Stdio.Stdio> = Layer.effect(
  Stdio.Stdio,
  Effect.map(Stdio.Stdio, (stdio) => ({ ...stdio, stdin: messagesOf(stdio) })),
).pipe(Layer.provide(NodeStdio.layer))

const encoder = new TextEncoder()

const messagesOf = (stdio: Stdio.Stdio): Stdio.Stdio["stdin"] =>
  stdio.stdin.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== ""),
    Stream.filterEffect((line) => {
      const refusal = refusalOf(line)
      return refusal === undefined ? Effect.succeed(true) : Effect.as(Stream.run(Stream.make(refusal), stdio.stdout()), false)
    }),
    Stream.map((line) => encoder.encode(`${line}\n`)),
  )

/** The JSON-RPC error for a line that is not a message. */
const refusalOf = (line: string): string | undefined => {
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch (error) {
    return answer(-32700, `the line is not JSON: ${error instanceof Error ? error.message : String(error)}; send one message on one line`)
  }
  return typeof message === "object" && message !== null
    ? undefined
    : answer(-32600, "a message is a JSON object with jsonrpc, id and method")
}

const answer = (code: number, message: string): string => `${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } })}\n`
