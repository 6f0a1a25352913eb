/** The server of `detent dev` and `detent serve`. */
import { ListenFailed, Server, serve as served } from "@detent/server/serve"
import { ClusterMember } from "@detent/workspace/ClusterMember"
import { Machines } from "@detent/workspace/Machines"
import type { Role } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { NotAllowed, WrongUsage } from "../Failure.ts"
import { Output } from "../output/Output.ts"
import type { Opened, Place } from "../workspace/Opening.ts"
import { announced, announcedAsNode, runningServer } from "../workspace/Server.ts"
import { telemetry } from "../workspace/Telemetry.ts"

export const listenOptions = [
  { name: "port", kind: "integer", value: "N", default: 4400, summary: "port to listen on; 0 chooses a free port" },
  {
    name: "host",
    kind: "text",
    value: "ADDRESS",
    default: "127.0.0.1",
    summary: "address to listen on; addresses other than localhost require --token",
  },
  {
    name: "origin",
    kind: "text",
    value: "URL,…",
    summary: "web applications whose pages may call this server with a token, such as https://shop.example",
  },
  { name: "token", kind: "text", value: "SECRET", summary: "token that clients must send. Environment: DETENT_TOKEN, which is preferred" },
] as const

export interface Listening {
  readonly host: string
  readonly port: number
  readonly origin: string | undefined
  readonly token: string | undefined
}

export const serving = <S, E, R>(input: Listening & Place, role: Role, home: Opened<S>, first: Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    if (input.port > 65_535)
      return yield* new WrongUsage({
        problem: `there is no port ${input.port}`,
        nextStep: "use a port up to 65535, or 0 for a free port",
      })
    const other = yield* runningServer(input)
    // Nodes of a cluster share a data folder. A server beside them that is no node is refused when it opens the database.
    if (other !== undefined && !other.isNode && role === "work")
      return yield* new NotAllowed({
        problem: `a server already runs in ${input.data}, at ${other.url}`,
        nextStep: "stop it first, or name another folder with --data",
      })
    return yield* Effect.gen(function* () {
      const output = yield* Output
      const { url } = yield* Server
      const isNode = Option.isSome(yield* ClusterMember)
      if (role === "work") yield* isNode ? announcedAsNode(input, reachable(url)) : announced(input, reachable(url))
      yield* output.value({ url: reachable(url) }, () => `${reachable(url)}\n`)
      yield* output.note(
        output.noteStyle.dim(
          `open it for the console, API reference at /docs; stop with Ctrl-C: unfinished work resumes at the next start`,
        ),
      )
      const known = yield* Effect.flatMap(Machines, (machines) => machines.list)
      if (known.length === 0) yield* output.note(nothingKnown)
      yield* first
      return yield* Effect.never
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.provideMerge(listening(input), home)),
      Effect.mapError((error) => (isNoAddress(error) ? noAddress(input.host) : error)),
    )
  })

const nothingKnown =
  "no machines are registered here: name yours in detent.config.ts (`detent init` writes one), or try `detent dev --demo`"

const isNoAddress = (error: unknown): boolean =>
  error instanceof ListenFailed && error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRNOTAVAIL"

const noAddress = (host: string) => new WrongUsage({ problem: `${host} is not an address of this machine`, nextStep: "correct --host" })

const listening = ({ host, port, origin = "", token = process.env["DETENT_TOKEN"] }: Listening) => {
  const origins = origin
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
  const readToken = process.env["DETENT_READ_TOKEN"]
  return Layer.provideMerge(served({ host, port, origins, token: secret(token), readToken: secret(readToken) }), telemetry)
}

const secret = (text: string | undefined) => (text === undefined || text === "" ? undefined : Redacted.make(text))

/** The local address of a server that listens on all addresses. */
const reachable = (url: string): string => url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
