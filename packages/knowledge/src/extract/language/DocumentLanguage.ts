/**
 * Finds the language of a document: from its declaration, from its text, and from keys that are labels of the ontology in one language. A
 * declared language holds unless enough prose is clearly in another: pages often declare the language of their template.
 */
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { labelKey } from "../../text/Words.ts"

/** The language of a tag such as `de-AT`, in lower case; undefined if the text is not a tag. */
const languageOfTag = (tag: string): string | undefined =>
  /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*$/.test(tag.trim()) ? tag.trim().split(/[-_]/)[0]?.toLowerCase() : undefined

/** The facts about its language that an extractor needs to read a document. */
export interface DocumentLanguage {
  /** Undefined where the text is too short to tell. */
  readonly language: string | undefined
  /** Whether it has sentences, not only tables and `key: value` lines. */
  readonly hasProse: boolean
}

/** In words. Less prose than this overrides a declared language by its script only. */
const overridingWords = 40

/** The part of the answer that the text alone gives, as plain data. */
export interface LanguageEvidence extends DocumentLanguage {
  /** Absent where the keys cannot change the language. */
  readonly open?: {
    readonly scores: ReadonlyArray<readonly [language: string, score: number]>
    /** In the form of `labelKey`, each once. */
    readonly keys: ReadonlyArray<string>
  }
}

export const documentLanguage = (beginning: string, declared: string | undefined, ontology: OntologyIndex): DocumentLanguage =>
  languageBy(languageEvidence(beginning, declared), ontology)

export const languageEvidence = (beginning: string, declared: string | undefined): LanguageEvidence => {
  const prose = proseOf(beginning)
  const hasProse = prose.trim() !== ""
  const tagged = declared === undefined ? undefined : languageOfTag(declared)
  if (tagged !== undefined) {
    const found = prose.split(/\s+/).length >= overridingWords ? detectLanguage(prose) : languageOfScript(prose)
    return { language: found === undefined || found === "und" ? tagged : found, hasProse }
  }
  const language = detectLanguage(beginning)
  if (languageOfScript(beginning) !== undefined) return { language, hasProse }
  return { language, hasProse, open: { scores: [...languageScores(beginning)], keys: keysOf(beginning) } }
}

export const languageBy = ({ language, hasProse, open }: LanguageEvidence, ontology: OntologyIndex): DocumentLanguage => {
  const byKeys = open === undefined ? new Map<string, number>() : keyScores(open.keys, ontology)
  if (open === undefined || byKeys.size === 0) return { language, hasProse }
  const scores = new Map(open.scores)
  for (const [one, score] of byKeys) scores.set(one, (scores.get(one) ?? 0) + score)
  return { language: mostLikely(scores) ?? language, hasProse }
}

/** The score of a key that is a label in one language alone. */
const keyWeight = 2
const mostKeys = 500

/** In UTF-16 code units. */
const longestKey = 48

/** The keys of lines such as `name: value`, `- name = value`. */
const keysOf = (text: string): ReadonlyArray<string> => {
  const keys = new Set<string>()
  for (const { 0: line } of text.matchAll(/.+/g)) {
    if (keys.size >= mostKeys) break
    const mark = line.search(/[:=|]/)
    if (mark < 1 || line[mark] === "|") continue
    const key = line
      .slice(0, mark)
      .trim()
      .replace(/^[-*•] /, "")
      .trim()
    if (key !== "" && key.length <= longestKey) keys.add(labelKey(key))
  }
  return [...keys]
}

const keyScores = (keys: ReadonlyArray<string>, ontology: OntologyIndex): ReadonlyMap<string, number> => {
  const languages = labelLanguages(ontology)
  const scores = new Map<string, number>()
  for (const key of keys) {
    const owners = languages.get(key)
    if (owners === undefined) continue
    for (const language of owners) scores.set(language, (scores.get(language) ?? 0) + keyWeight / owners.size)
  }
  return scores
}

const known = new WeakMap<OntologyIndex, ReadonlyMap<string, ReadonlySet<string>>>()

/** By label, the languages that have it. A label without a language counts as English. */
const labelLanguages = (ontology: OntologyIndex): ReadonlyMap<string, ReadonlySet<string>> => {
  const kept = known.get(ontology)
  if (kept !== undefined) return kept
  const found = new Map<string, Set<string>>()
  for (const { labels, alternativeLabels } of [...ontology.ontology.properties, ...ontology.ontology.classes]) {
    for (const { text, language } of [...labels, ...alternativeLabels]) {
      const key = labelKey(text)
      found.set(key, (found.get(key) ?? new Set()).add(languageOfTag(language) ?? "en"))
    }
  }
  known.set(ontology, found)
  return found
}

