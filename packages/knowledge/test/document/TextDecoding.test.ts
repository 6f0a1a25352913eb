import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { decodeBytes, startDecoding } from "../../src/document/TextDecoding.ts"

const decode = (bytes: Uint8Array | ReadonlyArray<number>) => Result.getOrThrow(decodeBytes("test.txt", Uint8Array.from(bytes)))
const failure = (bytes: Uint8Array | ReadonlyArray<number>) => {
  const result = decodeBytes("test.txt", Uint8Array.from(bytes))
  return Result.isFailure(result) ? result.failure : undefined
}

/** In pieces of so many bytes. */
const decodeInPieces = (bytes: Uint8Array, size: number) => {
  const decoding = startDecoding("test.txt")
  let text = ""
  for (let at = 0; at < bytes.length; at += size) text += Result.getOrThrow(decoding.push(bytes.subarray(at, at + size)))
  text += Result.getOrThrow(decoding.end())
  return { text, encoding: decoding.encoding() }
}

const utf16 = (text: string, swap: boolean) => {
  const bytes = Buffer.from(`\ufeff${text}`, "utf16le")
  return swap ? bytes.swap16() : bytes
}

describe("decoding", () => {
  it("knows UTF-8 with and without its mark", () => {
    assert.deepStrictEqual(decode(Buffer.from("Ålesund 東京 👩‍🚀")), { text: "Ålesund 東京 👩‍🚀", encoding: "utf-8" })
    assert.strictEqual(decode([0xef, 0xbb, 0xbf, 0x61]).text, "a")
    assert.deepStrictEqual(decode([]), { text: "", encoding: "utf-8" })
  })

  it("knows UTF-16 by its mark", () => {
    assert.deepStrictEqual(decode(utf16("Ωmega 👩", false)), { text: "Ωmega 👩", encoding: "utf-16le" })
    assert.deepStrictEqual(decode(utf16("Ωmega 👩", true)), { text: "Ωmega 👩", encoding: "utf-16be" })
  })

  it("falls back to Latin-1 and says so", () => {
    assert.deepStrictEqual(decode(Buffer.from("Café Ærø", "latin1")), { text: "Café Ærø", encoding: "latin-1" })
    assert.strictEqual(decode([0x93, 0x48, 0x69, 0x94, 0x20, 0x80, 0x35]).text, "“Hi” €5")
    assert.strictEqual(decode([0x61, 0xe9]).text, "aé")
  })

  it("refuses what is broken, with the place", () => {
    const broken = failure([...Buffer.from("é fine until here: "), 0xff, 0x61])
    assert.include(broken, { _tag: "DocumentWronglyEncoded", offset: 20 })
    assert.include(broken?.message ?? "", "test.txt: it begins as UTF-8 but is not valid UTF-8 at byte 20; save it as UTF-8")
    assert.strictEqual(failure([...Buffer.from("é"), 0xc3])?._tag, "DocumentWronglyEncoded")
    assert.strictEqual(failure([0xff, 0xfe, 0x00, 0xd8, 0x61, 0x00])?._tag, "DocumentWronglyEncoded")
    assert.strictEqual(failure([0xff, 0xfe, 0x61])?._tag, "DocumentWronglyEncoded")
    assert.include(failure([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0])?.message ?? "", "UTF-32")
  })

  it("does not take another alphabet of old for Latin letters", () => {
    const cyrillic = [0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x2c, 0x20]
    assert.include(failure(Array.from({ length: 20 }, () => cyrillic).flat())?.message ?? "", "neither UTF-8 nor a text in Latin letters")
  })

  it("tells what is not text at all", () => {
    assert.include(failure([0x50, 0x4b, 0x03, 0x04, 0x00, 0x00])?.message ?? "", "looks like a ZIP archive")
    assert.include(failure([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00])?.message ?? "", "a PNG picture")
    assert.include(failure(Buffer.from("no mark", "utf16le"))?.message ?? "", "UTF-16 without its byte order mark")
    assert.strictEqual(failure(Uint8Array.from({ length: 500 }, (_, index) => (index * 7) % 32))?._tag, "DocumentBinary")
    assert.strictEqual(failure([...Buffer.from("text and then "), 0, 1, 2])?._tag, "DocumentBinary")
  })

  const letters = Schema.Literals(["a", " ", "\n", "é", "ß", "Ж", "東", "👩", "\u{10ffff}", "\ufffd"])
  const texts = Arbitrary.map(Arbitrary.array(Arbitrary.schema(letters), { maxLength: 30 }), (parts) => parts.join(""))
  const size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))

  it.prop("gives back any text of Unicode, however it is cut into pieces", [texts, size], ([text, pieces]) => {
    assert.strictEqual(decodeInPieces(Buffer.from(text), pieces).text, text)
    assert.strictEqual(decodeInPieces(utf16(text, false), pieces).text, text)
    assert.strictEqual(decodeInPieces(utf16(text, true), pieces).text, text)
  })

  it.prop(
    "decides the same of any bytes, however they are cut into pieces",
    [Arbitrary.array(Arbitrary.schema(Schema.Literals([0x61, 0x20, 0xc3, 0xa9, 0xe6, 0x9d, 0xb1, 0xff])), { maxLength: 12 }), size],
    ([bytes, pieces]) => {
      const whole = decodeBytes("test.txt", Uint8Array.from(bytes))
      const decoding = startDecoding("test.txt")
      const parts: Array<Result.Result<string, unknown>> = []
      for (let at = 0; at < bytes.length; at += pieces) parts.push(decoding.push(Uint8Array.from(bytes.slice(at, at + pieces))))
      parts.push(decoding.end())
      const failed = parts.some(Result.isFailure)
      assert.strictEqual(failed, Result.isFailure(whole))
      if (Result.isSuccess(whole)) assert.strictEqual(parts.map((part) => Result.getOrThrow(part)).join(""), whole.success.text)
    },
  )
})
