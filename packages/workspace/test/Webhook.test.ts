/** The signatures of webhooks, against the examples that their services publish. */
import { createHmac } from "node:crypto"
import { DefinitionError } from "@detent/machine"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { githubSignature, hmacSignature, stripeSignature, webhook } from "../src/Webhook.ts"

describe("githubSignature", () => {
  // The example of GitHub's documentation, "Validating webhook deliveries".
  const { problemOf } = githubSignature("It's a Secret to Everybody")
  const published = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
  const now = Date.now()

  it("accepts the published example, and no other text under its signature", () => {
    expect(problemOf({ text: "Hello, World!", headers: { "x-hub-signature-256": published }, now })).toBeUndefined()
    expect(problemOf({ text: "Hello, World?", headers: { "x-hub-signature-256": published }, now })).toBe("Wrong")
  })

  it.each([
    [{}, "Missing"],
    [{ "x-hub-signature-256": published.slice(7) }, "Malformed"],
    [{ "x-hub-signature-256": published.replace("sha256", "sha1") }, "Malformed"],
    [{ "x-hub-signature-256": `${published}00` }, "Malformed"],
  ] as const)("refuses %j", (headers, problem) => {
    expect(problemOf({ text: "Hello, World!", headers, now })).toBe(problem)
  })
})

describe("stripeSignature", () => {
  // The header of Stripe's documentation, "Resolve webhook signature verification errors"; its secret is not published.
  const published =
    "t=1492774577,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"
  const at = 1_492_774_577_000

  it("reads the published header, and signs time and body as published", () => {
    const text = '{"id":"evt_1"}'
    const { problemOf } = stripeSignature("whsec_1")
    expect(problemOf({ text, headers: { "stripe-signature": published }, now: at })).toBe("Wrong")
    const digest = createHmac("sha256", "whsec_1").update(`1492774577.${text}`).digest("hex")
    const signed = published.replace(/v1=[^,]+/, `v1=${digest}`)
    expect(problemOf({ text, headers: { "stripe-signature": signed }, now: at })).toBeUndefined()
    expect(problemOf({ text, headers: { "stripe-signature": `t=1492774577,v1=${"0".repeat(64)},v1=${digest}` }, now: at })).toBeUndefined()
    // The digest counts under the name v1 only.
    expect(problemOf({ text, headers: { "stripe-signature": `t=1492774577,v0=${digest}` }, now: at })).toBe("Malformed")
    for (const now of [at - 300_000, at + 300_000])
      expect(problemOf({ text, headers: { "stripe-signature": signed }, now })).toBeUndefined()
    for (const now of [at - 301_000, at + 301_000]) expect(problemOf({ text, headers: { "stripe-signature": signed }, now })).toBe("Old")
    const otherTime = signed.replace("1492774577", "1492774578")
    expect(problemOf({ text, headers: { "stripe-signature": otherTime }, now: at })).toBe("Wrong")
  })

  it("without a secret it refuses everything", () => {
    for (const secret of [undefined, "", [], [undefined]])
      expect(stripeSignature(secret).problemOf({ text: "", headers: { "stripe-signature": published }, now: at })).toBe("NoSecret")
  })
})

it("hmacSignature reads hexadecimal and base64, with a prefix and without", () => {
  const digest = createHmac("sha256", "secret").update("text").digest()
  const request = (value: string) => ({ text: "text", headers: { "x-signature": value }, now: 0 })
  expect(hmacSignature("secret", { header: "X-Signature" }).problemOf(request(digest.toString("hex")))).toBeUndefined()
  const base64 = hmacSignature("secret", { header: "x-signature", encoding: "base64", prefix: "v1 " })
  expect(base64.problemOf(request(`v1 ${digest.toString("base64")}`))).toBeUndefined()
  expect(base64.problemOf(request(digest.toString("base64")))).toBe("Malformed")
})

it("a name that is no segment of an address is refused", () => {
  for (const name of ["", "a/b", "a b", "x".repeat(65), "ä"])
    expect(() => webhook(name, { verify: githubSignature("x"), body: Schema.Unknown, id: () => "1", on: () => undefined })).toThrow(
      DefinitionError,
    )
})
