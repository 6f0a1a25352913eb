import { mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { assert, describe, it } from "vitest"
import { announced, runningServer } from "../../src/workspace/Server.ts"
import { temporaryFolder } from "../support/Detent.ts"

/** The mark of no database address. */
const database = "e3b0c44298fc1c14"

const announce = (data: string, announcement: { readonly url: string; readonly pid: number }) => {
  mkdirSync(join(data, "nodes"), { recursive: true })
  writeFileSync(join(data, "nodes", "name"), "a3f9")
  writeFileSync(join(data, "server.json"), JSON.stringify({ ...announcement, database }))
}

const found = (data: string) => Effect.runPromise(runningServer({ data, database: undefined }))

describe("the server of a workspace", () => {
  it("is not one that took the port of a killed server: it gets no token", async () => {
    const headers: Array<string | undefined> = []
    const other = createServer((request, response) => {
      headers.push(request.headers.authorization)
      response.setHeader("content-type", "application/json").end(JSON.stringify({ status: "live", proof: "0".repeat(64) }))
    })
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    try {
      const data = await temporaryFolder()
      announce(data, { url: `http://127.0.0.1:${(other.address() as AddressInfo).port}`, pid: process.pid })
      assert.isUndefined(await found(data))
      assert.deepStrictEqual(headers, [undefined])
    } finally {
      other.close()
    }
  })

  it("is not asked when its process has ended", async () => {
    let asked = 0
    const other = createServer((_, response) => {
      asked++
      response.end("{}")
    })
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    try {
      const data = await temporaryFolder()
      announce(data, { url: `http://127.0.0.1:${(other.address() as AddressInfo).port}`, pid: 2 ** 22 + 1 })
      assert.isUndefined(await found(data))
      assert.strictEqual(asked, 0)
    } finally {
      other.close()
    }
  })

  it.each(["", "not an address", "http://", "ftp://127.0.0.1/", "http://127.0.0.1:1"])(
    "is none where its file has the address %j",
    async (url) => {
      const data = await temporaryFolder()
      announce(data, { url, pid: process.pid })
      assert.isUndefined(await found(data))
    },
  )

  it.each(["", "{", "null", '{"url":7}'])("is none where its file is %j", async (text) => {
    const data = await temporaryFolder()
    writeFileSync(join(data, "server.json"), text)
    assert.isUndefined(await found(data))
  })

  it("that cannot announce itself says why and what to do", async () => {
    const data = await temporaryFolder()
    mkdirSync(join(data, "server.json"))
    const announcing = Effect.scoped(announced({ data, database: undefined }, "http://127.0.0.1:4400"))
    const { message } = await Effect.runPromise(Effect.flip(announcing))
    assert.include(message, "server.json cannot be written")
    assert.include(message, "give this user write access to the data folder")
  })
})
