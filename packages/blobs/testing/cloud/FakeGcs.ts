/**
 * Google Cloud Storage on loopback: the JSON API with buckets, objects with generations, preconditions, media, multipart and
 * resumable uploads, paged listings, checksums and bearer tokens; the token endpoint, which verifies the signature of a service
 * account's assertion; and the metadata server. It rejects the requests that the real service rejects.
 */
import { createHash, createVerify, randomBytes } from "node:crypto"
import * as DateTime from "effect/DateTime"
import { type FakeReply, type FakeRequest, type FakeServer, nowMillis, startServer } from "./FakeServer.ts"

export interface FakeGcsOptions {
  readonly buckets: ReadonlyArray<string>
  /** Existing buckets that no token may use. */
  readonly forbidden?: ReadonlyArray<string>
  /** Email and public key of the only service account. Default: the token endpoint refuses all requests. */
  readonly serviceAccount?: { readonly email: string; readonly publicKey: string }
  /** How long a token is valid, in seconds. Default: 3,600. */
  readonly tokenSeconds?: number
  /** Whether requests need no token, as for emulators. */
  readonly anonymous?: boolean
  /** Maximum number of objects per listing page, even if the client requests more. Default: 1,000. */
  readonly pageSize?: number
  readonly port?: number
}

export interface FakeGcs extends FakeServer {
  /** Invalidates all issued tokens. */
  readonly endTokens: () => void
  readonly tokensGiven: () => number
  readonly openSessions: () => number
  /** The content of an object. */
  readonly bytesOf: (bucket: string, name: string) => Buffer | undefined
}

interface StoredObject {
  readonly name: string
  readonly bytes: Buffer
  readonly generation: bigint
  readonly contentType: string
  readonly metadata: Readonly<Record<string, string>> | undefined
  readonly md5: string
  readonly crc32c: string
  readonly updated: string
}

interface Session {
  readonly bucket: string
  readonly name: string
  readonly resource: Resource
  readonly condition: string | null
  pieces: Array<Buffer>
  kept: number
  finished: StoredObject | undefined
}

interface Resource {
  readonly name?: string
  readonly contentType?: string
  readonly md5Hash?: string
  readonly crc32c?: string
  readonly metadata?: Readonly<Record<string, string>>
}

const chunkUnit = 256 * 1024

