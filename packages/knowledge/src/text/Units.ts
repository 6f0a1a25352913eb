/** Units of measurement and currencies: the word after a number, or the last word of a label. */
import { wordSet } from "./Words.ts"

const symbols =
  /^(?:[kMGT]?W(?:p|h)?|[kM]?VA|[kMG](?:V|J|N|Hz|B|Pa)|TB|Hz|[kcm]?m[²³]?|[km]?g|[mh]?l|ha|km\/h|mph|dB|°[CF]|EUR|USD|GBP|CHF|SEK|NOK|DKK|t|s|h)$/

const unitWords =
  wordSet(`watts kilowatts megawatts gigawatts terawatts volts amperes hertz kilohertz megahertz gigahertz watt kilowatt megawatt
  gigawatt metres meters kilometres kilometers centimetres centimeters millimetres millimeters miles feet inches yards metre meter kilometre
  kilometer mile foot inch yard grams kilograms tonnes tons pounds ounces gram kilogram tonne ton litres liters hectares acres litre liter
  hectare acre percent euros dollars francs kroner kronor yen megabytes gigabytes terabytes knots degrees`)

/** Whether a word is the symbol or the English name of a unit. Case matters for symbols: a megawatt is MW. */
export const isUnitName = (word: string): boolean => symbols.test(word) || unitWords.has(word.toLowerCase())

const foldedSymbols = new RegExp(symbols.source, "i")

/** A label without the unit of its values: "capacity mw" is about a capacity. */
export const withoutUnit = (label: string): string => {
  const words = label.split(" ")
  const last = words.at(-1) ?? ""
  return words.length > 1 && (foldedSymbols.test(last) || unitWords.has(last.toLowerCase())) ? words.slice(0, -1).join(" ") : label
}