const spoken = new WeakMap<OntologyIndex, ReadonlySet<string>>()

/** The languages in which properties of an ontology have labels. The language of labels without a tag is detected from their text. */
export const languagesOfOntology = (ontology: OntologyIndex): ReadonlySet<string> => {
  const kept = spoken.get(ontology)
  if (kept !== undefined) return kept
  const texts = ontology.ontology.properties.flatMap(({ labels, alternativeLabels }) => [...labels, ...alternativeLabels])
  const found = new Set(texts.flatMap(({ language }) => languageOfTag(language) ?? []))
  const untagged = texts.filter(({ language }) => language === "")
  const like = mostLikely(languageScores(untagged.map(({ text }) => text).join("\n")))
  if (untagged.length > 0) found.add(like ?? "en")
  spoken.set(ontology, found)
  return found
}

// The most frequent function words of languages in Latin script, and letters and endings that few languages share. A sentence or two is
// enough to detect a language; a word of several languages counts less for each.

/** By language tag. */
const commonWords: Readonly<Record<string, string>> = {
  en: `the of and to in is was for on that by with as are were be this from at it an his her its they which or had has have not but
    their been who he she also when into after first other more than there would about these two between`,
  de: `der die das und ist war wurde von den dem des ein eine einer einem einen im am zu zum zur mit auf für als auch sich nicht aus bei
    nach wird werden sind hat haben es er sie durch über vom bis oder sowie seit unter vor ihre ihr seine sein waren wurden dass zwischen`,
  fr: `le la les de des du et est était fut un une dans par pour sur avec au aux ce cette ces qui que il elle ils elles en son sa ses leur
    leurs été ont sont plus ne pas comme entre où depuis selon mais d'un d'une l'un c'est dont à`,
  es: `el la los las de del y es fue era un una en por para con se su sus que al lo como más pero está son han ha sido también desde
    entre hasta sobre este esta estos estas donde cuando muy fueron según sin tiene nació`,
  nl: `de het een en van is was werd in op te met voor door zijn haar hun die dat aan bij als ook niet uit naar om tot heeft hebben
    worden wordt over onder tussen deze dit er maar of nog waar opgericht na`,
  it: `il lo la gli le di del della dei delle dello degli e è era fu un una uno in nel nella per con su da dal dalla che si non sono
    come anche più suo sua stato stata al alla ha hanno tra fra questo questa dopo`,
  pt: `o a os as de do da dos das e é foi era um uma em no na nos nas por para com se seu sua que ao não mais como também são foram
    tem entre até sobre pelo pela este esta ela ele após`,
  sv: `och att det som en ett är var av för på med i den till har de inte om från han hon sin sitt sina efter blev vid också eller när
    mellan under år grundades`,
  da: `og at det som en et er var af for på med i den til har de ikke om fra han hun sin sit sine efter blev ved også eller når mellem
    under år blev`,
  no: `og å det som en et er var av for på med i den til har de ikke om fra han hun sin sitt sine etter ble ved også eller når mellom
    under år ble`,
  fi: `ja on oli ei se hän että joka ovat olivat mutta myös kun kuin tai sekä vuonna hänen sen mukaan jälkeen ensimmäinen`,
  pl: `i w na z do się jest był była było przez dla od po oraz który która które jako nie to że są został została roku o jego jej`,
  cs: `a v na se je byl byla bylo z do že pro od po který která které jako ne to jsou roku jeho její také nebo ve s k`,
  sk: `a v na sa je bol bola bolo z do že pre od po ktorý ktorá ktoré ako nie to sú roku jeho jej tiež alebo vo s k`,
  hu: `a az és egy is hogy nem volt meg van ez azt mint de csak már még vagy között után által évben lett`,
  ro: `și de la în cu pe un o este a fost care din pentru sau mai nu au sunt prin lui ei după între al ale`,
  tr: `ve bir bu ile için olarak olan da de tarafından daha çok sonra en gibi ancak yılında kadar olduğu ise`,
  ca: `el la els les de del dels i és va ser un una en per amb que es al com més però són han ha estat també des entre fins sobre aquest
    aquesta seva seu`,
  id: `yang dan di dari untuk dengan ini itu pada adalah dalam tidak ke oleh sebagai akan juga telah atau tahun`,
  vi: `và của là có được trong cho một các với không người này đã từ những để năm tại`,
}

