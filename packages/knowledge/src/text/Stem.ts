/**
 * Reduces an English word to a root that it shares with the words derived from it: director, directed, directs and direction
 * all give "direc". Labels of properties are nouns ("publisher"), texts use the verb ("was published by"), so stemming of
 * inflections alone would not match them. The root is a key for comparison, not a word.
 */

export const stem = (word: string): string => {
  if (!/^[a-z][a-z'-]*$/.test(word) || word.length <= 3) return baseForm(word) ?? word
  const base = baseForm(word)
  if (base !== undefined) return root(base)
  return root(word.replace(/'s?$/, ""))
}

const root = (word: string): string => {
  const inflected = withoutInflection(word)
  // Twice, for words derived from derived words: publish, publisher.
  return closed(withoutDerivation(withoutDerivation(inflected)))
}

const withoutInflection = (word: string): string => {
  const single = withoutPlural(word)
  for (const ending of ["ing", "ed"]) {
    if (!single.endsWith(ending)) continue
    const rest = single.slice(0, -ending.length)
    // "string", "bed" and "red" have no verb before the ending; "used" and "aging" do.
    if (rest.length >= (/^[aeiou]/.test(rest) ? 2 : 3) && /[aeiouy]/.test(rest)) return undoubled(rest)
  }
  return single
}

/** "cities" is the same word as "city"; "citizen" is another, though it may share a root. */
export const withoutPlural = (word: string): string => {
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`
  return /(?:s|x|z|ch|sh)es$/.test(word) ? word.slice(0, -2) : word.replace(/([^su])s$/, "$1")
}

/** The endings that make nouns and adjectives of verbs, longest first, each with the least length of the remaining word. */
const derivations: ReadonlyArray<readonly [ending: string, least: number]> = [
  ["ication", 4],
  ["isation", 4],
  ["ization", 4],
  ["ically", 4],
  ["ations", 3],
  ["ation", 3],
  ["ative", 3],
  ["atory", 3],
  ["ition", 5],
  ["ators", 3],
  ["ator", 3],
  ["ments", 4],
  ["ment", 4],
  ["ances", 4],
  ["ance", 4],
  ["ence", 4],
  ["ship", 4],
  ["ness", 4],
  ["able", 4],
  ["ible", 4],
  ["ants", 4],
  ["ant", 4],
  ["ents", 4],
  ["ent", 4],
  ["ions", 4],
  ["ion", 3],
  ["ive", 4],
  ["ers", 3],
  ["ors", 4],
  ["ists", 4],
  ["ist", 4],
  ["ism", 4],
  ["ess", 5],
  ["ees", 4],
  ["ee", 4],
  ["er", 3],
  ["or", 4],
  ["ish", 4],
  ["ify", 4],
  ["ise", 4],
  ["ize", 4],
  ["ate", 3],
  ["al", 4],
  ["ic", 4],
  ["ly", 4],
]

const withoutDerivation = (word: string): string => {
  for (const [ending, least] of derivations) {
    if (word.length - ending.length >= least && word.endsWith(ending)) return undoubled(word.slice(0, -ending.length))
  }
  return word
}

const undoubled = (word: string): string => (/([bdfgmnprt])\1$/.test(word) ? word.slice(0, -1) : word)

/** Unifies the remaining variants: "creat", "create" and "cre"; "produc" and "product"; "story" and "stori". */
const closed = (word: string): string => {
  const open = word.length > 3 ? word.replace(/[eyi]$/, "") : word
  const short = open.length >= 5 && open.endsWith("at") ? open.slice(0, -2) : open
  return short.length >= 5 && short.endsWith("ct") ? short.slice(0, -1) : short
}

// English verbs: the irregular forms with their bases, and the look of the regular ones.

const forms = `
arise arose arisen|awake awoke awoken|be am are is was were been being|bear bore borne born|beat beaten|become became
begin began begun|bend bent|bind bound|bite bit bitten|bleed bled|blow blew blown|break broke broken|bring brought
build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug|do does did done
draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt
fight fought|find found|flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|freeze froze frozen
get got gotten|give gave given|go goes went gone|grow grew grown|hang hung|have has had|hear heard|hide hid hidden
hold held|keep kept|know knew known|lay laid|lead led|leave left|lend lent|light lit|lose lost|make made|mean meant
meet met|overcome overcame|overthrow overthrew overthrown|pay paid|ride rode ridden|ring rang rung|rise rose risen
run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone|shoot shot|show shown
shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|spend spent
spin spun|stand stood|steal stole stolen|stick stuck|strike struck stricken|swear swore sworn|sweep swept|swim swam swum
swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|undergo underwent undergone
understand understood|undertake undertook undertaken|wake woke woken|wear wore worn|weave wove woven|win won|wind wound
withdraw withdrew withdrawn|write wrote written
`

/** "found" is left out, or it would hide the verb "to found". */
const table: ReadonlyMap<string, string> = new Map(
  forms
    .trim()
    .split(/[|\n]/)
    .flatMap((line) => {
      const [base = "", ...others] = line.split(" ")
      return others.filter((form) => form !== "found").map((form) => [form, base] as const)
    }),
)

export const baseForm = (word: string): string | undefined => table.get(word)

/** Whether a word looks like a verb form: "written", "founded", "leading". Few other words do. */
export const isVerbLike = (word: string): boolean => /(?:ed|ing)$/.test(word) || baseForm(word) !== undefined

/** Whether a word is a form of one of these verbs, or the plural of one of these nouns. */
export const isFormOf = (bases: ReadonlySet<string>, word: string): boolean => {
  if (bases.has(word) || bases.has(baseForm(word) ?? "")) return true
  const ending = /(?:ied|ies|ying|ed|es|ing|s)$/.exec(word)?.[0]
  if (ending === undefined) return false
  const rest = word.slice(0, -ending.length)
  // "denied" and "denying", "lied" and "lying"
  if (ending === "ied" || ending === "ies" || ending === "ying") return bases.has(`${rest}y`) || bases.has(`${rest}ie`)
  return bases.has(rest) || bases.has(`${rest}e`) || (/(.)\1$/.test(rest) && bases.has(rest.slice(0, -1)))
}
