/**
 * Amazon S3 on loopback, with path-style addresses: Signature Version 4, content hashes, conditional writes and removals, multipart
 * uploads, checksums, ranges and paged listings. It rejects the requests that the real service rejects.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { crc32 } from "node:zlib"
import * as DateTime from "effect/DateTime"
import { type FakeReply, type FakeRequest, type FakeServer, nowMillis, startServer } from "./FakeServer.ts"

export interface FakeS3Options {
  readonly buckets: ReadonlyArray<string>
  /** Existing buckets that the key may not use. */
  readonly forbidden?: ReadonlyArray<string>
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** If set, requests must carry it. */
  readonly sessionToken?: string
  readonly region?: string
  /** Maximum number of objects per listing page, even if the client requests more. Default: 1,000. */
  readonly pageSize?: number
  readonly port?: number
}

export interface FakeS3 extends FakeServer {
  readonly openUploads: () => number
  /** The content of an object. */
  readonly bytesOf: (bucket: string, key: string) => Buffer | undefined
}

interface StoredObject {
  readonly bytes: Buffer
  readonly etag: string
  readonly headers: Readonly<Record<string, string>>
  readonly modified: number
}

interface PartUpload {
  readonly bucket: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly isFullChecksum: boolean
  readonly parts: Map<number, { readonly bytes: Buffer; readonly etag: string }>
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

const smallestPart = 5 * 1024 * 1024

export const startFakeS3 = async (options: FakeS3Options): Promise<FakeS3> => {
  const { region = "us-east-1" } = options
  const buckets = new Map(options.buckets.map((name) => [name, new Map<string, StoredObject>()]))
  const uploads = new Map<string, PartUpload>()

  const objectsOf = (bucket: string) => {
    if (options.forbidden?.includes(bucket) === true) throw new Refusal(403, "AccessDenied", "Access Denied")
    const objects = buckets.get(bucket)
    if (objects === undefined) throw new Refusal(404, "NoSuchBucket", "The specified bucket does not exist")
    return objects
  }

  const checkWrite = ({ headers }: FakeRequest, current: StoredObject | undefined) => {
    const [match, noneMatch] = [headers["if-match"], headers["if-none-match"]]
    if (noneMatch !== undefined && noneMatch !== "*")
      throw new Refusal(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
    if (noneMatch === "*" && current !== undefined) throw preconditionFailed()
    if (match === undefined) return
    if (current === undefined) throw new Refusal(404, "NoSuchKey", "The specified key does not exist.")
    if (match.replaceAll('"', "") !== current.etag) throw preconditionFailed()
  }

  const put = (request: FakeRequest, bucket: string, key: string): FakeReply => {
    const objects = objectsOf(bucket)
    checkDigests(request)
    checkWrite(request, objects.get(key))
    const etag = md5Of(request.body)
    objects.set(key, { bytes: request.body, etag, headers: keptHeaders(request), modified: nowMillis() })
    return { status: 200, headers: { etag: `"${etag}"` } }
  }

  const read = (request: FakeRequest, bucket: string, key: string): FakeReply => {
    const object = objectsOf(bucket).get(key)
    if (object === undefined) throw new Refusal(404, "NoSuchKey", "The specified key does not exist.")
    const { headers } = request
    if (headers["if-match"] !== undefined && headers["if-match"].replaceAll('"', "") !== object.etag) throw preconditionFailed()
    const { "x-amz-checksum-crc32": checksum, ...kept } = object.headers
    const common = {
      ...kept,
      ...(checksum !== undefined && headers["x-amz-checksum-mode"] === "ENABLED"
        ? { "x-amz-checksum-crc32": checksum, "x-amz-checksum-type": "FULL_OBJECT" }
        : {}),
      etag: `"${object.etag}"`,
      "last-modified": DateTime.toDate(DateTime.makeUnsafe(object.modified)).toUTCString(),
      "accept-ranges": "bytes",
    }
    const { length } = object.bytes
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers["range"] ?? "")
    if (range === null) return { status: 200, headers: { ...common, "content-length": String(length) }, body: object.bytes }
    const from = Number(range[1])
    const end = range[2] === "" ? length : Math.min(Number(range[2]) + 1, length)
    if (from >= length) throw new Refusal(416, "InvalidRange", "The requested range is not satisfiable")
    const { "x-amz-checksum-crc32": _, ...ofPart } = common as Record<string, string>
    return {
      status: 206,
      headers: { ...ofPart, "content-range": `bytes ${from}-${end - 1}/${length}` },
      body: object.bytes.subarray(from, end),
    }
  }

  const remove = (request: FakeRequest, bucket: string, key: string): FakeReply => {
    const objects = objectsOf(bucket)
    checkWrite(request, objects.get(key))
    objects.delete(key)
    return { status: 204 }
  }

  const list = (bucket: string, query: URLSearchParams): FakeReply => {
    const objects = objectsOf(bucket)
    if (query.get("list-type") !== "2") throw new Refusal(501, "NotImplemented", "Only ListObjectsV2 is here.")
    const prefix = query.get("prefix") ?? ""
    const delimiter = query.get("delimiter") ?? ""
    const limit = Math.min(Number(query.get("max-keys") ?? 1000), options.pageSize ?? 1000)
    const token = query.get("continuation-token")
    const after = token === null ? (query.get("start-after") ?? "") : Buffer.from(token, "base64").toString()
    const shown = (text: string) => (query.get("encoding-type") === "url" ? formEncoded(text) : xml(text))
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted(byBytes)
    const contents: Array<string> = []
    const prefixes = new Set<string>()
    let last = ""
    let next: string | undefined
    for (const key of keys.filter((one) => after === "" || byBytes(one, after) > 0)) {
      if (contents.length + prefixes.size >= limit) {
        next = Buffer.from(last).toString("base64")
        break
      }
      last = key
      const at = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length)
      const object = objects.get(key)
      if (at !== -1) prefixes.add(key.slice(0, at + delimiter.length))
      else if (object !== undefined)
        contents.push(
          `<Contents><Key>${shown(key)}</Key><LastModified>${DateTime.formatIso(DateTime.makeUnsafe(object.modified))}</LastModified><ETag>&quot;${object.etag}&quot;</ETag><Size>${object.bytes.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
        )
    }
    const common = [...prefixes].map((one) => `<CommonPrefixes><Prefix>${shown(one)}</Prefix></CommonPrefixes>`)
    return xmlReply(
      200,
      `<ListBucketResult xmlns="${namespace}"><Name>${bucket}</Name><Prefix>${shown(prefix)}</Prefix><KeyCount>${contents.length + prefixes.size}</KeyCount><MaxKeys>${limit}</MaxKeys>${query.get("encoding-type") === "url" ? "<EncodingType>url</EncodingType>" : ""}<IsTruncated>${next !== undefined}</IsTruncated>${next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`}${contents.join("")}${common.join("")}</ListBucketResult>`,
    )
  }

  const begin = (request: FakeRequest, bucket: string, key: string): FakeReply => {
    objectsOf(bucket)
    const id = randomBytes(24).toString("base64url")
    const isFullChecksum = request.headers["x-amz-checksum-type"] === "FULL_OBJECT"
    uploads.set(id, { bucket, key, headers: keptHeaders(request), isFullChecksum, parts: new Map() })
    return xmlReply(
      200,
      `<InitiateMultipartUploadResult xmlns="${namespace}"><Bucket>${bucket}</Bucket><Key>${xml(key)}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    )
  }

  const uploadOf = (bucket: string, key: string, id: string): PartUpload => {
    const upload = uploads.get(id)
    if (upload === undefined || upload.bucket !== bucket || upload.key !== key)
      throw new Refusal(
        404,
        "NoSuchUpload",
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
      )
    return upload
  }

  const putPart = (request: FakeRequest, upload: PartUpload): FakeReply => {
    const number = Number(request.query.get("partNumber"))
    if (!Number.isInteger(number) || number < 1 || number > 10_000)
      throw new Refusal(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive")
    checkDigests(request)
    const etag = md5Of(request.body)
    upload.parts.set(number, { bytes: request.body, etag })
    return { status: 200, headers: { etag: `"${etag}"` } }
  }

  const complete = (request: FakeRequest, upload: PartUpload, id: string, fault: string | undefined): FakeReply => {
    if (fault === "error in ok") return xmlReply(200, errorXml("InternalError", "We encountered an internal error. Please try again."))
    const listed = [...request.body.toString().matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = ""]) => ({
      number: Number(/<PartNumber>(\d+)<\/PartNumber>/.exec(part)?.[1]),
      etag: (/<ETag>(.*?)<\/ETag>/s.exec(part)?.[1] ?? "").replaceAll(/&quot;|&#34;|"/g, ""),
    }))
    if (listed.length === 0)
      throw new Refusal(400, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
    const parts = listed.map(({ number, etag }, index) => {
      if (index > 0 && number <= (listed[index - 1]?.number ?? 0))
        throw new Refusal(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
      const part = upload.parts.get(number)
      if (part === undefined || part.etag !== etag)
        throw new Refusal(400, "InvalidPart", "One or more of the specified parts could not be found.")
      if (index < listed.length - 1 && part.bytes.length < smallestPart)
        throw new Refusal(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
      return part
    })
    const bytes = Buffer.concat(parts.map((part) => part.bytes))
    const size = request.headers["x-amz-mp-object-size"]
    if (size !== undefined && Number(size) !== bytes.length)
      throw new Refusal(400, "InvalidRequest", "The provided object size does not match.")
    const checksum = request.headers["x-amz-checksum-crc32"]
    if (upload.isFullChecksum && checksum !== undefined && checksum !== crcText(bytes))
      throw new Refusal(400, "BadDigest", "The CRC32 you specified did not match the calculated checksum.")
    const objects = objectsOf(upload.bucket)
    checkWrite(request, objects.get(upload.key))
    const etag = `${createHash("md5")
      .update(Buffer.concat(parts.map((part) => Buffer.from(part.etag, "hex"))))
      .digest("hex")}-${parts.length}`
    const headers = upload.isFullChecksum ? { ...upload.headers, "x-amz-checksum-crc32": crcText(bytes) } : upload.headers
    objects.set(upload.key, { bytes, etag, headers, modified: nowMillis() })
    uploads.delete(id)
    return xmlReply(
      200,
      `<CompleteMultipartUploadResult xmlns="${namespace}"><Bucket>${upload.bucket}</Bucket><Key>${xml(upload.key)}</Key><ETag>&quot;${etag}&quot;</ETag></CompleteMultipartUploadResult>`,
    )
  }

  const answer = (request: FakeRequest, fault: string | undefined): FakeReply => {
    try {
      checkSignature(request, { ...options, region })
      const { method, query } = request
      const [, bucket = "", ...rest] = request.path.split("/").map(decodeURIComponent)
      const key = rest.join("/")
      if (key === "") {
        if (method === "GET") return list(bucket, query)
        if (method === "HEAD") {
          objectsOf(bucket)
          return { status: 200 }
        }
        throw new Refusal(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
      }
      if (fault === "conflict" && (method === "PUT" || method === "DELETE"))
        throw new Refusal(
          409,
          "ConditionalRequestConflict",
          "The conditional request cannot succeed due to a conflicting operation against this resource.",
        )
      const id = query.get("uploadId")
      if (method === "POST" && query.has("uploads")) return begin(request, bucket, key)
      if (id !== null) {
        const upload = uploadOf(bucket, key, id)
        if (method === "PUT") return putPart(request, upload)
        if (method === "POST") return complete(request, upload, id, fault)
        if (method === "DELETE") {
          uploads.delete(id)
          return { status: 204 }
        }
      }
      if (method === "PUT") return put(request, bucket, key)
      if (method === "GET" || method === "HEAD") return read(request, bucket, key)
      if (method === "DELETE") return remove(request, bucket, key)
      throw new Refusal(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
    } catch (error) {
      if (error instanceof Refusal) return xmlReply(error.status, errorXml(error.code, error.message))
      throw error
    }
  }

  const server = await startServer(
    answer,
    (status) =>
      xmlReply(status, status === 503 ? errorXml("SlowDown", "Please reduce your request rate.") : errorXml("InternalError", "try again")),
    options.port,
  )
  return Object.assign(server, {
    openUploads: () => uploads.size,
    bytesOf: (bucket: string, key: string) => buckets.get(bucket)?.get(key)?.bytes,
  })
}

const preconditionFailed = () => new Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

const xml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const formEncoded = (text: string) => encodeURIComponent(text).replaceAll("%20", "+").replaceAll("%2F", "/")

const errorXml = (code: string, message: string) =>
  `<Error><Code>${code}</Code><Message>${xml(message)}</Message><RequestId>1</RequestId></Error>`

const xmlReply = (status: number, text: string): FakeReply => ({
  status,
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n${text}`,
})

const md5Of = (bytes: Buffer) => createHash("md5").update(bytes).digest("hex")

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

const crcText = (bytes: Buffer) => {
  const result = Buffer.alloc(4)
  result.writeUInt32BE(crc32(bytes))
  return result.toString("base64")
}

/** The headers that a read returns with the object. */
const keptHeaders = ({ headers }: FakeRequest): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] =>
        (entry[0].startsWith("x-amz-meta-") || ["content-type", "x-amz-checksum-crc32"].includes(entry[0])) && entry[1] !== undefined,
    ),
  )

