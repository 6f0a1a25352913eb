import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { lexicalOf } from "../../../src/extract/model/Answer.ts"

const value = (type: string, text: string, written: string) => lexicalOf(`http://www.w3.org/2001/XMLSchema#${type}`, text, written)

describe("values", () => {
  it("of dates are those of the text", () => {
    assert.strictEqual(value("date", "2 May 1984", "1984-05-02"), "1984-05-02")
    assert.strictEqual(value("date", "May 2nd, 1984", "1984-05-02"), "1984-05-02")
    assert.strictEqual(value("date", "02/05/84", "1984-05-02"), "1984-05-02")
    assert.strictEqual(value("date", "1984年5月2日", "1984-05-02"), "1984-05-02")
    assert.strictEqual(value("date", "٢ مايو ١٩٨٤", "1984-05-02"), "1984-05-02")
    assert.strictEqual(value("gYear", "in 1984", "1984"), "1984")
    assert.strictEqual(value("gYearMonth", "May 1984", "1984-05"), "1984-05")
    assert.strictEqual(value("dateTime", "2 May 1984 at 10:30", "1984-05-02T10:30:00Z"), "1984-05-02T10:30:00Z")
    for (const [text, written] of [
      ["2 May 1984", "1985-05-02"],
      ["2 May 1984", "1984-05-03"],
      ["2 May 1984", "2 May 1984"],
      ["last Tuesday", "2020-01-01"],
      ["31 February 1984", "1984-02-31"],
      ["29 February 1900", "1900-02-29"],
      ["2 May 1984", "1984-05-02T00:00:00Z"],
    ]) {
      assert.isUndefined(value("date", text ?? "", written ?? ""), `${text} ${written}`)
    }
  })

  it("of numbers are those of the text", () => {
    assert.strictEqual(value("integer", "1,250 tons", "1250"), "1250")
    assert.strictEqual(value("integer", "1.2 million", "1200000"), "1200000")
    assert.strictEqual(value("integer", "twelve", "12"), "12")
    assert.strictEqual(value("integer", "٤٨٢٠٠", "48200"), "48200")
    assert.strictEqual(value("decimal", "3,5", "3.5"), "3.5")
    assert.strictEqual(value("double", "2500", "2.5e3"), "2.5e3")
    assert.strictEqual(value("integer", "0", "0"), "0")
    assert.isUndefined(value("integer", "1,250", "1251"))
    assert.isUndefined(value("integer", "1,250", "12.5"))
    assert.isUndefined(value("decimal", "3,5", "3,5"))
    assert.isUndefined(value("integer", "½", "1"))
  })

  it("of numbers have the decimal point of the text", () => {
    assert.strictEqual(value("decimal", "3.50", "3.5"), "3.5")
    assert.strictEqual(value("decimal", ".5", "0.5"), "0.5")
    assert.strictEqual(value("decimal", "1.234,5", "1234.5"), "1234.5")
    assert.strictEqual(value("decimal", "٣٫٥", "3.5"), "3.5")
    assert.strictEqual(value("integer", "12,34,567", "1234567"), "1234567")
    // Without a language, both a thousand and one.
    assert.strictEqual(value("decimal", "1.250", "1.25"), "1.25")
    assert.strictEqual(value("integer", "1.250", "1250"), "1250")
    for (const [text, written] of [
      ["3.5", "35"],
      ["3.5", "0.35"],
      ["3.5", "350"],
      ["3.5 tons", "35"],
      ["12.50", "1250"],
      ["0.500", "500"],
      ["1,234.567", "1234567"],
      ["12", "1200"],
    ]) {
      assert.isUndefined(value("decimal", text ?? "", written ?? ""), `${text} ${written}`)
    }
  })

  it("of numbers are scaled by words and percent signs", () => {
    assert.strictEqual(value("integer", "3.5万", "35000"), "35000")
    assert.strictEqual(value("decimal", "$1.2M", "1200000"), "1200000")
    assert.strictEqual(value("decimal", "12.5 %", "0.125"), "0.125")
    assert.strictEqual(value("decimal", "12.5 %", "12.5"), "12.5")
    assert.strictEqual(value("integer", "2 million 500 thousand", "2500000"), "2500000")
  })

  it("of numbers have the sign of the text", () => {
    for (const text of ["-3.5", "−3.5 °C", "-$3.5", "(3.5)", "minus 3.5"]) assert.strictEqual(value("decimal", text, "-3.5"), "-3.5", text)
    assert.strictEqual(value("decimal", "3.5", "+3.5"), "+3.5")
    assert.strictEqual(value("integer", "500 BC", "-500"), "-500")
    assert.strictEqual(value("integer", "Apollo-11", "11"), "11")
    assert.isUndefined(value("decimal", "3.5", "-3.5"))
    assert.isUndefined(value("decimal", "-3.5", "3.5"))
  })

  it("of numbers can be in the digits of any script", () => {
    // Unicode has the mathematical digits in five adjacent blocks.
    for (const zero of [0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x0966]) {
      const text = String.fromCodePoint(zero + 9, zero, zero + 5)
      assert.strictEqual(value("integer", text, "905"), "905", text)
    }
  })

  it("of text are the text, whatever was made of it", () => {
    assert.strictEqual(value("string", "the\n Gull", "The Great Gull"), "the Gull")
    assert.strictEqual(lexicalOf("urn:own:datatype", "x y", "z"), "x y")
    assert.strictEqual(value("anyURI", "https://example.org/a", "https://evil.example/"), "https://example.org/a")
    assert.isUndefined(value("anyURI", "no address", "https://example.org/"))
    assert.strictEqual(value("boolean", "yes", "true"), "true")
    assert.isUndefined(value("boolean", "yes", "yes"))
  })

  it.prop(
    "of integers come back from any way of grouping their digits",
    [Schema.Int, Schema.Literals([",", ".", " ", "\u202f", "'"])],
    ([number, mark]) => {
      const digits = String(Math.abs(number))
      const grouped = digits.replace(/\B(?=(\d{3})+(?!\d))/g, mark)
      assert.strictEqual(value("integer", grouped, digits), digits)
      const other = String(Math.abs(number) + 1)
      if (other.replace(/0+$/, "") !== digits.replace(/0+$/, "")) assert.isUndefined(value("integer", grouped, other))
    },
  )
})
