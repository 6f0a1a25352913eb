import { readFile } from "node:fs/promises"
import { join } from "node:path"
import * as api from "@detent/api"
import { expect, it } from "@effect/vitest"
import type { OpenAPISpecOperation } from "effect/http-api/OpenApi"

const file = join(import.meta.dirname, "../openapi.json")

it("the OpenAPI file that is checked in is current (npx vitest run packages/api/test/openapi -u renews it)", async () => {
  const document = `${JSON.stringify(api.openApi(), undefined, 2)}\n`
  await expect(document).toMatchFileSnapshot(file)
  expect(JSON.parse(await readFile(file, "utf8")).openapi).toBe("3.1.0")
})

it("every operation has a name and a summary of its own, says what it answers, and answers problems as problem details", () => {
  const operations = Object.values(api.openApi().paths).flatMap((path) => Object.values(path) as ReadonlyArray<OpenAPISpecOperation>)
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  for (const { operationId, summary } of operations)
    expect([operationId, summary]).toEqual([operationId, expect.stringMatching(/^[A-Z].+[^.]$/)])
  expect(new Set(operations.map(({ summary }) => summary)).size).toBe(operations.length)
  for (const { responses } of operations) {
    const statuses = Object.keys(responses)
    expect(statuses.some((status) => status.startsWith("2"))).toBe(true)
    for (const status of statuses.filter((one) => one >= "400")) {
      expect(Object.keys(responses[Number(status)]?.content ?? {})).toEqual(["application/problem+json"])
    }
  }
})

it("types of answers have no parameters, and refusals before routing are described", () => {
  for (const [path, item] of Object.entries(api.openApi().paths))
    for (const [method, { responses }] of Object.entries(item) as ReadonlyArray<[string, OpenAPISpecOperation]>) {
      const types = Object.values(responses).flatMap(({ content }) => Object.keys(content ?? {}))
      expect(types.filter((type) => type.includes(";"))).toEqual([])
      const statuses = method === "get" ? ["408", "421", "431"] : ["408", "411", "421", "431"]
      expect([path, Object.keys(responses)]).toEqual([path, expect.arrayContaining(statuses)])
    }
})

it("the file of an upload is described as a file", () => {
  const upload = api.openApi().paths["/api/v1/uploads"]?.post?.requestBody?.content["multipart/form-data"]
  expect(upload?.schema).toMatchObject({ properties: { file: { type: "string", format: "binary" } } })
})
