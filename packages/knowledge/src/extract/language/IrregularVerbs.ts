/** The forms of English verbs that no rule of endings leads back to their base. */

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
