/** Reads numbers as people write them: "1,200.5", "$3 million", "12 %", "3rd", "1.200,50". */

export interface FoundNumber {
  /** The lexical form of XML Schema, without a trailing point or needless zeros. */
  readonly lexical: string
  readonly whole: boolean
}

const scales: Readonly<Record<string, number>> = {
  hundred: 2,
  thousand: 3,
  million: 6,
  billion: 9,
  trillion: 12,
  k: 3,
  m: 6,
  bn: 9,
  tausend: 3,
  mio: 6,
  millionen: 6,
  mrd: 9,
  milliarde: 9,
  milliarden: 9,
  mille: 3,
  millions: 6,
  milliard: 9,
  milliards: 9,
  mil: 3,
  millón: 6,
  millones: 6,
}

const scaleWords = Object.keys(scales).sort((one, other) => other.length - one.length)

const pattern = new RegExp(
  `^\\s*[$€£¥₹]?\\s*([+-]?\\d+(?:[.,\\s]\\d+)*)\\s*(?:st|nd|rd|th)?\\s*(?:(${scaleWords.join("|")})(?![\\p{L}\\p{N}]))?`,
  "iu",
)

/** Languages that write 1.200,5 where English writes 1,200.5. */
const commas: ReadonlySet<string> = new Set(["de", "fr", "es"])

export const readNumber = (text: string, language?: string): FoundNumber | undefined => {
  const match = pattern.exec(text)
  const digits = match?.[1]
  if (digits === undefined) return undefined
  const plain = language !== undefined && commas.has(language) ? withDecimalComma(digits) : withoutGrouping(digits)
  if (plain === undefined) return undefined
  const lexical = shifted(plain, scales[match?.[2]?.toLowerCase() ?? ""] ?? 0)
  return { lexical, whole: !lexical.includes(".") }
}

/** A point groups three digits, a comma is the decimal separator. Digits that do not fit are read as in English: "3.5". */
const withDecimalComma = (digits: string): string | undefined => {
  const compact = digits.replace(/\s/gu, "")
  const match = /^([+-]?\d{1,3}(?:\.\d{3})+|[+-]?\d+)(?:,(\d+))?$/.exec(compact)
  if (match === null) return withoutGrouping(digits)
  const whole = (match[1] ?? "").replaceAll(".", "")
  return match[2] === undefined ? whole : `${whole}.${match[2]}`
}

/** Of two kinds of marks the last is the decimal point. One kind groups if it occurs twice or is a comma before three digits. */
const withoutGrouping = (digits: string): string | undefined => {
  const compact = digits.replace(/[\s\u00a0]/g, "")
  const marks = [...compact.matchAll(/[.,]/g)].map((match) => match[0])
  const last = marks.at(-1)
  if (last === undefined) return compact
  const distinct = new Set(marks)
  if (distinct.size === 2) return compact.replace(new RegExp(`\\${last === "." ? "," : "."}`, "g"), "").replace(last, ".")
  const grouping = marks.length > 1 || (last === "," && /^[+-]?\d{1,3},\d{3}$/.test(compact))
  if (grouping) return /^[+-]?\d{1,3}(?:[.,]\d{3})+$/.test(compact) ? compact.replace(/[.,]/g, "") : undefined
  return compact.replace(",", ".")
}

/** Moves the decimal point in the string itself: 3.1 million is 3100000, not 3099999.9999999995. */
const shifted = (number: string, places: number): string => {
  const [whole = "0", fraction = ""] = number.split(".")
  const padded = fraction.padEnd(places, "0")
  const sign = whole.startsWith("-") ? "-" : ""
  const left = `${whole.replace(/^[+-]/, "")}${padded.slice(0, places)}`.replace(/^0+(?=\d)/, "")
  const right = padded.slice(places).replace(/0+$/, "")
  return right === "" ? `${sign}${left}` : `${sign}${left}.${right}`
}
