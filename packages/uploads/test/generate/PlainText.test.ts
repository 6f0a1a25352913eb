import { describe, expect, it } from "@effect/vitest"
import { plainText } from "../../src/generate/PlainText.ts"

describe("the text of HTML without markup", () => {
  it.each([
    ["no markup", "no markup"],
    ["I&#x27;m &quot;sure&quot; &amp; so on", 'I\'m "sure" & so on'],
    ['one<p>two <a href="https:&#x2F;&#x2F;x.y" rel="nofollow">three</a>', "one two  three "],
    ["&#128640; &#xd800; &unknown; 1 &lt; 2", "🚀   &unknown; 1 < 2"],
  ])("%s", (html, text) => expect(plainText(html)).toBe(text))
})
