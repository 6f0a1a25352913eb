import { describe, expect, it } from "@effect/vitest"
import { type BadKind, generateItems, generateText } from "../src/generate/index.ts"
import { Posts } from "../src/generate/Post.ts"
import { readContent } from "../src/kind/ReadContent.ts"

const readPost = (text: string) => readContent(text, Posts.kind)

const kinds: ReadonlyArray<BadKind> = ["not_json", "not_an_object", "missing_id", "invalid_id", "missing_field", "invalid_field"]

describe("generated items", () => {
  it("are the same for the same seed, and others for another", () => {
    const texts = (seed: number) => [...generateItems({ items: 200, seed })].map(({ text }) => text)
    expect(texts(5)).toEqual(texts(5))
    expect(texts(5)).not.toEqual(texts(6))
  })

  it("look like those of a forum: every type, deleted and dead ones, markup, other scripts, rising ids", () => {
    const items = [...generateItems({ items: 20_000 })].map(({ text }) => JSON.parse(text))
    const share = (is: (item: Record<string, unknown>) => boolean) => items.filter(is).length / items.length
    for (const [type, least, most] of [
      ["comment", 0.75, 0.9],
      ["story", 0.1, 0.2],
      ["job", 0.001, 0.02],
      ["poll", 0.0005, 0.01],
      ["pollopt", 0.001, 0.02],
    ] as const) {
      expect(
        share((item) => item["type"] === type),
        type,
      ).toBeGreaterThan(least)
      expect(
        share((item) => item["type"] === type),
        type,
      ).toBeLessThan(most)
    }
    expect(share((item) => item["deleted"] === true)).toBeGreaterThan(0.01)
    expect(share((item) => item["dead"] === true)).toBeGreaterThan(0.01)
    expect(share((item) => String(item["text"]).includes("<p>"))).toBeGreaterThan(0.05)
    expect(share((item) => /[^ -ÿ\s]/.test(String(item["text"])))).toBeGreaterThan(0.01)
    const ids = items.map((item) => item["id"] as number)
    expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] as number))).toBe(true)
  })

  it.each(kinds)("%s is what reading finds", (kind) => {
    for (const { text, bad } of generateItems({ items: 100, bad: { [kind]: 1 } })) {
      expect(bad).toBe(kind)
      expect(readPost(text)).toMatchObject({ _tag: "Bad", problem: { reason: kind } })
    }
  })

  it("good ones are good, duplicates repeat an id before them, and shares are kept", () => {
    const seen = new Set<string>()
    let duplicates = 0
    for (const { text, bad } of generateItems({ items: 5000, bad: { duplicate: 0.1 } })) {
      const read = readPost(text)
      if (read._tag !== "Good") throw new Error(`${text}: ${read.problem.message}`)
      expect(seen.has(read.content.id)).toBe(bad === "duplicate")
      seen.add(read.content.id)
      if (bad === "duplicate") duplicates++
    }
    expect(duplicates).toBeGreaterThan(400)
    expect(duplicates).toBeLessThan(600)
  })

  it("come in pieces, however many", () => {
    const pieces = generateText({ items: Number.MAX_SAFE_INTEGER })
    expect(pieces.next().value?.length).toBeLessThan(300_000)
    expect(JSON.parse([...generateText({ items: 1000 })].join(""))).toHaveLength(1000)
    expect([...generateText({ items: 1000, layout: "lines" })].join("").trim().split("\n")).toHaveLength(1000)
    expect(JSON.parse([...generateText({ items: 0 })].join(""))).toEqual([])
  })
})
