/**
 * The server of a workspace, if one runs. The server owns the instances in its memory, so commands that change something send it a
 * request; commands that only read do not. Its address is in a file of the workspace; the file of a killed server is ignored. Of the
 * servers that are nodes of a cluster, each has a file of its own, and takes the requests for all instances.
 */

import { createHash, randomBytes } from "node:crypto"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { releasing } from "@detent/machine/internal"
import { privateFile } from "@detent/store/internal"
import { dataOf, localFolderOf } from "@detent/workspace/DataLocation"
import { onCommandLine } from "@detent/workspace/ErrorKind"
import { type SystemName, SystemOff } from "@detent/workspace/errors"
import { isProof } from "@detent/workspace/WorkspaceProof"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { messageOf, NotAllowed, NothingFound, ServerRefused, WrongUsage } from "../Failure.ts"
import { databaseOf, type Place, placeText } from "./Opening.ts"

/** `database` identifies the server's database without its address. */
const AnnouncementJson = Schema.fromJsonString(Schema.Struct({ url: Schema.String, pid: Schema.Int, database: Schema.String }))

const serverFile = "server.json"

/** The files of servers that are nodes of a cluster: `server-PID.json`. */
const nodeFile = /^server-\d+\.json$/

/** Publishes the server's address to the workspace's other processes while the server runs. Fails where another server has done so. */
export const announced = (place: Place, url: string): Effect.Effect<void, WrongUsage | NotAllowed, Scope.Scope> =>
  announcedIn(serverFile, place, url)

/** The same for a server that is a node of a cluster, of which several can run in one data folder. */
export const announcedAsNode = (place: Place, url: string): Effect.Effect<void, WrongUsage | NotAllowed, Scope.Scope> =>
  announcedIn(`server-${process.pid}.json`, place, url)

const announcedIn = (name: string, place: Place, url: string): Effect.Effect<void, WrongUsage | NotAllowed, Scope.Scope> => {
  const file = join(localFolderOf(place.data), name)
  const announcement = { url, pid: process.pid, database: databaseMark(place) }
  const text = `${Schema.encodeSync(AnnouncementJson)(announcement)}\n`
  const writing = <A>(write: () => A) =>
    Effect.try({
      try: write,
      catch: (cause) =>
        new WrongUsage({
          problem: `${file} cannot be written: ${messageOf(cause)}`,
          nextStep: "give this user write access to the data folder, and free space on its disk",
        }),
    })
  const claim = Effect.gen(function* () {
    // Of servers that start at the same moment, one creates the file; the others find it.
    while (!(yield* writing(() => isCreated(file, text)))) {
      const found = yield* Effect.sync(() => announcementIn(file))
      // The other server may be writing it just now.
      const other =
        found ??
        (yield* Effect.delay(
          Effect.sync(() => announcementIn(file)),
          "200 millis",
        ))
      if (other !== undefined && isOf(place, other) && (yield* liveServer(place, other.url)) !== undefined)
        return yield* new NotAllowed({
          problem: `a server already runs in ${place.data}, at ${other.url}`,
          nextStep: "stop it first, or name another folder with --data",
        })
      yield* writing(() => rmSync(file, { force: true }))
    }
  })
  return Effect.acquireRelease(claim, () =>
    releasing(file, () => {
      const own = announcementIn(file)
      if (own?.pid === process.pid && own.url === url) rmSync(file, { force: true })
    }),
  )
}

/** Creates the file, unless it is there. */
const isCreated = (file: string, text: string): boolean => {
  try {
    writeFileSync(file, text, { flag: "wx", mode: privateFile })
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
    throw error
  }
}

/** The server failed or did not answer. `problem` is the server's message. */
export class ServerFailed extends Schema.TaggedError<ServerFailed>()("ServerFailed", { url: Schema.String, problem: Schema.String }) {
  override get message() {
    return `the server at ${this.url}: ${this.problem}`
  }
}

export type Refusal = NotAllowed | ServerRefused | ServerFailed

export interface RunningServer {
  readonly url: string
  /** Whether it is a node of a cluster. */
  readonly isNode: boolean
  /** The systems that are on in the server. */
  readonly systems: ReadonlyArray<string>
  /** Sends a request that changes something, and returns the decoded JSON of the answer. */
  readonly post: (path: string, body?: PostBody, headers?: Readonly<Record<string, string>>) => Effect.Effect<unknown, Refusal>
}

export type PostBody = { readonly json: unknown } | { readonly form: FormData }

/** The running server of this workspace and database; undefined where none runs. */
export const runningServer = (place: Place): Effect.Effect<RunningServer | undefined> =>
  Effect.gen(function* () {
    for (const { url, isNode } of yield* Effect.sync(() => announcements(place))) {
      const live = yield* liveServer(place, url)
      if (live !== undefined) return { url, isNode, systems: live.systems, post: posting(url) }
    }
    return undefined
  })

/** The running server, if the system is on in it. Otherwise the command's own process does the work. */
export const runningServerWith = (place: Place, system: SystemName): Effect.Effect<RunningServer | undefined> =>
  Effect.map(runningServer(place), (server) => (server?.systems.includes(system) ? server : undefined))

const isLive = Schema.is(Schema.Struct({ status: Schema.Literal("live"), proof: Schema.String, systems: Schema.Array(Schema.String) }))

/**
 * The systems of the workspace's server at this address; undefined where another process answers: it may have taken the port of a
 * killed server. So the server has to prove that it works in this data folder before a command sends it a token.
 */
