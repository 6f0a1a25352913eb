import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { type Post, Posts } from "../../src/generate/index.ts"
import { Items } from "../../src/index.ts"
import { readContent } from "../../src/kind/ReadContent.ts"

const read = (text: string, check?: (post: Post) => string | undefined) =>
  readContent(text, (check === undefined ? Posts : Posts.with({ check })).kind)

describe("reading an item", () => {
  it.each([
    ['{"id": nope}', "not_json", "it is not JSON"],
    ["[1]", "not_an_object", "it is an array, not an object"],
    ["null", "not_an_object", "it is null, not an object"],
    ['{"type":"story"}', "missing_id", "id"],
    ['{"id":"7","type":"story"}', "invalid_id", "id"],
    ['{"id":0,"type":"story"}', "invalid_id", "id"],
    ['{"id":1}', "missing_field", "type"],
    ['{"id":1,"type":"stroy"}', "invalid_field", "type"],
    ['{"id":1,"type":"story","time":"now"}', "invalid_field", "time"],
    ['{"id":1,"type":"story","kids":[1,"two"]}', "invalid_field", "kids"],
    ['{"id":1,"type":"story","text":"a\\u0000b"}', "not_text", "a character that cannot be stored"],
    ['{"id":1,"type":"story","title":"\\ud800"}', "not_text", "a character that cannot be stored"],
  ])("%s is refused: %s", (text, reason, message) => {
    expect(read(text)).toMatchObject({ _tag: "Bad", problem: { reason, message: expect.stringContaining(message) } })
  })

  it("keeps the id of a refused item, if it is one", () => {
    expect(read('{"id":12}')).toMatchObject({ itemId: "12" })
    expect(read('{"id":{},"type":"x"}')).not.toHaveProperty("itemId")
    expect(read('{"type":"story"}')).not.toHaveProperty("itemId")
  })

  it("checks valid items with the check of the definition", () => {
    const check = ({ by }: Post) => (by === "spam" ? "its author is blocked" : undefined)
    expect(read('{"id":1,"type":"story","by":"spam"}', check)).toMatchObject({
      problem: { reason: "rejected", message: "its author is blocked" },
      itemId: "1",
    })
    expect(read('{"id":1,"type":"story","by":"eve"}', check)).toMatchObject({ _tag: "Good" })
  })

  it("fails an item whose check throws, and no other", () => {
    const check = ({ by }: Post) => {
      if (by === undefined) throw new Error("an author is missing in the list")
      return undefined
    }
    expect(read('{"id":1,"type":"story"}', check)).toMatchObject({
      problem: { reason: "rejected", message: "its check failed: an author is missing in the list" },
    })
    expect(read('{"id":1,"type":"story","by":"eve"}', check)).toMatchObject({ _tag: "Good" })
  })

  it("cuts a long problem, never in the middle of a character", () => {
    const refused = read('{"id":1,"type":"story"}', () => `x${"🚀".repeat(400)}`)
    const message = refused._tag === "Bad" ? refused.problem.message : ""
    expect([message.length, message.isWellFormed()]).toEqual([500, true])
  })

  it.prop("any JSON is an item or a problem, never an exception", [Schema.Json], ([value]) => {
    expect(["Good", "Bad"]).toContain(read(JSON.stringify(value))._tag)
    expect(["Good", "Bad"]).toContain(readContent(JSON.stringify(value), Items.kind)._tag)
  })
})

describe("the built-in kind", () => {
  it.each([
    ['{"id":"a","title":"one","more":{"words":["two",3]}}', { id: "a", text: "a one two" }],
    ['{"id":7}', { id: "7", text: "" }],
    ['{"id":"\\\\u0000"}', { id: "\\u0000" }],
  ])("%s is an item", (text, content) => {
    expect(readContent(text, Items.kind)).toMatchObject({ _tag: "Good", content })
  })

  it.each([
    ['{"title":"one"}', "missing_id"],
    ['{"id":true}', "invalid_id"],
    ['{"id":""}', "missing_id"],
    ["[]", "not_an_object"],
  ])("%s is refused: %s", (text, reason) => {
    expect(readContent(text, Items.kind)).toMatchObject({ _tag: "Bad", problem: { reason } })
  })
})