/** Letters that hint at a language. Each has a small part of a word's weight. */
const hintingLetters: Readonly<Record<string, string>> = {
  de: "äöüß",
  fr: "éèêàçùœîôû",
  es: "ñáíóúé¿¡",
  it: "àèìòù",
  pt: "ãõçáéêó",
  sv: "åäö",
  da: "æøå",
  no: "æøå",
  fi: "äö",
  pl: "ąćęłńśźż",
  cs: "ěščřžýů",
  sk: "ľĺŕôčšž",
  hu: "őűáéö",
  ro: "ăâîșț",
  tr: "ğışç",
  ca: "çàèòï",
  vi: "ăâđêôơưạảấầẩậắằặẹẻếềểệịọỏốồổộớờởợụủứừửựỳỵ",
}

/** Endings of long words that hint at a language. */
const hintingEndings: Readonly<Record<string, string>> = {
  en: "ing tion ment ness ship ed ly ght",
  de: "ung ungen keit heit lich isch schaft chen gen ter tum",
  fr: "eur euse tion ment aire elle eaux ette iste ique",
  es: "ción dad miento ado ada dor dora ero era ario",
  nl: "ing heid lijk isch aar ijk eren",
  it: "zione mento tore trice ità ario aria",
  pt: "ção dade mento dor dora ário eiro",
}

// Detects the language of a text from its script and its most frequent function words. Only a bounded part of the text is read, and the
// same text always gives the same result.

/** The length of the text that is read, in UTF-16 code units. More text does not change the result. */
const detectedWithin = 8000

/** The language tag of a text that is clearly in none of the known languages. */
const undetermined = "und"

/** How much a word counts for each language that has it. */
const weights: ReadonlyMap<string, ReadonlyArray<readonly [language: string, weight: number]>> = readWords()

function readWords() {
  const owners = new Map<string, Array<string>>()
  for (const [language, words] of Object.entries(commonWords)) {
    for (const word of new Set(words.trim().split(/\s+/))) owners.set(word, [...(owners.get(word) ?? []), language])
  }
  return new Map([...owners].map(([word, languages]) => [word, languages.map((one) => [one, 1 / languages.length] as const)]))
}

const ownersOf = (hints: Readonly<Record<string, string>>, apart: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const owners = new Map<string, Array<string>>()
  for (const [language, text] of Object.entries(hints)) {
    for (const hint of text.split(apart)) owners.set(hint, [...(owners.get(hint) ?? []), language])
  }
  return owners
}

const letters = ownersOf(hintingLetters, "")
const endings = ownersOf(hintingEndings, " ")

/** The weight of a letter or an ending; a word has 1. */
const hintWeight = 0.3