const liveServer = (place: Place, url: string): Effect.Effect<{ readonly systems: ReadonlyArray<string> } | undefined> =>
  Effect.gen(function* () {
    const challenge = yield* Effect.sync(() => randomBytes(24).toString("base64url"))
    const address = new URL("/health/live", url)
    const headers = { "detent-challenge": challenge }
    const answer: unknown = yield* Effect.tryPromise(async () =>
      (await fetch(address, { headers, signal: AbortSignal.timeout(2000), redirect: "error" })).json(),
    )
    return isLive(answer) && isProof(dataOf(place.data), challenge, answer.proof) ? answer : undefined
  }).pipe(Effect.orElseSucceed(() => undefined))

/** The servers that the files of the data folder name, except those whose process has ended. */
const announcements = (place: Place): ReadonlyArray<Pick<RunningServer, "url" | "isNode">> => {
  const folder = localFolderOf(place.data)
  const nodes = namesIn(folder).filter((name) => nodeFile.test(name))
  return [serverFile, ...nodes].flatMap((name) => {
    const found = announcementIn(join(folder, name))
    return found !== undefined && isOf(place, found) ? [{ url: found.url, isNode: name !== serverFile }] : []
  })
}

type Announcement = (typeof AnnouncementJson)["Type"]

const announcementIn = (file: string): Announcement | undefined => {
  try {
    return Schema.decodeSync(AnnouncementJson)(readFileSync(file, "utf8"))
  } catch {
    // Without a file, or with an invalid one, such as a file that is being written, no server runs yet.
    return undefined
  }
}

/** Whether a server with this database may run under the announcement: its process is alive. */
const isOf = (place: Place, { url, pid, database }: Announcement): boolean =>
  database === databaseMark(place) && isAlive(pid) && URL.canParse(url)

const namesIn = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder)
  } catch {
    // Without a folder, no server runs.
    return []
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process belongs to another user, and is alive.
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

const databaseMark = (place: Place): string =>
  createHash("sha256")
    .update(databaseOf(place) ?? "")
    .digest("hex")
    .slice(0, 16)

const posting =
  (url: string): RunningServer["post"] =>
  (path, body, headers = {}) =>
    Effect.gen(function* () {
      const token = process.env["DETENT_TOKEN"]
      const { status, text } = yield* Effect.tryPromise({
        try: async (signal) => {
          const response = await fetch(new URL(path, url), {
            redirect: "error",
            method: "POST",
            signal,
            headers: {
              ...headers,
              ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
              ...(body !== undefined && "json" in body ? { "content-type": "application/json" } : {}),
            },
            ...(body === undefined ? {} : { body: "json" in body ? JSON.stringify(body.json) : body.form }),
          })
          return { status: response.status, text: await response.text() }
        },
        catch: (cause) => new ServerFailed({ url, problem: `it does not answer: ${String(cause)}; check whether it still runs` }),
      })
      if (status < 400) return text === "" ? undefined : yield* answerOf(url, text)
      return yield* refusalOf(url, status, yield* Effect.orElseSucceed(problemOf(text), () => ({ type: "", detail: `status ${status}` })))
    })

const answerOf = (url: string, text: string): Effect.Effect<unknown, ServerFailed> =>
  Effect.mapError(
    Schema.decodeEffect(Schema.fromJsonString(Schema.Unknown))(text),
    () => new ServerFailed({ url, problem: "the answer is not JSON; is this a Detent server?" }),
  )

const ProblemJson = Schema.Struct({ type: Schema.String, detail: Schema.String })

const problemOf = Schema.decodeEffect(Schema.fromJsonString(ProblemJson))

const refusalOf = (url: string, status: number, { type, detail }: typeof ProblemJson.Type): Effect.Effect<never, Refusal> => {
  if (status === 401 && !process.env["DETENT_TOKEN"])
    return Effect.fail(new NotAllowed({ problem: `the server at ${url} requires a token`, nextStep: "set DETENT_TOKEN" }))
  if (status === 401)
    return Effect.fail(
      new NotAllowed({
        problem: `the server at ${url} does not accept the token in DETENT_TOKEN`,
        nextStep: "set it to the token that the server was started with",
      }),
    )
  if (status === 403) return Effect.fail(new NotAllowed({ problem: detail, nextStep: "set DETENT_TOKEN to a token of the role operate" }))
  if (status >= 500) return Effect.fail(new ServerFailed({ url, problem: detail }))
  const tag = type.slice(type.lastIndexOf(":") + 1)
  const { exitCode, message } = onCommandLine({ tag, status, detail })
  return Effect.fail(new ServerRefused({ reason: tag, problem: message, url, exitCode }))
}

/** Whether processes of several machines can work in the workspace. Then the next step names `detent serve`. */
const isShared = (place: Place): boolean => isBucketLocation(place.data) || /^postgres/i.test(databaseOf(place) ?? "")

/** The server that `--detach` needs. */
export const neededServer = (place: Place, system: SystemName): Effect.Effect<RunningServer, NothingFound | SystemOff> =>
  Effect.gen(function* () {
    const server = yield* runningServer(place)
    if (server === undefined)
      return yield* new NothingFound({
        what: `server running in ${place.data}`,
        nextStep: `start one with \`detent ${isShared(place) ? "serve" : "dev"}${placeText(place)}\`, or remove --detach`,
      })
    return server.systems.includes(system) ? server : yield* new SystemOff({ system })
  })
