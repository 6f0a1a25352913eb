/** AWS Signature Version 4 for S3: the headers authenticate the sender of a request and the integrity of its body. */
import { createHash, createHmac } from "node:crypto"
import * as DateTime from "effect/DateTime"
import * as Redacted from "effect/Redacted"
import type { AwsKeys } from "./AwsCredentials.ts"

export interface UnsignedRequest {
  readonly method: string
  /** Path and query are percent-encoded according to RFC 3986. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
}

/** Returns the headers to add to a request. All of its headers are signed. */
export type Signer = (request: UnsignedRequest, keys: AwsKeys, nowMillis: number) => Readonly<Record<string, string>>

/** The signing key is derived from the secret, the day and the region, once for all requests of a day. */
export const signerFor = (region: string): Signer => {
  let last: { readonly secret: string; readonly day: string; readonly key: Buffer } | undefined
  const keyOf = (secret: string, day: string): Buffer => {
    if (last === undefined || last.secret !== secret || last.day !== day)
      last = { secret, day, key: [region, "s3", "aws4_request"].reduce(hmac, hmac(`AWS4${secret}`, day)) }
    return last.key
  }
  return (request, keys, nowMillis) => sign(request, keys, region, nowMillis, keyOf)
}

const sign = (
  request: UnsignedRequest,
  keys: AwsKeys,
  region: string,
  nowMillis: number,
  keyOf: (secret: string, day: string) => Buffer,
): Readonly<Record<string, string>> => {
  const url = new URL(request.url)
  const time = DateTime.formatIso(DateTime.makeUnsafe(nowMillis)).replace(/[-:]|\.\d{3}/g, "")
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const contentHash = hashOf(request.body ?? "")
  const added = {
    "x-amz-date": time,
    "x-amz-content-sha256": contentHash,
    ...(keys.sessionToken === undefined ? {} : { "x-amz-security-token": Redacted.value(keys.sessionToken) }),
  }
  const headers = Object.entries({ ...request.headers, ...added, host: url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ {2,}/g, " ")] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const names = headers.map(([name]) => name).join(";")
  const canonical = [
    request.method,
    url.pathname,
    canonicalQuery(url.search),
    ...headers.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    contentHash,
  ].join("\n")
  const toSign = ["AWS4-HMAC-SHA256", time, scope, hashOf(canonical)].join("\n")
  const signature = hmac(keyOf(Redacted.value(keys.secretAccessKey), time.slice(0, 8)), toSign).toString("hex")
  return {
    ...added,
    authorization: `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}

/** Percent-encodes every character but letters, digits and `-._~`. */
export const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const canonicalQuery = (search: string): string =>
  search
    .slice(1)
    .split("&")
    .filter((part) => part !== "")
    .map((part) => (part.includes("=") ? part : `${part}=`))
    .toSorted()
    .join("&")

const hashOf = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex")

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()