class Refusal extends Error {
  readonly status: number
  readonly reason: string
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

const problem = (status: number, reason: string, message: string): FakeReply => ({
  status,
  headers: { "content-type": "application/json; charset=UTF-8" },
  body: JSON.stringify({ error: { code: status, message, errors: [{ message, domain: "global", reason }] } }),
})

export const startFakeGcs = async (options: FakeGcsOptions): Promise<FakeGcs> => {
  const buckets = new Map(options.buckets.map((name) => [name, new Map<string, StoredObject>()]))
  const sessions = new Map<string, Session>()
  const tokens = new Map<string, number>()
  let given = 0
  let lastGeneration = 0n

  const newGeneration = () => {
    const now = BigInt(Math.floor(nowMillis())) * 1000n
    lastGeneration = now > lastGeneration ? now : lastGeneration + 1n
    return lastGeneration
  }

  const newToken = (): FakeReply => {
    given++
    const token = `ya29.${randomBytes(24).toString("base64url")}`
    const seconds = options.tokenSeconds ?? 3600
    tokens.set(token, nowMillis() + seconds * 1000)
    return json(200, { access_token: token, expires_in: seconds, token_type: "Bearer" })
  }

  const authorized = ({ headers }: FakeRequest) => {
    if (options.anonymous === true) return
    const token = /^Bearer (.+)$/.exec(headers["authorization"] ?? "")?.[1]
    if (token === undefined) throw new Refusal(401, "required", "Anonymous caller does not have storage access to the bucket.")
    if ((tokens.get(token) ?? 0) <= nowMillis()) throw new Refusal(401, "authError", "Invalid Credentials")
  }

  const objectsOf = (bucket: string) => {
    if (options.forbidden?.includes(bucket) === true)
      throw new Refusal(403, "forbidden", "the caller does not have storage.objects access to the Google Cloud Storage bucket.")
    const objects = buckets.get(bucket)
    if (objects === undefined) throw new Refusal(404, "notFound", "The specified bucket does not exist.")
    return objects
  }

  const checkCondition = (condition: string | null, current: StoredObject | undefined) => {
    if (condition === null) return
    if (!/^\d+$/.test(condition)) throw new Refusal(400, "invalid", `Invalid unsigned long value: '${condition}'`)
    if (BigInt(condition) !== (current?.generation ?? 0n))
      throw new Refusal(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
  }

  const store = (bucket: string, name: string, resource: Resource, condition: string | null, bytes: Buffer): StoredObject => {
    const objects = objectsOf(bucket)
    const md5 = createHash("md5").update(bytes).digest("base64")
    const crc32c = crc32cText(bytes)
    if (resource.md5Hash !== undefined && resource.md5Hash !== md5)
      throw new Refusal(400, "invalid", `Provided MD5 hash "${resource.md5Hash}" doesn't match calculated MD5 hash "${md5}".`)
    if (resource.crc32c !== undefined && resource.crc32c !== crc32c)
      throw new Refusal(400, "invalid", `Provided CRC32C "${resource.crc32c}" doesn't match calculated CRC32C "${crc32c}".`)
    checkCondition(condition, objects.get(name))
    const { contentType = "application/octet-stream", metadata } = resource
    const updated = DateTime.formatIso(DateTime.makeUnsafe(nowMillis()))
    const object = { name, bytes, generation: newGeneration(), contentType, metadata, md5, crc32c, updated }
    objects.set(name, object)
    return object
  }

  const resourceOf = (bucket: string, object: StoredObject) => ({
    kind: "storage#object",
    id: `${bucket}/${object.name}/${object.generation}`,
    name: object.name,
    bucket,
    generation: String(object.generation),
    metageneration: "1",
    contentType: object.contentType,
    storageClass: "STANDARD",
    size: String(object.bytes.byteLength),
    md5Hash: object.md5,
    crc32c: object.crc32c,
    etag: Buffer.from(String(object.generation)).toString("base64"),
    timeCreated: object.updated,
    updated: object.updated,
    ...(object.metadata === undefined ? {} : { metadata: object.metadata }),
  })

  const token = (request: FakeRequest): FakeReply => {
    const form = new URLSearchParams(request.body.toString())
    const account = options.serviceAccount
    const refused = (error: string) => json(400, { error, error_description: "the request was refused" })
    if (account === undefined || form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer")
      return refused("unsupported_grant_type")
    const [header = "", claims = "", signature = ""] = (form.get("assertion") ?? "").split(".")
    const isSigned = createVerify("RSA-SHA256").update(`${header}.${claims}`).verify(account.publicKey, signature, "base64url")
    if (!isSigned) return refused("invalid_grant")
    const { iss, aud, exp, iat, scope } = JSON.parse(Buffer.from(claims, "base64url").toString()) as Record<string, unknown>
    const now = nowMillis() / 1000
    const isValid =
      iss === account.email &&
      aud === `http://${request.headers["host"]}/token` &&
      typeof exp === "number" &&
      typeof iat === "number" &&
      exp > now &&
      exp - iat <= 3600 &&
      Math.abs(iat - now) < 300 &&
      typeof scope === "string" &&
      scope.includes("devstorage")
    return isValid ? newToken() : refused("invalid_grant")
  }

  const upload = (request: FakeRequest, bucket: string): FakeReply => {
    const { query } = request
    const condition = query.get("ifGenerationMatch")
    const type = query.get("uploadType")
    if (type === "media") {
      const name = nameOf(query, {})
      return finished(bucket, store(bucket, name, { contentType: request.headers["content-type"] ?? "" }, condition, request.body), query)
    }
    if (type === "multipart") {
      const { resource, bytes } = multipartOf(request)
      return finished(bucket, store(bucket, nameOf(query, resource), resource, condition, bytes), query)
    }
    if (type !== "resumable") throw new Refusal(400, "invalid", "uploadType")
    const resource = request.body.length === 0 ? {} : (JSON.parse(request.body.toString()) as Resource)
    const name = nameOf(query, resource)
    checkCondition(condition, objectsOf(bucket).get(name))
    const id = randomBytes(24).toString("base64url")
    sessions.set(id, { bucket, name, resource, condition, pieces: [], kept: 0, finished: undefined })
    const location = `http://${request.headers["host"]}/upload/storage/v1/b/${bucket}/o?uploadType=resumable&name=${encodeURIComponent(name)}&upload_id=${id}&fields=${encodeURIComponent(query.get("fields") ?? "")}`
    return { status: 200, headers: { location, "x-guploader-uploadid": id } }
  }

  const finished = (bucket: string, object: StoredObject, query: URLSearchParams) =>
    json(200, selected(resourceOf(bucket, object), query.get("fields")))

  const resume = (request: FakeRequest, id: string, fault: string | undefined): FakeReply => {
    const session = sessions.get(id)
    if (session === undefined) throw new Refusal(404, "notFound", "No such upload.")
    if (session.finished !== undefined) return finished(session.bucket, session.finished, request.query)
    const state = (): FakeReply => ({ status: 308, headers: session.kept === 0 ? {} : { range: `bytes=0-${session.kept - 1}` } })
    const range = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(
      request.headers["content-range"] ?? `bytes 0-${request.body.length - 1}/${request.body.length}`,
    )
    if (range === null) throw new Refusal(400, "badRequest", "Failed to parse Content-Range header.")
    const [, first, last, total = "*"] = range
    if (first !== undefined && last !== undefined) {
      const [from, end] = [Number(first), Number(last) + 1]
      if (end - from !== request.body.length) throw new Refusal(400, "badRequest", "Content-Range does not match the length of the body.")
      if (total === "*" && request.body.length % chunkUnit !== 0)
        throw new Refusal(400, "badRequest", "Chunks that are not the last one must be multiples of 256 KiB.")
      if (from > session.kept) throw new Refusal(400, "badRequest", "Bytes are missing before this chunk.")
      // Bytes that the session already has are ignored.
      const fresh = request.body.subarray(Math.min(session.kept - from, request.body.length))
      const taken = fault === "keep a part" ? fresh.subarray(0, Math.floor(fresh.length / 2 / chunkUnit) * chunkUnit) : fresh
      session.pieces.push(taken)
      session.kept += taken.length
    }
    if (total === "*" || session.kept < Number(total)) return state()
    if (session.kept > Number(total)) throw new Refusal(400, "badRequest", "More bytes than the total.")
    const bytes = Buffer.concat(session.pieces)
    session.pieces = []
    session.finished = store(session.bucket, session.name, session.resource, session.condition, bytes)
    return finished(session.bucket, session.finished, request.query)
  }

  const list = (bucket: string, query: URLSearchParams): FakeReply => {
    const prefix = query.get("prefix") ?? ""
    const delimiter = query.get("delimiter") ?? ""
    const limit = Math.min(Number(query.get("maxResults") ?? 1000), options.pageSize ?? 1000)
    const after = query.get("pageToken") === null ? "" : Buffer.from(query.get("pageToken") ?? "", "base64url").toString()
    const names = [...objectsOf(bucket).keys()]
      .filter((name) => name.startsWith(prefix))
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    const items: Array<ReturnType<typeof resourceOf>> = []
    const prefixes = new Set<string>()
    let last = ""
    let next: string | undefined
    for (const name of names.filter((one) => after === "" || Buffer.compare(Buffer.from(one), Buffer.from(after)) > 0)) {
      if (items.length + prefixes.size >= limit) {
        next = Buffer.from(last).toString("base64url")
        break
      }
      last = name
      const at = delimiter === "" ? -1 : name.indexOf(delimiter, prefix.length)
      const object = objectsOf(bucket).get(name)
      if (at !== -1) prefixes.add(name.slice(0, at + delimiter.length))
      else if (object !== undefined) items.push(resourceOf(bucket, object))
    }
    const answer = {
      kind: "storage#objects",
      ...(items.length === 0 ? {} : { items }),
      ...(prefixes.size === 0 ? {} : { prefixes: [...prefixes] }),
      ...(next === undefined ? {} : { nextPageToken: next }),
    }
    return json(200, selected(answer, query.get("fields")))
  }

  const media = (request: FakeRequest, object: StoredObject): FakeReply => {
    const all = {
      "content-type": object.contentType,
      "x-goog-generation": String(object.generation),
      "x-goog-metageneration": "1",
      "x-goog-hash": `crc32c=${object.crc32c},md5=${object.md5}`,
      "x-goog-stored-content-encoding": "identity",
      "x-goog-stored-content-length": String(object.bytes.length),
      "accept-ranges": "bytes",
    }
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers["range"] ?? "")
    if (range === null) return { status: 200, headers: all, body: object.bytes }
    const from = Number(range[1])
    const end = range[2] === "" ? object.bytes.length : Math.min(Number(range[2]) + 1, object.bytes.length)
    if (from >= object.bytes.length)
      return { status: 416, headers: { "content-range": `bytes */${object.bytes.length}` }, body: "Request range not satisfiable" }
    return {
      status: 206,
      headers: { ...all, "content-range": `bytes ${from}-${end - 1}/${object.bytes.length}` },
      body: object.bytes.subarray(from, end),
    }
  }

  const one = (request: FakeRequest, bucket: string, name: string): FakeReply => {
    const { query, method } = request
    const object = objectsOf(bucket).get(name)
    const generation = query.get("generation")
    const isThere = object !== undefined && (generation === null || BigInt(generation) === object.generation)
    const isMedia = query.get("alt") === "media"
    if (!isThere) {
      const message = `No such object: ${bucket}/${name}`
      return isMedia
        ? { status: 404, headers: { "content-type": "text/html; charset=UTF-8" }, body: message }
        : problem(404, "notFound", message)
    }
    checkCondition(query.get("ifGenerationMatch"), object)
    if (method === "GET") return isMedia ? media(request, object) : finished(bucket, object, query)
    if (method !== "DELETE") throw new Refusal(405, "methodNotAllowed", "Method not allowed")
    objectsOf(bucket).delete(name)
    return { status: 204 }
  }

  const answer = (request: FakeRequest, fault: string | undefined): FakeReply => {
    const { path, method, query } = request
    if (path === "/token" && method === "POST") return token(request)
    if (path === "/computeMetadata/v1/instance/service-accounts/default/token")
      return request.headers["metadata-flavor"] === "Google" ? newToken() : { status: 403, body: "Missing Metadata-Flavor:Google header." }
    try {
      const uploading = /^(?:\/resumable)?\/upload\/storage\/v1\/b\/([^/]+)\/o$/.exec(path)
      const id = query.get("upload_id")
      if (uploading !== null && id !== null) {
        // The address of a session authorizes its use, so no token is required.
        if (method === "PUT") return resume(request, id, fault)
        return { status: sessions.delete(id) ? 499 : 404 }
      }
      authorized(request)
      if (uploading !== null && method === "POST") return upload(request, decodeURIComponent(uploading[1] ?? ""))
      const named = /^(?:\/download)?\/storage\/v1\/b\/([^/]+)\/o\/([^/]+)$/.exec(path)
      if (named !== null) return one(request, decodeURIComponent(named[1] ?? ""), decodeURIComponent(named[2] ?? ""))
      const listing = /^\/storage\/v1\/b\/([^/]+)\/o$/.exec(path)
      if (listing !== null && method === "GET") return list(decodeURIComponent(listing[1] ?? ""), query)
      const bucket = /^\/storage\/v1\/b\/([^/]+)$/.exec(path)
      if (bucket !== null && method === "GET") {
        objectsOf(bucket[1] ?? "")
        return json(200, { kind: "storage#bucket", id: bucket[1], name: bucket[1], location: "EU" })
      }
      throw new Refusal(404, "notFound", `Not Found: ${method} ${path}`)
    } catch (error) {
      if (error instanceof Refusal) return problem(error.status, error.reason, error.message)
      throw error
    }
  }

  const server = await startServer(
    answer,
    (status) => problem(status, status === 429 ? "rateLimitExceeded" : "backendError", "try again later"),
    options.port,
  )
  return Object.assign(server, {
    endTokens: () => tokens.clear(),
    tokensGiven: () => given,
    openSessions: () => [...sessions.values()].filter((session) => session.finished === undefined).length,
    bytesOf: (bucket: string, name: string) => buckets.get(bucket)?.get(name)?.bytes,
  })
}

const json = (status: number, value: unknown): FakeReply => ({
  status,
  headers: { "content-type": "application/json; charset=UTF-8" },
  body: JSON.stringify(value),
})

const nameOf = (query: URLSearchParams, resource: Resource): string => {
  const name = query.get("name") ?? resource.name ?? ""
  if (name === "") throw new Refusal(400, "required", "Required parameter: name")
  if (Buffer.byteLength(name) > 1024) throw new Refusal(400, "invalid", "The maximum object name length is 1024 bytes.")
  if (/[\r\n]/.test(name)) throw new Refusal(400, "invalid", "Object names cannot contain Carriage Return or Line Feed characters.")
  return name
}

const multipartOf = ({ headers, body }: FakeRequest): { readonly resource: Resource; readonly bytes: Buffer } => {
  const boundary = /boundary="?([^";]+)"?/.exec(headers["content-type"] ?? "")?.[1]
  if (boundary === undefined) throw new Refusal(400, "badContent", "Missing boundary.")
  const marker = Buffer.from(`--${boundary}`)
  const first = body.indexOf(marker)
  const second = body.indexOf(marker, first + marker.length)
  const end = body.lastIndexOf(Buffer.from(`\r\n--${boundary}--`))
  if (first === -1 || second <= first || end < second) throw new Refusal(400, "badContent", "Missing end boundary in multipart body.")
  const contentOf = (part: Buffer) => part.subarray(part.indexOf("\r\n\r\n") + 4)
  const resource = JSON.parse(contentOf(body.subarray(first, second)).toString()) as Resource
  return { resource, bytes: Buffer.from(contentOf(body.subarray(second, end))) }
}

