/**
 * Google Cloud Tasks on loopback: creates tasks through the REST API, rejects the requests that the real service rejects, and calls the
 * tasks' URLs with signed tokens until the response is a 2xx or the attempts are exhausted. It also serves the key set, the metadata
 * server and Cloud Run's `jobs:run`, which responds before the job ends.
 */
import { createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { type FakeReply, type FakeRequest, type FakeServer, nowMillis, startServer } from "@detent/blobs/testing/cloud"
import * as DateTime from "effect/DateTime"

export interface FakeCloudTasksOptions {
  /** `projects/P/locations/L/queues/Q`. */
  readonly queues: ReadonlyArray<string>
  /** Existing queues that no token may use. */
  readonly forbidden?: ReadonlyArray<string>
  /** Default: 5 attempts, 10 concurrent calls, and a backoff of 20 to 200 milliseconds. */
  readonly maxAttempts?: number
  readonly concurrency?: number
  readonly minBackoffMillis?: number
  readonly maxBackoffMillis?: number
  /** Starts a job with these environment variables. Resolves to its exit code. */
  readonly runJob?: (job: string, env: Readonly<Record<string, string>>) => Promise<number>
  /** Number of retries of a failed job. Default: 3. */
  readonly jobRetries?: number
  readonly port?: number
}

/** A fault of one delivery of a task. */
export type DeliveryFault =
  /** The call does not reach the server; the queue counts a failed attempt. */
  | "lost"
  /** The call is made, but counts as failed, so it is made again. */
  | "answer lost"
  /** The call is made twice at the same time. */
  | "twice"
  | { readonly lateByMillis: number }

export interface Delivery {
  readonly task: string
  readonly url: string
  readonly attempt: number
  /** Undefined if there was no response. */
  readonly status: number | undefined
}

export interface FakeCloudTasks extends FakeServer {
  deliveryPlan: (url: string, index: number) => DeliveryFault | undefined
  readonly deliveries: Array<Delivery>
  /** Names of the created tasks. */
  readonly created: Array<string>
  /** Names of the tasks whose attempts are exhausted. */
  readonly exhausted: Array<string>
  readonly waiting: () => number
  readonly keysUrl: string
  /** A token with a valid signature of Google. */
  readonly token: (claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>) => string
  /** A token that claims Google's key id, but is signed with another key. */
  readonly forge: (claims: Readonly<Record<string, unknown>>) => string
  /** Replaces the key: servers refuse tokens of the previous key after they have fetched the key set again. */
  readonly rotateKey: () => void
}

interface HttpRequest {
  readonly url: string
  readonly httpMethod?: string | number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly oidcToken?: { readonly serviceAccountEmail: string; readonly audience?: string }
  readonly oauthToken?: { readonly serviceAccountEmail: string; readonly scope?: string }
}

interface TaskResource {
  readonly name: string
  readonly httpRequest: HttpRequest
  readonly scheduleTime: string
  readonly createTime: string
  readonly dispatchDeadline: string
}

class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const json = (status: number, value: unknown): FakeReply => ({
  status,
  headers: { "content-type": "application/json; charset=UTF-8" },
  body: JSON.stringify(value),
})

const problem = (status: number, code: string, message: string): FakeReply =>
  json(status, { error: { code: status, message, status: code } })

/** Unreferenced timers: a waiting task does not keep the process alive. */
const pause = (millis: number) => sleep(millis, undefined, { ref: false })

const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

const millisOf = (text: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(text))

const largestTask = 100 * 1024

export const startFakeCloudTasks = async (options: FakeCloudTasksOptions): Promise<FakeCloudTasks> => {
  const { maxAttempts = 5, concurrency = 10, minBackoffMillis = 20, maxBackoffMillis = 200, jobRetries = 3 } = options
  const tasks = new Map<string, TaskResource>()
  /** Names of deleted or finished tasks, which cannot be reused. */
  const tombstones = new Set<string>()
  const [created, exhausted, deliveries]: [Array<string>, Array<string>, Array<Delivery>] = [[], [], []]
  const tokens = new Set<string>()
  const stranger = newKey()
  let key = newKey()
  let isClosed = false
  let dispatched = 0
  let running = 0
  const turns: Array<() => void> = []

  const permit = async () => {
    if (running >= concurrency) await new Promise<void>((resolve) => turns.push(resolve))
    running++
  }
  const release = () => {
    running--
    turns.shift()?.()
  }

  const signed = (by: KeyObject, claims: Readonly<Record<string, unknown>>, header: Readonly<Record<string, unknown>>) => {
    const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")
    return `${text}.${createSign("RSA-SHA256").update(text).sign(by, "base64url")}`
  }

  const token: FakeCloudTasks["token"] = (claims, header = {}) => {
    const now = Math.floor(nowMillis() / 1000)
    const usual = { iss: "https://accounts.google.com", iat: now, exp: now + 3600, email_verified: true }
    return signed(key.privateKey, { ...usual, ...claims }, { alg: "RS256", typ: "JWT", kid: key.kid, ...header })
  }

  const headersOf = (task: TaskResource, attempt: number): Record<string, string> => {
    const { oidcToken, oauthToken, headers = {}, url } = task.httpRequest
    const [, queue = "", id = ""] = /queues\/([^/]+)\/tasks\/([^/]+)$/.exec(task.name) ?? []
    const proof =
      oidcToken !== undefined
        ? `Bearer ${token({ email: oidcToken.serviceAccountEmail, aud: oidcToken.audience ?? url, sub: "1" })}`
        : oauthToken !== undefined
          ? `Bearer ${newAccessToken()}`
          : undefined
    return {
      "user-agent": "Google-Cloud-Tasks",
      ...headers,
      "x-cloudtasks-queuename": queue,
      "x-cloudtasks-taskname": id,
      "x-cloudtasks-taskretrycount": String(attempt - 1),
      "x-cloudtasks-taskexecutioncount": String(attempt - 1),
      "x-cloudtasks-tasketa": String(nowMillis() / 1000),
      ...(proof === undefined ? {} : { authorization: proof }),
    }
  }

  const newAccessToken = (): string => {
    const text = `ya29.${randomBytes(24).toString("base64url")}`
    tokens.add(text)
    return text
  }

  const call = async (task: TaskResource, attempt: number): Promise<number | undefined> => {
    const { url, body = "" } = task.httpRequest
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: headersOf(task, attempt),
        body: Buffer.from(body, "base64"),
        redirect: "manual",
      })
      await response.arrayBuffer()
      return response.status
    } catch {
      // The server is unreachable or died: the next attempt tries again.
      return undefined
    }
  }

  const dispatch = async (task: TaskResource) => {
    await pause(Math.max(0, millisOf(task.scheduleTime) - nowMillis()))
    for (let attempt = 1; attempt <= maxAttempts && !isClosed && tasks.has(task.name); attempt++) {
      await permit()
      let status: number | undefined
      try {
        const fault = fake.deliveryPlan(task.httpRequest.url, dispatched++)
        if (typeof fault === "object") await pause(fault.lateByMillis)
        if (fault === "twice") [status] = await Promise.all([call(task, attempt), call(task, attempt)])
        else if (fault !== "lost") status = await call(task, attempt)
        deliveries.push({ task: task.name, url: task.httpRequest.url, attempt, status })
        if (fault === "answer lost") status = undefined
      } finally {
        release()
      }
      if (status !== undefined && status >= 200 && status < 300) return end(task)
      await pause(Math.min(maxBackoffMillis, minBackoffMillis * 2 ** (attempt - 1)))
    }
    if (tasks.has(task.name)) exhausted.push(task.name)
    end(task)
  }

  const end = (task: TaskResource) => {
    tasks.delete(task.name)
    tombstones.add(task.name)
  }

  const authorized = ({ headers }: FakeRequest) => {
    const given = /^Bearer (.+)$/.exec(headers["authorization"] ?? "")?.[1]
    if (given === undefined || !tokens.has(given))
      throw new Refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token.")
  }

  const checkQueue = (queue: string) => {
    if (options.forbidden?.includes(queue) === true)
      throw new Refusal(
        403,
        "PERMISSION_DENIED",
        'The principal (user or service account) lacks IAM permission "cloudtasks.tasks.create" for the resource.',
      )
    if (!options.queues.includes(queue)) throw new Refusal(404, "NOT_FOUND", "Queue does not exist.")
  }

  const create = (queue: string, body: Buffer): FakeReply => {
    checkQueue(queue)
    const invalid = (message: string) => new Refusal(400, "INVALID_ARGUMENT", message)
    if (body.byteLength > largestTask) throw invalid("Task size too large")
    const { task } = JSON.parse(body.toString()) as { task?: Partial<TaskResource> }
    const request = task?.httpRequest
    if (request === undefined) throw invalid("Task.http_request must be set")
    const { name = `${queue}/tasks/${randomBytes(8).toString("hex")}` } = task ?? {}
    if (!name.startsWith(`${queue}/tasks/`) || !/^[A-Za-z0-9_-]{1,500}$/.test(name.slice(`${queue}/tasks/`.length)))
      throw invalid('Task name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>/tasks/<TASK_ID>"')
    if (!/^https?:\/\//.test(request.url)) throw invalid("HttpRequest.url must start with http:// or https://")
    if (request.oidcToken !== undefined && request.oauthToken !== undefined) throw invalid("only one of oauth_token and oidc_token")
    if (request.oauthToken !== undefined && !isGoogleApi(request.url)) throw invalid("oauth_token may only be used for *.googleapis.com")
    if (request.oidcToken !== undefined && isGoogleApi(request.url)) throw invalid("oidc_token may not be used for *.googleapis.com")
    const deadline = Number(/^(\d+(?:\.\d+)?)s$/.exec(task?.dispatchDeadline ?? "600s")?.[1])
    if (!(deadline >= 15 && deadline <= 1800)) throw invalid("Task.dispatchDeadline must be between [15s, 30m]")
    const scheduleTime = task?.scheduleTime ?? iso(nowMillis())
    if (!(millisOf(scheduleTime) < nowMillis() + 30 * 86_400_000)) throw invalid("The task's scheduleTime is too far in the future")
    if (tasks.has(name) || tombstones.has(name))
      throw new Refusal(409, "ALREADY_EXISTS", "The task cannot be created because a task with this name existed too recently.")
    const made: TaskResource = { name, httpRequest: request, scheduleTime, createTime: iso(nowMillis()), dispatchDeadline: `${deadline}s` }
    tasks.set(name, made)
    created.push(name)
    void dispatch(made)
    return json(200, shown(made))
  }

  const isGoogleApi = (url: string): boolean => url.startsWith(`${fake.url}/`) || /^https:\/\/[^/]+\.googleapis\.com\//.test(url)

  const runJob = (path: string, body: Buffer): FakeReply => {
    const { overrides } = JSON.parse(body.toString() || "{}") as {
      overrides?: { containerOverrides?: ReadonlyArray<{ env?: ReadonlyArray<{ name: string; value: string }> }> }
    }
    const env = Object.fromEntries((overrides?.containerOverrides?.[0]?.env ?? []).map(({ name, value }) => [name, value]))
    const job = /jobs\/([^/:]+):run$/.exec(path)?.[1] ?? ""
    const run = options.runJob
    if (run === undefined) throw new Refusal(404, "NOT_FOUND", `Resource '${job}' of kind 'JOB' does not exist.`)
    void (async () => {
      for (let attempt = 0; attempt <= jobRetries && !isClosed; attempt++)
        if ((await run(job, { ...env, CLOUD_RUN_TASK_ATTEMPT: String(attempt) })) === 0) return
    })()
    return json(200, { name: `${path.slice(1).replace(/:run$/, "")}/operations/${randomBytes(6).toString("hex")}`, done: false })
  }

  const route = (request: FakeRequest): FakeReply => {
    const { method, path, query } = request
    if (path === "/oauth2/v3/certs")
      return { ...json(200, { keys: [key.jwk] }), headers: { "content-type": "application/json", "cache-control": "public, max-age=3600" } }
    if (path.startsWith("/computeMetadata/")) {
      if (request.headers["metadata-flavor"] !== "Google")
        return problem(403, "PERMISSION_DENIED", "Missing Metadata-Flavor:Google header.")
      return json(200, { access_token: newAccessToken(), expires_in: 3599, token_type: "Bearer" })
    }
    authorized(request)
    if (method === "POST" && path.endsWith(":run")) return runJob(path, request.body)
    const [, queue, id] = /^\/v2\/(projects\/[^/]+\/locations\/[^/]+\/queues\/[^/]+)\/tasks(?:\/([^/]+))?$/.exec(path) ?? []
    if (queue === undefined) return problem(404, "NOT_FOUND", "The requested URL was not found on this server.")
    if (method === "POST" && id === undefined) return create(queue, request.body)
    checkQueue(queue)
    if (method === "GET" && id === undefined) return listed(queue, Number(query.get("pageSize") ?? 1000), query.get("pageToken") ?? "")
    const found = tasks.get(`${queue}/tasks/${id}`)
    if (found === undefined) throw new Refusal(404, "NOT_FOUND", "Requested entity was not found.")
    if (method === "DELETE") {
      end(found)
      return json(200, {})
    }
    return json(200, shown(found))
  }

  const listed = (queue: string, size: number, after: string): FakeReply => {
    const all = [...tasks.values()]
      .filter(({ name }) => name.startsWith(`${queue}/`) && name > after)
      .sort((one, other) => (one.name < other.name ? -1 : 1))
    const page = all.slice(0, size)
    return json(200, { tasks: page.map(shown), ...(all.length > size ? { nextPageToken: page.at(-1)?.name } : {}) })
  }

  const answer = (request: FakeRequest): FakeReply => {
    try {
      return route(request)
    } catch (error) {
      if (error instanceof Refusal) return problem(error.status, error.code, error.message)
      return problem(400, "INVALID_ARGUMENT", error instanceof Error ? error.message : String(error))
    }
  }

  const server = await startServer(answer, (status) => problem(status, "UNAVAILABLE", "by the fault plan"), options.port)
  const closing = server.close
  const fake: FakeCloudTasks = Object.assign(server, {
    deliveryPlan: () => undefined,
    deliveries,
    created,
    exhausted,
    waiting: () => tasks.size,
    keysUrl: `${server.url}/oauth2/v3/certs`,
    token,
    forge: (claims: Readonly<Record<string, unknown>>) => {
      const now = Math.floor(nowMillis() / 1000)
      const usual = { iss: "https://accounts.google.com", iat: now, exp: now + 3600, email_verified: true }
      return signed(stranger.privateKey, { ...usual, ...claims }, { alg: "RS256", typ: "JWT", kid: key.kid })
    },
    rotateKey: () => {
      key = newKey()
    },
    close: async () => {
      isClosed = true
      tasks.clear()
      for (const turn of turns.splice(0)) turn()
      await closing()
    },
  })
  return fake
}

/** The basic view: without the body. */
const shown = ({ httpRequest: { body: _, ...httpRequest }, ...task }: TaskResource) => ({
  ...task,
  httpRequest: { httpMethod: "POST", ...httpRequest },
  view: "BASIC",
})

const newKey = () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const kid = randomBytes(8).toString("hex")
  return { kid, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" } }
}
