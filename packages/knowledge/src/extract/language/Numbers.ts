/**
 * Reads numbers as people write them: "1,200.5", "$3 million", "12 %", "3rd", "1.200,50", "1'250", "9.1e6". Units are ignored. A text
 * with more than one number is none: "105–110 m", "2 x 105", "105/110".
 */

export interface FoundNumber {
  /** The lexical form of XML Schema, without a trailing point or needless zeros. */
  readonly lexical: string
  readonly whole: boolean
}

const scales: Readonly<Record<string, number>> = {
  hundred: 2,
  thousand: 3,
  lakh: 5,
  million: 6,
  crore: 7,
  billion: 9,
  trillion: 12,
  bn: 9,
  tausend: 3,
  mio: 6,
  mln: 6,
  millionen: 6,
  mrd: 9,
  milliarde: 9,
  milliarden: 9,
  millions: 6,
  billions: 9,
  milliard: 9,
  milliards: 9,
  millón: 6,
  millones: 6,
  billionen: 12,
  billón: 12,
  billones: 12,
}

/** Words that scale a number only in some languages, or by another power of ten than in English. */
const ownScales: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  de: { billion: 12, trillion: 18, trillionen: 18 },
  fr: { mille: 3, billion: 12, billions: 12, trillion: 18 },
  es: { mil: 3 },
}

const words = [scales, ...Object.values(ownScales)].flatMap((one) => Object.keys(one))

const scaleWord = new RegExp(
  `^\\s?(${[...new Set(words)].sort((one, other) => other.length - one.length).join("|")})(?![\\p{L}\\p{N}])`,
  "iu",
)

/** Single letters that scale a sum of money. After any other number they are units: 105 m are metres. */
const moneyScales: Readonly<Record<string, number>> = { k: 3, m: 6, b: 9 }

const currency = "[A-Z]{1,2}\\$|[$€£¥₹]|(?:EUR|USD|GBP|CHF|JPY|INR|CNY|SEK|NOK|DKK|PLN|CZK|AUD|CAD)(?!\\p{L})"

const opening = new RegExp(`^([+\\-−]?)\\s?(${currency})?\\s?([+\\-−]?)(\\d+(?:[.,'’]\\d+|\\s\\d{3}(?!\\d))*)`, "u")

const moneyLetter = /^\s?([kmb])(?![\p{L}\p{N}])/iu
const moneyAfter = new RegExp(`^\\s?([kmbKMB])\\s?(?:${currency})`, "u")

/** Languages that write 1.200,5 where English writes 1,200.5. */
const commas: ReadonlySet<string> = new Set(["de", "fr", "es"])

export const readNumber = (text: string, language?: string): FoundNumber | undefined => {
  const trimmed = text.trim()
  const match = opening.exec(trimmed)
  if (match === null) return undefined
  const [all, outer = "", money, inner = "", digits = ""] = match
  const plain = language !== undefined && commas.has(language) ? withDecimalComma(digits) : withoutGrouping(digits)
  const scale = scaleOf(trimmed.slice(all.length), money !== undefined, language)
  if (plain === undefined || scale === undefined || (outer !== "" && inner !== "") || !isUnit(scale.rest)) return undefined
  const lexical = shifted(plain, scale.places)
  const isNegative = /[-−]/.test(outer + inner) && lexical !== "0"
  return { lexical: isNegative ? `-${lexical}` : lexical, whole: !lexical.includes(".") }
}

interface Scale {
  /** By how many places the decimal point moves. */
  readonly places: number
  /** The text after the scale. */
  readonly rest: string
}

