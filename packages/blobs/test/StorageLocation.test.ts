import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { locate } from "../src/StorageLocation.ts"

const located = (location: string) => Result.getOrElse(locate(location), ({ message }) => message)

describe("a location", () => {
  it("is a path, or a folder of a bucket", () => {
    assert.strictEqual(located("data"), `${pathToFileURL("data")}/`)
    assert.strictEqual(located("/data/c:/x"), "file:///data/c:/x/")
    assert.strictEqual(located("gs://bucket/data"), "gs://bucket/data/")
    assert.strictEqual(located("s3://bucket"), "s3://bucket/")
  })

  it("of another scheme, or with a name that no bucket has, is refused and never taken for a path", () => {
    for (const wrong of [
      "http://bucket/data",
      "ftp://bucket/data",
      "file:///data",
      "mem://store/data",
      "GS://bucket/data",
      "gs://b1/data",
      "gs://bucket/../data",
      "gs:///data",
      "az://bucket/data",
    ])
      assert.include(located(wrong), `${wrong} is not a folder of a bucket; write it as gs://BUCKET/PREFIX`)
    assert.strictEqual(located("gs://my_bucket/data"), "gs://my_bucket/data/")
    assert.include(located("s3://my_bucket/data"), "lower-case letters, digits, - and ., in gs:// also _")
  })
})