const checkDigests = ({ headers, body }: FakeRequest) => {
  const md5 = headers["content-md5"]
  if (md5 !== undefined && md5 !== createHash("md5").update(body).digest("base64"))
    throw new Refusal(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
  const crc = headers["x-amz-checksum-crc32"]
  if (crc !== undefined && crc !== crcText(body))
    throw new Refusal(400, "BadDigest", "The CRC32 you specified did not match the calculated checksum.")
}

interface Signer {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly region: string
}

/** Recomputes the Signature Version 4 from the request as received. */
const checkSignature = (request: FakeRequest, signer: Signer) => {
  const { headers } = request
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers["authorization"] ?? "",
    )
  if (parts === null) throw new Refusal(403, "AccessDenied", "Access Denied")
  const [, id = "", day = "", region = "", names = "", signature = ""] = parts
  if (id !== signer.accessKeyId)
    throw new Refusal(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
  if (region !== signer.region)
    throw new Refusal(
      400,
      "AuthorizationHeaderMalformed",
      `The authorization header is malformed; the region '${region}' is wrong; expecting '${signer.region}'`,
    )
  if (signer.sessionToken !== undefined && headers["x-amz-security-token"] !== signer.sessionToken)
    throw new Refusal(400, "ExpiredToken", "The provided token has expired.")
  const time = headers["x-amz-date"] ?? ""
  const sentAt = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
  if (!(Math.abs(nowMillis() - sentAt) < 15 * 60_000) || !time.startsWith(day))
    throw new Refusal(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
  const contentHash = headers["x-amz-content-sha256"] ?? ""
  const isHashed = /^[0-9a-f]{64}$/.test(contentHash)
  if (!isHashed && contentHash !== "UNSIGNED-PAYLOAD") throw new Refusal(501, "NotImplemented", `x-amz-content-sha256: ${contentHash}`)
  const signedNames = names.split(";")
  const mustBeSigned = Object.keys(headers).filter((name) => name === "host" || name.startsWith("x-amz-"))
  if (mustBeSigned.some((name) => !signedNames.includes(name)))
    throw new Refusal(403, "AccessDenied", "There were headers present in the request which were not signed")
  const at = request.target.indexOf("?")
  const query = (at === -1 ? "" : request.target.slice(at + 1))
    .split("&")
    .filter((one) => one !== "")
    .map((one) => {
      const [name = "", ...value] = one.split("=")
      return [reencoded(name), reencoded(value.join("="))] as const
    })
    .toSorted(([a, x], [b, y]) => byBytes(a, b) || byBytes(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join("&")
  const canonicalHeaders = signedNames.map((name) => `${name}:${(headers[name] ?? "").trim().replaceAll(/\s+/g, " ")}\n`).join("")
  const path = request.path.split("/").map(reencoded).join("/")
  const canonical = `${request.method}\n${path}\n${query}\n${canonicalHeaders}\n${names}\n${contentHash}`
  const hash = createHash("sha256").update(canonical).digest("hex")
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${day}/${region}/s3/aws4_request\n${hash}`
  const step = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()
  const key = step(step(step(step(`AWS4${signer.secretAccessKey}`, day), region), "s3"), "aws4_request")
  if (!timingSafeEqual(step(key, toSign), Buffer.from(signature, "hex")))
    throw new Refusal(
      403,
      "SignatureDoesNotMatch",
      "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
    )
  if (isHashed && createHash("sha256").update(request.body).digest("hex") !== contentHash)
    throw new Refusal(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
}

const reencoded = (text: string): string =>
  encodeURIComponent(decodeURIComponent(text)).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
