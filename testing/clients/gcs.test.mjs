/** @google-cloud/storage against the fake of Google Cloud Storage. */
import assert from "node:assert/strict"
import { generateKeyPairSync, randomBytes } from "node:crypto"
import { after, before, test } from "node:test"
import { Storage } from "@google-cloud/storage"
import { inTurn, startFakeGcs } from "../../packages/blobs/testing/cloud/index.ts"

/** @type {import("../../packages/blobs/testing/cloud/index.ts").FakeGcs} */
let fake
/** @type {import("@google-cloud/storage").Bucket} */
let bucket

before(async () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
  const email = "client@project.iam.gserviceaccount.com"
  fake = await startFakeGcs({ buckets: ["official"], serviceAccount: { email, publicKey }, anonymous: true, pageSize: 3 })
  const storage = new Storage({
    apiEndpoint: fake.url,
    projectId: "project",
    credentials: { client_email: email, private_key: privateKey },
    useAuthWithCustomEndpoint: false,
    retryOptions: { autoRetry: false },
  })
  bucket = storage.bucket("official")
})

after(() => fake.close())

test("saves in one request and downloads with its checksum", async () => {
  const file = bucket.file("folder/a b ø.txt")
  await file.save("Ålesund 東京", { resumable: false, metadata: { metadata: { key: "value" } } })
  const [content] = await file.download({ validation: "crc32c" })
  assert.equal(content.toString(), "Ålesund 東京")
  const [metadata] = await file.getMetadata()
  assert.equal(metadata.metadata?.["key"], "value")
  assert.equal(metadata.size, "15")
  assert.match(String(metadata.generation), /^\d+$/)
})

test("uploads in a resumable session of chunks", async () => {
  const bytes = randomBytes(3 * 1024 * 1024 + 17)
  const file = bucket.file("large.bin")
  await file.save(bytes, { resumable: true, chunkSize: 1024 * 1024, validation: "md5" })
  const [content] = await file.download({ validation: "md5" })
  assert.ok(content.equals(bytes))
  const [part] = await file.download({ start: 1_000_000, end: 1_000_099, validation: false })
  assert.ok(part.equals(bytes.subarray(1_000_000, 1_000_100)))
})

test("is refused where a precondition does not hold", async () => {
  const file = bucket.file("once.txt")
  await file.save("first", { resumable: false, preconditionOpts: { ifGenerationMatch: 0 } })
  await assert.rejects(file.save("second", { resumable: false, preconditionOpts: { ifGenerationMatch: 0 } }), { code: 412 })
  await assert.rejects(file.save(randomBytes(600_000), { resumable: true, preconditionOpts: { ifGenerationMatch: 0 } }), /412/)
  const [metadata] = await file.getMetadata()
  await file.save("third", { resumable: false, preconditionOpts: { ifGenerationMatch: Number(metadata.generation) } })
  await assert.rejects(file.delete({ ifGenerationMatch: Number(metadata.generation) }), { code: 412 })
  await file.delete()
  const [exists] = await file.exists()
  assert.equal(exists, false)
  await assert.rejects(file.download(), { code: 404 })
})

test("lists all pages in order, and folders by a delimiter", async () => {
  for (const name of ["list/z", "list/a/1", "list/a/2", "list/b", "list/c", "list/ø", "list/😀"])
    await bucket.file(name).save("x", { resumable: false })
  const [files] = await bucket.getFiles({ prefix: "list/" })
  assert.deepEqual(
    files.map(({ name }) => name),
    ["list/a/1", "list/a/2", "list/b", "list/c", "list/z", "list/ø", "list/😀"],
  )
})

test("reads the code of a throttled request", async () => {
  fake.plan = inTurn({ status: 429 })
  await assert.rejects(bucket.file("throttled.txt").getMetadata(), { code: 429 })
})

test("is refused content with a wrong checksum", async () => {
  await assert.rejects(bucket.file("wrong.txt").save("x", { resumable: false, metadata: { md5Hash: "AAAAAAAAAAAAAAAAAAAAAA==" } }), {
    code: 400,
  })
})

test("gets a 404 for a missing bucket", async () => {
  const missing = bucket.storage.bucket("no-such-bucket")
  await assert.rejects(missing.file("a").getMetadata(), { code: 404 })
})
