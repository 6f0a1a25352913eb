/** @aws-sdk/client-s3 against the fake of S3. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { after, before, test } from "node:test"
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3"
import { inTurn, startFakeS3 } from "../../packages/blobs/testing/cloud/index.ts"

const keys = { accessKeyId: "AKIDOFFICIAL", secretAccessKey: "secret/of+the=official" }
const Bucket = "official"

/** @type {import("../../packages/blobs/testing/cloud/index.ts").FakeS3} */
let fake
/** @type {S3Client} */
let client

const clientWith = (credentials = keys) =>
  new S3Client({
    endpoint: fake.url,
    region: "eu-central-1",
    forcePathStyle: true,
    credentials,
    requestChecksumCalculation: "WHEN_REQUIRED",
    maxAttempts: 4,
  })

before(async () => {
  fake = await startFakeS3({ buckets: [Bucket], ...keys, region: "eu-central-1", pageSize: 3 })
  client = clientWith()
})

after(() => fake.close())

test("puts and gets, with metadata, ranges and special characters in the name", async () => {
  const Key = "folder/a b+ø!'()*~&=?#.txt"
  const { ETag } = await client.send(new PutObjectCommand({ Bucket, Key, Body: "Ålesund 東京", Metadata: { key: "value" } }))
  const got = await client.send(new GetObjectCommand({ Bucket, Key }))
  assert.equal(await got.Body?.transformToString(), "Ålesund 東京")
  assert.deepEqual([got.ETag, got.Metadata, got.ContentLength], [ETag, { key: "value" }, 15])
  const part = await client.send(new GetObjectCommand({ Bucket, Key, Range: "bytes=9-" }))
  assert.equal(await part.Body?.transformToString(), "東京")
})

test("puts with a checksum, which the server verifies and returns", async () => {
  const Key = "checked.txt"
  await client.send(new PutObjectCommand({ Bucket, Key, Body: "content", ChecksumAlgorithm: "CRC32" }))
  const got = await client.send(new GetObjectCommand({ Bucket, Key, ChecksumMode: "ENABLED" }))
  assert.equal(await got.Body?.transformToString(), "content")
  await assert.rejects(client.send(new PutObjectCommand({ Bucket, Key, Body: "content", ChecksumCRC32: "AAAAAA==" })), {
    name: "BadDigest",
  })
  await assert.rejects(client.send(new PutObjectCommand({ Bucket, Key, Body: "content", ContentMD5: "AAAAAAAAAAAAAAAAAAAAAA==" })), {
    name: "BadDigest",
  })
})

test("is refused where a condition does not hold", async () => {
  const Key = "once.txt"
  const { ETag } = await client.send(new PutObjectCommand({ Bucket, Key, Body: "first", IfNoneMatch: "*" }))
  await assert.rejects(client.send(new PutObjectCommand({ Bucket, Key, Body: "second", IfNoneMatch: "*" })), { name: "PreconditionFailed" })
  await client.send(new PutObjectCommand({ Bucket, Key, Body: "second", IfMatch: ETag }))
  await assert.rejects(client.send(new PutObjectCommand({ Bucket, Key, Body: "third", IfMatch: ETag })), { name: "PreconditionFailed" })
  await assert.rejects(client.send(new PutObjectCommand({ Bucket, Key: "missing", Body: "x", IfMatch: ETag })), { name: "NoSuchKey" })
  await assert.rejects(client.send(new DeleteObjectCommand({ Bucket, Key, IfMatch: ETag })), { name: "PreconditionFailed" })
  await client.send(new DeleteObjectCommand({ Bucket, Key }))
  await assert.rejects(client.send(new HeadObjectCommand({ Bucket, Key })), { name: "NotFound" })
  await assert.rejects(client.send(new GetObjectCommand({ Bucket, Key })), { name: "NoSuchKey" })
  await assert.rejects(client.send(new GetObjectCommand({ Bucket: "no-such-bucket", Key })), { name: "NoSuchBucket" })
})

test("uploads in parts, of which all but the last have a minimum size", async () => {
  const Key = "large.bin"
  const bytes = randomBytes(6 * 1024 * 1024)
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, Metadata: { key: "value" } }))
  const cut = 5 * 1024 * 1024
  const send = (/** @type {Buffer} */ Body, /** @type {number} */ PartNumber, id = UploadId) =>
    client.send(new UploadPartCommand({ Bucket, Key, UploadId: id, PartNumber, Body })).then(({ ETag }) => ({ ETag, PartNumber }))
  const Parts = [await send(bytes.subarray(0, cut), 1), await send(bytes.subarray(cut), 2)]
  const complete = { Bucket, Key, UploadId, MultipartUpload: { Parts }, IfNoneMatch: "*" }
  const { ETag } = await client.send(new CompleteMultipartUploadCommand(complete))
  assert.match(ETag ?? "", /-2"$/)
  const got = await client.send(new GetObjectCommand({ Bucket, Key }))
  assert.ok(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(bytes))
  await assert.rejects(client.send(new CompleteMultipartUploadCommand(complete)), { name: "NoSuchUpload" })

  const other = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }))
  const small = [await send(bytes.subarray(0, 10), 1, other.UploadId), await send(bytes.subarray(10, 20), 2, other.UploadId)]
  await assert.rejects(
    client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId: other.UploadId, MultipartUpload: { Parts: small } })),
    { name: "EntityTooSmall" },
  )
  await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId: other.UploadId }))
  assert.equal(fake.openUploads(), 0)
})

test("lists all pages in order, and folders by a delimiter", async () => {
  for (const Key of ["list/z", "list/a/1", "list/a/2", "list/b c", "list/ø", "list/😀"])
    await client.send(new PutObjectCommand({ Bucket, Key, Body: "x" }))
  /** @type {Array<string | undefined>} */
  const found = []
  /** @type {string | undefined} */
  let token
  do {
    const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: "list/", ContinuationToken: token }))
    found.push(...(page.Contents ?? []).map(({ Key }) => Key))
    token = page.NextContinuationToken
  } while (token !== undefined)
  assert.deepEqual(found, ["list/a/1", "list/a/2", "list/b c", "list/z", "list/ø", "list/😀"])
  const folders = await client.send(new ListObjectsV2Command({ Bucket, Prefix: "list/", Delimiter: "/", MaxKeys: 2 }))
  assert.deepEqual(folders.CommonPrefixes, [{ Prefix: "list/a/" }])
})

test("is refused with wrong keys, and retries throttled requests", async () => {
  await assert.rejects(clientWith({ ...keys, secretAccessKey: "other" }).send(new ListObjectsV2Command({ Bucket })), {
    name: "SignatureDoesNotMatch",
  })
  await assert.rejects(clientWith({ ...keys, accessKeyId: "other" }).send(new ListObjectsV2Command({ Bucket })), {
    name: "InvalidAccessKeyId",
  })
  fake.plan = inTurn({ status: 503 }, "reset before")
  await client.send(new PutObjectCommand({ Bucket, Key: "throttled", Body: "x" }))
  assert.equal(fake.bytesOf(Bucket, "throttled")?.toString(), "x")
})
