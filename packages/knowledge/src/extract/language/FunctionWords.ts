/** The closed classes of English words: those that hold a sentence together rather than name anything. */

/** The words of a list. */
export const set = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

export const determiners = set("a an the this that these those its his her their our my your each every some any no both all another")

export const pronouns = set("he she it they we i you him them us me who whom which what himself herself itself themselves")

export const prepositions = set(`of in on at by for from to with as into onto over under about after before during between among through
  against within without upon via near around across behind beyond since until till towards toward along off out up down per than like
  including featuring alongside besides despite unlike amid throughout inside outside beneath beside`)

export const conjunctions = set(
  "and or but nor so yet if when while because although though where whereas whether both either neither then",
)

export const auxiliaries = set(`be is am are was were been being has have had having do does did will would shall should can could may might
  must not also only just very more most`)

const others = set(`there here how why again further once such own same too s t now ever never always often usually later currently still
  well much many few several other others first last next new today yesterday tomorrow recently originally initially eventually finally
  meanwhile however therefore thus instead sometimes perhaps`)

/** Words that may stand inside a name but neither begin nor end it. */
export const nameConnectors = set(`of the and for in on to de del della di da do dos das du des la le les el los las von van der den und y e
  et al bin ibn ben zu zum zur am im a an at from with by or 's n o' & vs v`)

const all: ReadonlySet<string> = new Set([...determiners, ...pronouns, ...prepositions, ...conjunctions, ...auxiliaries, ...others])

export const isFunctionWord = (word: string): boolean => all.has(word)