/** The scale that the text after the digits begins with; undefined if it is not clear. */
const scaleOf = (text: string, isMoney: boolean, language: string | undefined): Scale | undefined => {
  const exponent = /^e([+-]?\d{1,2})(?![\p{L}\d])/iu.exec(text)
  if (exponent !== null) return { places: Number(exponent[1]), rest: text.slice(exponent[0].length) }
  if (/^e[+-]?\d/i.test(text)) return undefined
  const letter = isMoney ? moneyLetter.exec(text) : moneyAfter.exec(text)
  if (letter !== null) return { places: moneyScales[letter[1]?.toLowerCase() ?? ""] ?? 0, rest: text.slice(letter[0].length) }
  if (/^k(?![\p{L}\p{N}])/u.test(text)) return { places: 3, rest: text.slice(1) }
  // "105 k" and "105K" may be thousands or kelvins.
  if (/^(?:\s?k|K)(?![\p{L}\p{N}])/u.test(text)) return undefined
  let places = 0
  let rest = text
  // "3 hundred thousand"
  for (let match = scaleWord.exec(rest); match !== null; match = scaleWord.exec(rest)) {
    const word = match[1]?.toLowerCase() ?? ""
    const own = ownScales[language ?? ""]?.[word] ?? scales[word]
    if (own === undefined || places > 18) break
    places += own
    rest = rest.slice(match[0].length)
  }
  return { places, rest }
}

/** Whether the text after a number can be its unit or a remark in brackets: "MW", "m²", "km/h", "m (2019)"; not "–110 m", "x 105", "½". */
const isUnit = (text: string): boolean => {
  const unit = text.replace(/\([^()]*\)/g, "")
  return !/^\p{No}/u.test(unit) && !/^\s?[x×]\s?\d/iu.test(unit) && !/(?<![\p{L}\d])\d/u.test(unit)
}

/** A point groups three digits, a comma is the decimal separator. Digits that do not fit are read as in English: "3.5". */
const withDecimalComma = (digits: string): string | undefined => {
  const match = /^([1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,(\d+))?$/.exec(digits)
  if (match === null) return withoutGrouping(digits)
  const whole = (match[1] ?? "").replaceAll(".", "")
  return match[2] === undefined ? whole : `${whole}.${match[2]}`
}

/** Groups of three digits, in India of two before the last three, and the decimal separator that goes with each mark of grouping. */
const groupings: ReadonlyArray<RegExp> = [
  /^([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d+))?$/,
  /^([1-9]\d{0,2}(?:\.\d{3})+),(\d+)$/,
  /^([1-9]\d{0,2}(?:\.\d{3}){2,})$/,
  /^([1-9]\d?(?:,\d{2})+,\d{3})(?:\.(\d+))?$/,
  /^([1-9]\d{0,2}(?:['’]\d{3})+)(?:[.,](\d+))?$/,
  /^([1-9]\d{0,2}(?:\s\d{3})+)(?:[.,](\d+))?$/,
]

/** A single mark is a decimal point, unless it is a comma before three digits. */
const withoutGrouping = (digits: string): string | undefined => {
  for (const grouping of groupings) {
    const match = grouping.exec(digits)
    if (match === null) continue
    const whole = (match[1] ?? "").replace(/\D/g, "")
    return match[2] === undefined ? whole : `${whole}.${match[2]}`
  }
  return /^\d+(?:[.,]\d+)?$/.test(digits) ? digits.replace(",", ".") : undefined
}

/** Moves the decimal point in the string itself: 3.1 million is 3100000, not 3099999.9999999995. */
const shifted = (number: string, places: number): string => {
  const [whole = "0", fraction = ""] = number.split(".")
  const digits = `${"0".repeat(Math.max(0, -places))}${whole}${fraction.padEnd(Math.max(0, places), "0")}`
  const point = Math.max(0, -places) + whole.length + places
  const left = digits.slice(0, point).replace(/^0+(?=\d)/, "")
  const right = withoutClosingZeros(digits.slice(point))
  return right === "" ? left : `${left}.${right}`
}

const withoutClosingZeros = (digits: string): string => {
  let end = digits.length
  while (end > 0 && digits[end - 1] === "0") end--
  return digits.slice(0, end)
}
