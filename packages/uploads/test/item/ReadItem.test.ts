import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { HNItem } from "../../src/item/HNItem.ts"
import { plainText } from "../../src/item/PlainText.ts"
import { readItem, readValue } from "../../src/item/ReadItem.ts"

describe("reading an item", () => {
  it("takes every field of the public API", () => {
    const given = {
      by: "pg",
      descendants: 54,
      id: 8863,
      kids: [8952, 9224],
      score: 111,
      time: 1175714200,
      title: "My YC app: Dropbox",
      type: "story",
      url: "http://www.getdropbox.com/u/2/screencast.html",
      text: "<p>text",
      parent: 1,
      deleted: false,
      dead: true,
      parts: [1, 2],
      poll: 7,
    }
    const { id: hnId, ...fields } = given
    expect(readValue(given)).toEqual({ _tag: "Good", item: { hnId, ...fields } })
    expect(readValue({ hnId: 8863, ...fields })).toEqual({ _tag: "Good", item: { hnId: 8863, ...fields } })
  })

  it("leaves out what is null and what nobody knows", () => {
    expect(readValue({ id: 1, type: "job", by: null, extra: { a: 1 } })).toEqual({ _tag: "Good", item: { hnId: 1, type: "job" } })
  })

  it.each([
    ['{"id": nope}', "not_json", "it is not JSON"],
    ["[1]", "not_an_object", "it is an array, not an object"],
    ["null", "not_an_object", "it is null, not an object"],
    ['{"type":"story"}', "missing_id", "it has no hnId and no id"],
    ['{"id":"7","type":"story"}', "invalid_id", 'its id is "7", not a whole number above 0'],
    ['{"id":0,"type":"story"}', "invalid_id", "its id is 0"],
    ['{"id":1,"hnId":2,"type":"story"}', "invalid_id", "its hnId is 2 and its id 1"],
    ['{"id":1}', "missing_type", "it has no type"],
    ['{"id":1,"type":"stroy"}', "unknown_type", 'its type is "stroy"; the types are story, comment, job, poll, pollopt'],
    ['{"id":1,"type":"story","time":"now"}', "invalid_field", 'its time is "now"'],
    ['{"id":1,"type":"story","kids":[1,"two"]}', "invalid_field", 'its kids is [1,"two"]'],
    ['{"id":1,"type":"story","text":"a\\u0000b"}', "not_text", "its text has a character that cannot be stored"],
    ['{"id":1,"type":"story","title":"\\ud800"}', "not_text", "its title has a character that cannot be stored"],
  ])("%s is refused: %s", (text, reason, message) => {
    expect(readItem(text)).toMatchObject({ _tag: "Bad", problem: { reason, message: expect.stringContaining(message) } })
  })

  it("tells the id of a bad item where it has one", () => {
    expect(readItem('{"id":12}')).toMatchObject({ hnId: 12 })
    expect(readItem('{"id":12,"type":"x"}')).toMatchObject({ hnId: 12, type: "x" })
    expect(readItem('{"type":"story"}')).toMatchObject({ type: "story" })
  })

  it("has your own check look at what is otherwise fine", () => {
    const check = ({ by }: HNItem) => (by === "spam" ? "its author is blocked" : undefined)
    expect(readItem('{"id":1,"type":"story","by":"spam"}', check)).toMatchObject({
      problem: { reason: "rejected", message: "its author is blocked" },
    })
    expect(readItem('{"id":1,"type":"story","by":"eve"}', check)).toMatchObject({ _tag: "Good" })
  })

  it("fails an item whose check throws, and no other", () => {
    const check = ({ by }: HNItem) => {
      if (by === undefined) throw new Error("nobody is not in the list")
      return undefined
    }
    expect(readItem('{"id":1,"type":"story"}', check)).toMatchObject({
      problem: { reason: "rejected", message: "its check failed: nobody is not in the list" },
    })
    expect(readItem('{"id":1,"type":"story","by":"eve"}', check)).toMatchObject({ _tag: "Good" })
  })

  it("cuts the report of an item, never in the middle of a character", () => {
    const told = readItem('{"id":1,"type":"story"}', () => `x${"🚀".repeat(400)}`)
    const message = told._tag === "Bad" ? told.problem.message : ""
    expect([message.length, message.isWellFormed()]).toEqual([500, true])
  })

  it.prop("whatever JSON is given, it is an item or a reason, never an exception", [Schema.Json], ([value]) => {
    expect(["Good", "Bad"]).toContain(readItem(JSON.stringify(value))._tag)
  })

  it.prop(
    "an item is read exactly where its schema decodes it, and to the same",
    [
      HNItem,
      Schema.Array(
        Schema.Tuple([Schema.Literals(Object.keys(HNItem.fields)), Schema.Union([Schema.Json, Schema.Int, Schema.Array(Schema.Int)])]),
      ),
    ],
    ([item, changes]) => {
      const changed = { ...item, ...Object.fromEntries(changes.slice(0, 2)) }
      const text = JSON.stringify(changed)
      const given: object = JSON.parse(text)
      const known = Object.entries(given).filter(([, value]) => value !== null)
      const decoded = Schema.decodeUnknownOption(HNItem)(Object.fromEntries(known))
      const storable = known.every(([, value]) => typeof value !== "string" || (value.isWellFormed() && !value.includes("\u0000")))
      const read = readItem(text)
      expect(read._tag).toBe(decoded._tag === "Some" && storable ? "Good" : "Bad")
      if (read._tag === "Good" && decoded._tag === "Some") expect(read.item).toEqual(decoded.value)
    },
    { arbitrary: { runs: 1000 } },
  )

  it.prop("an item is read as it was written", [HNItem], ([item]) => {
    const texts = [item.by, item.text, item.url, item.title].filter((text) => text !== undefined)
    const storable = texts.every((text) => text.isWellFormed() && !text.includes("\u0000"))
    const { hnId, ...fields } = item
    const read = readItem(JSON.stringify({ id: hnId, ...fields }))
    if (storable) expect(read).toEqual({ _tag: "Good", item: JSON.parse(JSON.stringify(item)) })
    else expect(read).toMatchObject({ problem: { reason: "not_text" } })
  })
})

describe("the text of an item without markup", () => {
  it.each([
    ["no markup", "no markup"],
    ["I&#x27;m &quot;sure&quot; &amp; so on", 'I\'m "sure" & so on'],
    ['one<p>two <a href="https:&#x2F;&#x2F;x.y" rel="nofollow">three</a>', "one two  three "],
    ["&#128640; &#xd800; &unknown; 1 &lt; 2", "🚀   &unknown; 1 < 2"],
  ])("%s", (html, text) => expect(plainText(html)).toBe(text))
})
