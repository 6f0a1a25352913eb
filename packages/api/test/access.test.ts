import * as api from "@detent/api"
import { type Access, makeRequestTable } from "@detent/api/Access"
import { expect, it } from "@effect/vitest"
import type { OpenAPISpecOperation } from "effect/http-api/OpenApi"

const traitsOf = makeRequestTable(api.Api)

const accessOf = (method: string, path: string): Access => traitsOf(method, path).access

it("reading needs the role read, and everything else the role operate, also where there is no route", () => {
  expect(accessOf("GET", "/api/v1/instances")).toBe("reader")
  expect(accessOf("HEAD", "/api/v1/instances")).toBe("reader")
  expect(accessOf("POST", "/api/v1/instances/order/order-7/events")).toBe("operator")
  expect(accessOf("DELETE", "/api/v1/nothing")).toBe("operator")
})

it("an endpoint with another access says so, and no other address has it", () => {
  expect(accessOf("GET", "/health/ready")).toBe("everyone")
  expect(accessOf("GET", "/health/other")).toBe("reader")
  expect(accessOf("POST", "/api/v1/session")).toBe("session")
  expect(accessOf("POST", "/api/v1/knowledge/family/sparql")).toBe("reader")
  expect(accessOf("POST", "/api/v1/knowledge//sparql")).toBe("operator")
  expect(accessOf("POST", "/activities/extraction")).toBe("queue")
  expect(accessOf("POST", "/activities/other")).toBe("operator")
})

it("files and live streams are found by what the document says", () => {
  for (const [path, item] of Object.entries(api.openApi().paths))
    for (const [method, { requestBody, responses }] of Object.entries(item) as ReadonlyArray<[string, OpenAPISpecOperation]>) {
      const filled = path
        .replaceAll("{batchId}", "batch-3f9c2a71b0d4")
        .replaceAll("{name}", "extraction")
        .replace(/\{\w+\}/g, "x")
      const { takesFile, isStream } = traitsOf(method.toUpperCase(), filled)
      const isFile = requestBody?.content["multipart/form-data"] !== undefined
      const isLive = responses[200]?.content?.["text/event-stream"] !== undefined
      expect([method, path, takesFile, isStream]).toEqual([method, path, isFile, isLive])
    }
})

it("the document says what needs no token, and has no field of its own for that", () => {
  const operations = Object.entries(api.openApi().paths).flatMap(([path, item]) =>
    (Object.values(item) as ReadonlyArray<OpenAPISpecOperation>).map((operation) => ({ path, operation })),
  )
  expect(operations.filter(({ operation }) => operation.security.length === 0).map(({ path }) => path)).toEqual([
    "/health/live",
    "/health/ready",
  ])
  expect(JSON.stringify(operations)).not.toContain("x-access")
})
