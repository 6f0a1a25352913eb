/** Reads numbers as people write them: "1,200.5", "$3 million", "12 %", "3rd", "1.200,50". */

export interface FoundNumber {
  /** In XML Schema's own form, without a trailing point or needless zeros. */
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
}

const pattern = /^\s*[$€£¥₹]?\s*([+-]?\d+(?:[.,\s\u00a0]\d+)*)\s*(?:st|nd|rd|th)?\s*(hundred|thousand|million|billion|trillion|k|m|bn)?\b/i

export const readNumber = (text: string): FoundNumber | undefined => {
  const match = pattern.exec(text)
  const digits = match?.[1]
  if (digits === undefined) return undefined
  const plain = withoutGrouping(digits)
  if (plain === undefined) return undefined
  const lexical = shifted(plain, scales[match?.[2]?.toLowerCase() ?? ""] ?? 0)
  return { lexical, whole: !lexical.includes(".") }
}

/** A mark before exactly three digits groups, unless another kind of mark follows; the last mark of another kind is the point. */
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

/** Moves the point in the text itself: 3.1 million is 3100000, not 3099999.9999999995. */
const shifted = (number: string, places: number): string => {
  const [whole = "0", fraction = ""] = number.split(".")
  const padded = fraction.padEnd(places, "0")
  const sign = whole.startsWith("-") ? "-" : ""
  const left = `${whole.replace(/^[+-]/, "")}${padded.slice(0, places)}`.replace(/^0+(?=\d)/, "")
  const right = padded.slice(places).replace(/0+$/, "")
  return right === "" ? `${sign}${left}` : `${sign}${left}.${right}`
}