/** The score of each language for a text in Latin script. */
const languageScores = (text: string): ReadonlyMap<string, number> => {
  const scores = new Map<string, number>()
  const add = (language: string, weight: number) => scores.set(language, (scores.get(language) ?? 0) + weight)
  for (const { 0: word } of text
    .slice(0, detectedWithin)
    .toLowerCase()
    .matchAll(/[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)?/gu)) {
    const known = weights.get(word.replace("’", "'")) ?? weights.get(word.split(/['’]/).at(-1) ?? "")
    if (known !== undefined) for (const [language, weight] of known) add(language, weight)
    for (const letter of new Set(word)) {
      const owners = letters.get(letter) ?? []
      for (const language of owners) add(language, hintWeight / owners.length)
    }
    if (known !== undefined || word.length < 6) continue
    for (const length of [2, 3, 4, 5, 6]) {
      const owners = endings.get(word.slice(-length)) ?? []
      for (const language of owners) add(language, hintWeight / owners.length)
    }
  }
  return scores
}

/** A language other than English needs this score, and this many times the score of English. */
const leastScore = 1.5
const overEnglish = 1.3

/** The language with the highest score: English if it is close, undefined if all scores are too low. */
const mostLikely = (scores: ReadonlyMap<string, number>): string | undefined => {
  const english = scores.get("en") ?? 0
  const [best] = [...scores].sort(([one, left], [other, right]) => right - left || (one < other ? -1 : 1))
  if (best === undefined) return undefined
  const [language, score] = best
  if (language !== "en" && score >= leastScore && score > english * overEnglish) return language
  return english >= 1 ? "en" : undefined
}

const scripts: ReadonlyArray<readonly [script: string, pattern: RegExp]> = [
  ["Latin", /\p{sc=Latin}/gu],
  ["Cyrillic", /\p{sc=Cyrillic}/gu],
  ["Han", /\p{sc=Han}/gu],
  ["Kana", /[\p{sc=Hiragana}\p{sc=Katakana}]/gu],
  ["Hangul", /\p{sc=Hangul}/gu],
  ["Arabic", /\p{sc=Arabic}/gu],
  ["Greek", /\p{sc=Greek}/gu],
  ["Hebrew", /\p{sc=Hebrew}/gu],
  ["Thai", /\p{sc=Thai}/gu],
  ["Devanagari", /\p{sc=Devanagari}/gu],
  ["Bengali", /\p{sc=Bengali}/gu],
  ["Tamil", /\p{sc=Tamil}/gu],
  ["Georgian", /\p{sc=Georgian}/gu],
  ["Armenian", /\p{sc=Armenian}/gu],
]

const byScript: Readonly<Record<string, (text: string) => string>> = {
  Cyrillic: (text) =>
    /[іїєґ]/iu.test(text) ? "uk" : /[јљњћђ]/iu.test(text) ? "sr" : /[ыэё]/iu.test(text) ? "ru" : /ъ/iu.test(text) ? "bg" : "ru",
  Han: () => "zh",
  Kana: () => "ja",
  Hangul: () => "ko",
  Arabic: (text) => (/[پچژگ]/u.test(text) ? "fa" : "ar"),
  Greek: () => "el",
  Hebrew: () => "he",
  Thai: () => "th",
  Devanagari: () => "hi",
  Bengali: () => "bn",
  Tamil: () => "ta",
  Georgian: () => "ka",
  Armenian: () => "hy",
}

/** The language that follows from the script of a text; undefined if most letters are Latin or there are none. */
const languageOfScript = (text: string): string | undefined => {
  const part = text.slice(0, detectedWithin)
  const counts = new Map(scripts.map(([script, pattern]) => [script, part.match(pattern)?.length ?? 0]))
  const all = part.match(/\p{L}/gu)?.length ?? 0
  const latin = counts.get("Latin") ?? 0
  if (all === 0 || latin * 2 >= all) return undefined
  // Japanese mixes kana with Han.
  if ((counts.get("Kana") ?? 0) * 10 >= (counts.get("Han") ?? 0) && (counts.get("Kana") ?? 0) > 0) return "ja"
  const [script] = [...counts].filter(([, count]) => count > 0).sort(([, left], [, right]) => right - left)[0] ?? ["", 0]
  return byScript[script]?.(part) ?? undetermined
}

/** Whether a line is a sentence or more, not a heading, a name or a `key: value`. */
const isSentence = (line: string): boolean => {
  const text = line.trim()
  if (/[。！？]/u.test(text)) return true
  return /[.!?…»”"“)؟।]$/u.test(text) && text.split(/\s+/, 5).length >= 5 && !/^[^\s:][^:.!?]{0,48}:\s/u.test(text)
}

/** The prose of a text: the part that an extractor can read only if it knows the language. */
const proseOf = (text: string): string =>
  text
    .slice(0, detectedWithin)
    // A wrapped paragraph counts as one line.
    .split(/\n\s*\n/)
    .flatMap((paragraph) => (isSentence(paragraph.replaceAll("\n", " ")) ? [paragraph] : paragraph.split("\n").filter(isSentence)))
    .join("\n")

const words = (text: string): number => text.match(/[\p{L}\p{M}]+/gu)?.length ?? 0

/** Prose of at least this many words with hardly any function word of a known language is in another language. */
const decidingWords = 40
const fewKnown = 0.03

export const detectLanguage = (text: string): string | undefined => {
  const script = languageOfScript(text)
  if (script !== undefined) return script
  const found = mostLikely(languageScores(text))
  if (found !== undefined) return found
  const prose = proseOf(text)
  const count = words(prose)
  if (count < decidingWords) return undefined
  const known = [...prose.toLowerCase().matchAll(/[\p{L}\p{M}]+/gu)].filter(({ 0: word }) => weights.has(word)).length
  return known < count * fewKnown ? undetermined : undefined
}
