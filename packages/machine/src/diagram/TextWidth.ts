/**
 * Estimates the width of a text without a browser or a font. The widths are those of DejaVu Sans, the widest of the common
 * `sans-serif` fonts, so a box is too wide rather than too narrow.
 */

// Hundredths of the font size, from the space to the tilde.
const ascii =
  "32 41 46 84 64 96 78 28 40 40 50 84 32 37 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 54 100 69 69 70 78 64 58 78 76 30 30 66 56 87 75 79 61 79 70 64 62 74 69 99 69 62 69 40 34 40 84 50 50 62 64 55 64 62 36 64 64 28 28 58 28 98 64 62 64 64 42 53 40 64 60 82 60 60 53 64 34 64 84"
    .split(" ")
    .map(Number)

const weightless = /^(?:\p{M}|[\u200b-\u200d])$/u
const smallLetter = /^[\p{Ll}\p{Lo}]$/u
const wide = /^[\p{Extended_Pictographic}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]$/u

const hundredths = (character: string): number => {
  const known = ascii[(character.codePointAt(0) ?? 0) - 32]
  if (known !== undefined) return known
  if (weightless.test(character)) return 0
  if (wide.test(character)) return 140
  return smallLetter.test(character) ? 80 : 110
}

export const textWidth = (text: string, size: number, weight: "normal" | "bold" = "normal"): number => {
  let sum = 0
  for (const character of text) sum += hundredths(character)
  return (sum * size * (weight === "bold" ? 1.18 : 1)) / 100
}
