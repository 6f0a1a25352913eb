import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { blobIn, folderIn, RelativePath, resolveReference, StorageFolder, StorageUri, schemeOf } from "../src/storage/Storage.ts"

const isUri = Schema.is(StorageUri)
const isFolder = Schema.is(StorageFolder)
const isPath = Schema.is(RelativePath)

const escapes = ["..", "../x", "a/../x", "a/..", "a/./b", "a//b", "/a", "a\\..\\x", "a/\u0000b", "a/b\nc", "a/\ud800", ""]

describe("addresses", () => {
  it("are accepted in four schemes", () => {
    for (const uri of [
      "file:///data/a.txt",
      "gs://bucket-1/a/b.txt",
      "s3://bucket-1/a.txt",
      "mem://store/a.txt",
      "mem://store/Ψ/東京.txt",
    ]) {
      assert.isTrue(isUri(uri), uri)
    }
    assert.deepStrictEqual(
      ["file:///a", "gs://bbb/a", "s3://bbb/a", "mem://m/a"].map((uri) => schemeOf(Schema.decodeUnknownSync(StorageUri)(uri))),
      ["file", "gs", "s3", "mem"],
    )
  })

  it("of other schemes, other hosts and bad buckets are refused", () => {
    for (const uri of [
      "http://example.org/a",
      "file://host/a",
      "file:/a",
      "gs://B/a",
      "gs://b/a",
      "gs://bucket",
      "gs://bucket/",
      "a.txt",
    ]) {
      assert.isFalse(isUri(uri), uri)
    }
  })

  it("never climb out of their folder", () => {
    for (const path of escapes) {
      for (const start of ["file:///data/", "gs://bucket/", "s3://bucket/", "mem://store/"])
        assert.isFalse(isUri(start + path), start + path)
      assert.isFalse(isPath(path), path)
      assert.throws(() => blobIn(StorageFolder.make("file:///data/"), path))
      assert.throws(() => folderIn(StorageFolder.make("gs://bucket/"), path))
    }
  })

  it("do not climb out of their folder in percent signs either", () => {
    for (const path of ["%2e%2e/x", "a/%2E%2e/x", "a%2fb", "a%5cb", "%00", "%zz", "a?b", "a#b", "%2e"]) {
      assert.isFalse(isUri(`file:///data/${path}`), path)
    }
  })

  it("of folders end in a slash", () => {
    for (const uri of ["file:///", "file:///data/", "gs://bucket/", "mem://store/a/b/"]) {
      assert.isTrue(isFolder(uri), uri)
      assert.isFalse(isUri(uri), uri)
    }
    for (const uri of ["file:///data", "gs://bucket", "gs://bucket//", "file:///../", "file:////"]) assert.isFalse(isFolder(uri), uri)
  })
})

describe("paths below a folder", () => {
  it("are percent-encoded in a file address only", () => {
    assert.strictEqual(blobIn(StorageFolder.make("file:///data/"), "a b/ø#1.txt"), "file:///data/a%20b/%C3%B8%231.txt")
    assert.strictEqual(blobIn(StorageFolder.make("gs://bucket/"), "a b/ø#1.txt"), "gs://bucket/a b/ø#1.txt")
    assert.strictEqual(folderIn(StorageFolder.make("mem://store/"), "a/b"), "mem://store/a/b/")
  })

  it.prop("always give an address in that folder", [StorageFolder, RelativePath], ([folder, path]) => {
    const blob = blobIn(folder, path)
    assert.isTrue(blob.startsWith(folder))
    assert.isTrue(isUri(blob))
    assert.isTrue(isFolder(folderIn(folder, path)))
  })

  it("a reference is an address of its own or lies beside the manifest", () => {
    const folder = StorageFolder.make("file:///project/")
    const decode = Schema.decodeUnknownSync(StorageUri)
    assert.strictEqual(resolveReference(folder, decode("gs://bucket/a.txt")), "gs://bucket/a.txt")
    assert.strictEqual(resolveReference(folder, RelativePath.make("documents/a.txt")), "file:///project/documents/a.txt")
  })
})
