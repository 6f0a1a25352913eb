/** English verbs: what their forms look like, and the bases that no rule of endings leads back to. */

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

/** "written", "founded", "leading": a form that a verb has, and few other words. */
export const isVerbLike = (word: string): boolean => /(?:ed|ing)$/.test(word) || baseForm(word) !== undefined

/** Whether a word is a form of one of these verbs, or the plural of one of these nouns. */
export const isFormOf = (bases: ReadonlySet<string>, word: string): boolean => {
  if (bases.has(word) || bases.has(baseForm(word) ?? "")) return true
  const ending = /(?:ied|ies|ed|es|ing|s)$/.exec(word)?.[0]
  if (ending === undefined) return false
  const rest = word.slice(0, -ending.length)
  if (ending === "ied" || ending === "ies") return bases.has(`${rest}y`)
  return bases.has(rest) || bases.has(`${rest}e`) || (/(.)\1$/.test(rest) && bases.has(rest.slice(0, -1)))
}