/** Only the requested fields, as in `a,b` and `a,items(b,c)`. */
const selected = (value: object, fields: string | null): object => {
  if (fields === null || fields === "") return value
  const wanted = new Map<string, string | null>()
  for (const [, name = "", inner] of fields.matchAll(/([A-Za-z0-9_]+)(?:\(([^)]*)\))?/g)) wanted.set(name, inner ?? null)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => wanted.has(name))
      .map(([name, one]) => {
        const inner = wanted.get(name) ?? null
        return [name, inner === null || !Array.isArray(one) ? one : one.map((item: object) => selected(item, inner))]
      }),
  )
}

/** Slicing-by-8 tables: the CRC of each byte, and of each byte followed by one to seven zero bytes. */
const crcTables = (() => {
  const first = Int32Array.from({ length: 256 }, (_, byte) => {
    let value = byte
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
    return value
  })
  const tables = [first]
  while (tables.length < 8) tables.push(tables.at(-1)?.map((value) => (value >>> 8) ^ (first[value & 0xff] ?? 0)) ?? first)
  return tables
})()

const crc32cText = (bytes: Buffer): string => {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = crcTables as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ]
  const at = (table: Int32Array, value: number) => table[value & 0xff] as number
  let value = -1
  let index = 0
  for (const end = bytes.length - 7; index < end; index += 8) {
    const low = value ^ bytes.readInt32LE(index)
    const high = bytes.readInt32LE(index + 4)
    value =
      at(t7, low) ^
      at(t6, low >>> 8) ^
      at(t5, low >>> 16) ^
      at(t4, low >>> 24) ^
      at(t3, high) ^
      at(t2, high >>> 8) ^
      at(t1, high >>> 16) ^
      at(t0, high >>> 24)
  }
  for (; index < bytes.length; index++) value = at(t0, value ^ (bytes[index] as number)) ^ (value >>> 8)
  const result = Buffer.alloc(4)
  result.writeInt32BE(~value)
  return result.toString("base64")
}
