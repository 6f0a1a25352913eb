/**
 * Finds the words of an English sentence that are asserted. "Ada Sol did not found Verran Lines", "is said to have founded" and
 * "planned to found" assert no founding; "Ada Sol, who did not finish school, founded Verran Lines" does, since the negation
 * belongs to another clause.
 *
 * The reader splits the sentence into clauses at relative pronouns, conjunctions and commas, in one pass and without a grammar. A
 * negation or a hedge then covers its own clause from there on (a sentence adverb such as "allegedly" covers all of it), and the
 * clauses that depend on it.
 */

import { baseForm, isFormOf } from "../../text/Stem.ts"
import { auxiliaries, conjunctions, determiners, prepositions, pronouns, wordSet } from "../../text/Words.ts"

export interface Clauses {
  /** Whether each word is asserted: no negation or hedge covers it. */
  readonly stated: ReadonlyArray<boolean>
  /** Whether each word names an exception to the statement: "unlike Verran Lines", "and not Ada Sol". */
  readonly excluded: ReadonlyArray<boolean>
  /**
   * The words before the verb of the clause that contains a word; the clause's subject is among them. If only a conjunction or a
   * prepositional phrase ("with the outbreak of the war") stands there, those of the clause it is joined to. None for a relative clause.
   */
  readonly subjectOf: (at: number) => ReadonlyArray<number>
}

/** `words` in lower case; `capital` says which of them begin with a capital letter. */
export const readClauses = (words: ReadonlyArray<string>, capital: ReadonlyArray<boolean>): Clauses => {
  const reader = new ClauseReader(words, capital)
  for (let at = 0; at < words.length; at++) reader.read(at)
  const question = isQuestion(words)
  return {
    stated: words.map((_, at) => !question && !reader.isDenied(at)),
    excluded: reader.excluded,
    subjectOf: (at) => reader.subjectOf(at),
  }
}

/** The value of `denied` for a whole clause, including the words before the negation. */
const whole = -1

interface Clause {
  readonly kind: "independent" | "predicate" | "relative" | "restrictive" | "aside" | "adverbial" | "bracket"
  readonly parent: Clause | undefined
  readonly opened: number
  /** From this word on nothing is asserted. */
  denied: number
  /** Whether it asserts nothing if its parent asserts nothing where it opens. */
  readonly depends: boolean
  /** The clause before it, whose subject it shares if it has none of its own. */
  readonly joined: Clause | undefined
  /** Its first finite verb. */
  verb: number | undefined
  /** The negation also covers a verb joined with "and" if the verb has this form. */
  joins: "participle" | "base" | undefined
}

class ClauseReader {
  readonly excluded: Array<boolean>
  private readonly clauses: Array<Clause> = []
  private readonly words: ReadonlyArray<string>
  private readonly capital: ReadonlyArray<boolean>
  private current: Clause
  private excludedUntil = -1

  constructor(words: ReadonlyArray<string>, capital: ReadonlyArray<boolean>) {
    this.words = words
    this.capital = capital
    this.excluded = words.map(() => false)
    this.current = open("independent", undefined, 0)
    if (/^(?:had|were|should)$/.test(words[this.begin()] ?? "") && words.includes(",")) this.current.denied = whole
  }

  read(at: number) {
    this.findBoundary(at)
    this.clauses[at] = this.current
    this.findExclusion(at)
    this.findDenial(at)
    if (this.current.verb === undefined && this.isFinite(at)) this.current.verb = at
  }

  subjectOf(at: number): ReadonlyArray<number> {
    let clause: Clause | undefined = this.clauses[at]
    while (clause?.verb !== undefined && (clause.kind === "independent" || clause.kind === "predicate")) {
      const own: Array<number> = []
      for (let before: number = clause.opened; before < clause.verb; before++) {
        if (this.clauses[before] === clause && !(own.length === 0 && leading.has(this.word(before)))) own.push(before)
      }
      if (own.length > 0 && (clause.joined === undefined || !prepositions.has(this.word(own[0] ?? 0)))) return own
      clause = clause.joined
    }
    return []
  }

  isDenied(at: number): boolean {
    const clause = this.clauses[at]
    return clause !== undefined && isDeniedAt(clause, at)
  }

  private begin(): number {
    const found = this.words.findIndex((word) => /[\p{L}\p{N}]/u.test(word))
    return found === -1 ? 0 : found
  }

  private word(at: number): string {
    return this.words[at] ?? ""
  }

  // Clauses

  private findBoundary(at: number) {
    const word = this.word(at)
    if (word === ";" || word === ":") return this.openIndependent(at)
    if (word === "(" || word === "[") return this.push("bracket", at, false)
    if (word === ")" || word === "]") return this.closeBracket(at)
    if (word === "," || word === "-") return this.findBoundaryAtComma(at)
    if (relatives.has(word) && at > this.begin()) return this.openRelative(at)
    if (word === "that" && at > this.begin() && this.isFinite(at + 1)) return this.push("restrictive", at, true)
    if (word === "but" && !/^(?:nothing|none|all|anything|everything|one)$/.test(this.word(at - 1))) return this.openIndependent(at)
    if (word === "and" || word === "or" || word === "nor" || word === "then") return this.findBoundaryAtConjunction(at)
    if (isHypothetical(this.words, at)) return this.openHypothetical(at)
    if (adverbialOpeners.has(word) && this.hasClauseAhead(at + 1)) return this.push("adverbial", at, false)
    if (
      this.current.kind === "restrictive" &&
      this.current.verb !== undefined &&
      this.current.parent?.verb === undefined &&
      this.isSecondVerb(at)
    ) {
      this.pop()
    }
    return undefined
  }

  private findBoundaryAtComma(at: number) {
    const next = this.word(at + 1)
    const listed = this.capital[at + 1] === true || /^\d/.test(next)
    if (closesAtComma.has(this.current.kind) && this.current.opened < at - 1 && !listed && !conjunctions.has(next)) this.pop()
    else if (this.current.kind === "adverbial" && this.current.verb !== undefined && next !== "and" && next !== "or") this.pop()
    const afterName = this.capital[at - 1] === true || /^(?:\d.*|["”»)])$/.test(this.word(at - 1))
    if (this.current.verb !== undefined && listed && this.hasClauseAhead(at + 1)) return this.openIndependent(at)
    if (!afterName || this.capital[at + 1] === true) return undefined
    if (this.isAsideOfSubject(at)) return this.push("aside", at, false)
    const described = articles.has(next) && this.capital[at + 2] !== true && !this.hasClauseAhead(at + 1)
    if (described || (this.isParticiple(at + 1) && this.word(at + 2) !== ",")) return this.push("aside", at, false)
    return undefined
  }

  /** "Verran Lines, no longer a secret, is": between a subject and its verb. */
  private isAsideOfSubject(at: number): boolean {
    if (this.current.verb !== undefined || this.isFinite(at + 1) || prepositions.has(this.word(this.begin()))) return false
    if (relatives.has(this.word(at + 1)) || relatives.has(this.word(at + 2)) || conjunctions.has(this.word(at + 1))) return false
    const close = this.words.indexOf(",", at + 1)
    return close !== -1
  }

  private openRelative(at: number) {
    const before = this.word(at - 1)
    // "in which", "by whom"
    const mark = prepositions.has(before) ? this.word(at - 2) : before
    if (mark === "," || mark === "-" || mark === "(") return this.push("relative", at, false)
    return this.push("restrictive", at, true)
  }

  private findBoundaryAtConjunction(at: number) {
    const next = this.firstAfterAdverbs(at + 1)
    if (this.word(at) === "nor") {
      this.deny(at, "base")
      return
    }
    if (this.isFinite(next) || this.isParticiple(next)) {
      const shared =
        this.word(at) === "or" ||
        (this.current.joins === "participle" && this.isParticiple(next)) ||
        (this.current.joins === "base" && !this.isFinite(next))
      if (!shared) this.openPredicate(at)
      return
    }
    if (this.current.verb !== undefined && this.hasClauseAhead(at + 1)) this.openIndependent(at)
  }

  private openHypothetical(at: number) {
    const parent = this.current
    const word = this.word(at)
    const asked = word === "whether" || this.word(at - 1) === "as" || isFormOf(asking, this.word(at - 1)) || /^un/.test(this.word(at - 1))
    if (!asked) parent.denied = whole
    this.push("adverbial", at, true)
    this.current.denied = whole
  }

  private openIndependent(at: number) {
    const bracket = this.enclosingBracket()
    this.current = { ...open("independent", bracket, at), joined: this.current }
  }

  /** A further predicate of the same subject: "never gave up and founded". */
  private openPredicate(at: number) {
    this.current = { ...open("predicate", this.current.parent, at), depends: this.current.depends, joined: this.current }
  }

  private push(kind: Clause["kind"], at: number, depends: boolean) {
    this.current = { ...open(kind, this.current, at), depends }
  }

  private pop() {
    if (this.current.parent !== undefined) this.current = this.current.parent
  }

  private enclosingBracket(): Clause | undefined {
    let clause: Clause | undefined = this.current
    while (clause !== undefined && clause.kind !== "bracket") clause = clause.parent
    return clause
  }

  private closeBracket(at: number) {
    const bracket = this.enclosingBracket()
    if (bracket?.parent === undefined) return
    // "was (allegedly) founded"
    if (bracket.denied === whole && at - bracket.opened <= 4) bracket.parent.denied = whole
    this.current = bracket.parent
  }

  // Denials

  private deny(from: number, joins: Clause["joins"]) {
    const { current } = this
    // "Comet Tavi, which Joan Ek did not discover": the object of the negated verb stands before it.
    const fronted = (current.kind === "relative" || current.kind === "restrictive") && !this.isFinite(current.opened + 1)
    current.denied = fronted ? whole : Math.min(current.denied, from)
    current.joins ??= joins
  }

  private denyAll() {
    this.current.denied = whole
  }

  private findDenial(at: number) {
    if (this.capital[at] === true && at > this.begin()) return
    const word = this.word(at)
    if (word === "not" || word.endsWith("n't") || word === "cannot") return this.findNegation(at)
    if (word === "no") return this.findNo(at)
    if (word === "none" && this.word(at + 1) === "other") return undefined
    if (negators.has(word)) return this.deny(at, undefined)
    if (adverbs.has(word)) return this.denyAll()
    if (almost.has(word) && (this.isFinite(at + 1) || this.isParticiple(at + 1))) return this.deny(at, undefined)
    if (word === "but" && this.word(at - 1) === "all" && (this.isFinite(at + 1) || this.isParticiple(at + 1)))
      return this.deny(at, undefined)
    if (modals.has(word)) return this.findModal(at)
    if (refuted.has(word) && this.isAfterBe(at)) return this.denyAll()
    if (word === "according" && this.word(at + 1) === "to" && this.isDoubtfulSource(at + 2)) return this.denyAll()
    if (unreal.has(word) && (determiners.has(this.word(at - 1)) || this.word(at - 1) === "'s")) return this.deny(at, undefined)
    return this.findAttitude(at)
  }

  private findNegation(at: number) {
    const [before, next] = [this.word(at - 1), this.word(at + 1)]
    if (/^(?:only|just|merely|simply|solely|least)$/.test(next) && this.word(at) === "not") return
    if (this.hasUntilAhead(at)) return
    const inVerb = this.word(at) !== "not" || auxiliaries.has(before) || this.isAfterBe(at) || at <= this.begin() || next === "to"
    if (inVerb)
      return this.deny(at, /^(?:is|was|are|were|be|been|being|has|have|had)(?:n't)?$/.test(this.auxiliaryOf(at)) ? "participle" : "base")
    // "founded not by Ada Sol but by her sister", "Ada Sol, and not her sister"
    this.exclude(at)
  }

  private auxiliaryOf(at: number): string {
    return this.word(at).endsWith("n't") ? this.word(at) : this.word(at - 1)
  }

  /** "was not founded until 1901" asserts that it was founded in 1901. */
  private hasUntilAhead(at: number): boolean {
    for (let next = at + 1; next < this.words.length && !/^[,;:]$/.test(this.word(next)); next++)
      if (this.word(next) === "until") return true
    return false
  }

  private findNo(at: number) {
    const next = this.word(at + 1)
    if (next === "." || next === "doubt" || next === "less" || next === "sooner" || /^\d/.test(next)) return
    this.deny(at, "participle")
  }

  private findModal(at: number) {
    const word = this.word(at)
    const next = this.word(this.firstAfterAdverbs(at + 1))
    if (word === "must" && next !== "have") return
    // "would later found" tells what happened later.
    if (word === "would" && (retrospective.has(this.word(at + 1)) || next === "become" || (next === "go" && this.word(at + 2) === "on")))
      return
    this.deny(at, "base")
  }

  private findAttitude(at: number) {
    const word = this.word(at)
    const next = this.word(at + 1)
    // One lookup sorts out most words, which are in none of the lists.
    if (!attitudeWords.has(word) && !isFormOf(attitudes, word)) return undefined
    // "was to be founded"
    if (/^(?:is|was|are|were)$/.test(word) && next === "to" && /^(?:be|have)$/.test(this.word(at + 2))) return this.deny(at, "base")
    if (isFormOf(toVerbs, word) && this.hasInfinitiveAhead(at)) return this.deny(at, "base")
    if ((isFormOf(thatVerbs, word) || this.isHearsay(at)) && this.hasComplementAhead(at)) return this.deny(at, undefined)
    if ((isFormOf(thatVerbs, word) || this.isHearsay(at)) && this.isParenthetic(at)) return this.denySentence()
    if (isFormOf(gerundVerbs, word) && this.hasGerundAhead(at)) return this.deny(at, undefined)
    if (isFormOf(hindering, word) && this.isHindering(at)) return this.deny(at, undefined)
    if (isFormOf(refusing, word) && !this.isAfterBe(at)) return this.deny(at, undefined)
    if (isFormOf(unrealNouns, word) && (this.hasInfinitiveAhead(at) || this.hasNounComplementAhead(at))) return this.deny(at, undefined)
    if (openAdjectives.has(word) && (this.hasInfinitiveAhead(at) || this.hasComplementAhead(at))) return this.deny(at, "base")
    if (aheadAdjectives.has(word) && next === "to" && !this.capital[at + 2]) return this.deny(at, "base")
    if ((word === "close" || word === "far") && /ing$/.test(this.word(at + 2)) && /^(?:to|from)$/.test(next))
      return this.deny(at, undefined)
    if (word === "short" && next === "of" && /ing$/.test(this.word(at + 2))) return this.deny(at, undefined)
    if (isFormOf(hearsay, word) && (/^(?:has|had)$/.test(next) || this.isParenthetic(at))) return this.denySentence()
    return undefined
  }

  /** "a hoax", "an unconfirmed report", "local legend" */
  private isDoubtfulSource(at: number): boolean {
    for (let next = at; next < at + 5 && !/^[,;:]$/.test(this.word(next)); next++) {
      if (isFormOf(hearsay, this.word(next)) || doubtfulSources.has(this.word(next))) return true
    }
    return false
  }

  private denySentence() {
    for (const clause of new Set(this.clauses)) if (clause.kind === "independent" || clause.kind === "predicate") clause.denied = whole
    this.denyAll()
  }

  /** "is said to", "some say that", but not "the mayor said that" */
  private isHearsay(at: number): boolean {
    if (!isFormOf(saying, this.word(at))) return false
    const before = this.word(at - 1)
    return this.isAfterBe(at) || anonymous.has(before) || isFormOf(hearsay, before)
  }

  private isAfterBe(at: number): boolean {
    for (let before = at - 1; before >= 0 && before > at - 4; before--) {
      if (/^(?:is|was|are|were|be|been|being|isn't|wasn't|proved|remains|remained|turned)$/.test(this.word(before))) return true
      if (!auxiliaries.has(this.word(before)) && !/(?:ly|out|still|often|now|widely|to)$/.test(this.word(before))) return false
    }
    return false
  }

  /** Whether a "to" with a verb follows: after "one day" or "with her sister", but not after another verb. */
  private hasInfinitiveAhead(at: number): boolean {
    for (let next = at + 1; next < at + 9; next++) {
      const word = this.word(next)
      if (word === "to" || word === "not") {
        const verb = this.word(next + 1)
        if (word === "to" && !this.capital[next + 1] && /^[a-z]/.test(verb) && !determiners.has(verb) && !pronouns.has(verb)) return true
      }
      if (word === "" || /^[;:.]$/.test(word) || (this.isFinite(next) && !this.isParticiple(next))) return false
    }
    return false
  }

  /** Whether "that", a question word, a gerund or a clause follows: "he claimed Ada Sol founded it". */
  private hasComplementAhead(at: number): boolean {
    for (let next = at + 1; next < at + 4; next++) {
      if (/^(?:that|whether|if|who|whom|when|where|why|how|what|which)$/.test(this.word(next))) return true
      if (/^[,;:]$/.test(this.word(next))) return false
    }
    return this.hasGerundAhead(at) || this.hasClauseAhead(at + 1) || this.hasPresentClauseAhead(at + 1)
  }

  /** Whether a name and a verb in the present tense follow: "Ada Sol owns". */
  private hasPresentClauseAhead(at: number): boolean {
    let next = at
    while (next < at + 6 && (this.capital[next] === true || articles.has(this.word(next)))) next++
    return next > at && this.capital[next - 1] === true && /^[a-z]+[^s]s$/.test(this.word(next))
  }

  private hasGerundAhead(at: number): boolean {
    const next = this.firstAfterAdverbs(/^(?:of|about|against|on|with|in|for)$/.test(this.word(at + 1)) ? at + 2 : at + 1)
    return (
      !this.capital[next] &&
      /.{2}ing$/.test(this.word(next)) &&
      !/^(?:king|thing|nothing|anything|something|during|building)$/.test(this.word(next))
    )
  }

  /** "the claim that", "hopes of founding" */
  private hasNounComplementAhead(at: number): boolean {
    const next = this.word(at + 1)
    return next === "that" || (next === "," && this.word(at + 2) === "that") || (/^(?:of|about|for)$/.test(next) && this.hasGerundAhead(at))
  }

  private isHindering(at: number): boolean {
    for (let next = at + 1; next < at + 8; next++) if (this.word(next) === "from" && /ing$/.test(this.word(next + 1))) return true
    return false
  }

  /** Whether the verb ends the sentence after a comma, ", it is said.", or stands between two, ", it is said,". */
  private isParenthetic(at: number): boolean {
    // "Ada Sol, it is said, was born": between two commas.
    if (this.word(at + 1) === ",") return /^(?:so|as|it|they|people|some|many)$/.test(this.word(this.words.lastIndexOf(",", at) + 1))
    if (this.words.slice(at + 1).some((word) => /[\p{L}\p{N}]/u.test(word) && !/^(?:goes|has|it|have)$/.test(word))) return false
    for (let before = at - 1; before > at - 7 && before > 0; before--) if (this.word(before) === ",") return true
    return false
  }

  // Exclusions

  private findExclusion(at: number) {
    const word = this.word(at)
    if (at < this.excludedUntil) return
    const [before, next] = [this.word(at - 1), this.word(at + 1)]
    const found =
      word === "unlike" ||
      (word === "except" && next !== "that") ||
      (word === "without" && !/^(?:doubt|question)$/.test(next) && this.word(at + 2) !== "doubt") ||
      (word === "instead" && next === "of") ||
      (word === "rather" && next === "than" && before !== "other") ||
      (word === "other" && next === "than" && before !== "none") ||
      (word === "contrary" && next === "to") ||
      (word === "opposed" && next === "to")
    if (found) this.exclude(at)
  }

  private exclude(at: number) {
    let end = at
    while (end < this.words.length && !/^[,;:)-]$/.test(this.word(end)) && this.word(end) !== "but") {
      if (this.current.verb === undefined && end > at + 1 && this.isFinite(end) && this.word(this.begin()) !== this.word(at)) break
      this.excluded[end] = true
      end++
    }
    this.excludedUntil = end
  }

  // Verbs

  private isFinite(at: number): boolean {
    const word = this.word(at)
    if (this.capital[at] === true && at > this.begin()) return false
    if (finiteAuxiliaries.has(word) || word.endsWith("n't")) return true
    if (/^(?:been|being|born|done|gone|written|taken|given|known|shown|drawn)$/.test(word) || doubtfulSources.has(word)) return false
    return (
      (/[^e]ed$/.test(word) && word.length > 4 && this.word(at + 1) !== "by") ||
      (baseForm(word) !== undefined && this.word(at + 1) !== "by")
    )
  }

  private isParticiple(at: number): boolean {
    const word = this.word(at)
    return (
      !this.capital[at] && (/[^e]ed$/.test(word) || /ing$/.test(word) || (baseForm(word) !== undefined && !finiteAuxiliaries.has(word)))
    )
  }

  /** Whether the word is a finite verb without an auxiliary, "to", "and" or a comma before it. */
  private isSecondVerb(at: number): boolean {
    const before = this.word(at - 1)
    return (
      this.isFinite(at) &&
      !auxiliaries.has(before) &&
      before !== "to" &&
      !conjunctions.has(before) &&
      before !== "," &&
      !before.endsWith("n't")
    )
  }

  /** Whether a subject with its verb follows: "he founded", "the two sisters founded", "Ada Sol of Kell founded". */
  private hasClauseAhead(at: number): boolean {
    let subject = false
    for (let next = at; next < at + 9; next++) {
      const word = this.word(next)
      if (this.isFinite(next)) return subject
      if (word === "" || /^[^\p{L}\p{N}'"“”]/u.test(word) || (conjunctions.has(word) && word !== "and")) return false
      if (!subject && prepositions.has(word) && word !== "of") return false
      if (pronouns.has(word) || this.capital[next] || !(determiners.has(word) || prepositions.has(word))) subject = true
    }
    return false
  }

  private firstAfterAdverbs(at: number): number {
    let next = at
    while (
      /(?:ly|later|then|also|soon|still|even|never|always|once|again|only|not|ever|thus|so|instead)$/.test(this.word(next)) &&
      next < at + 3
    )
      next++
    return next
  }
}

const open = (kind: Clause["kind"], parent: Clause | undefined, opened: number): Clause => ({
  kind,
  parent,
  opened,
  denied: Number.POSITIVE_INFINITY,
  depends: false,
  joined: undefined,
  verb: undefined,
  joins: undefined,
})

const isDeniedAt = (clause: Clause, at: number): boolean =>
  at >= clause.denied || (clause.depends && clause.parent !== undefined && isDeniedAt(clause.parent, clause.opened))

const isQuestion = (words: ReadonlyArray<string>): boolean => {
  let last = words.length - 1
  while (last >= 0 && /^["'”’»)\]!]$/.test(words[last] ?? "")) last--
  return words[last] === "?" || words[last] === "？" || words[last] === "؟"
}

/** Whether a word opens a hypothetical clause: "if" does, "if not" and "if any" do not. */
const isHypothetical = (words: ReadonlyArray<string>, at: number): boolean => {
  const word = words[at] ?? ""
  if (word === "if") return !/^(?:not|any|ever|only|anything)$/.test(words[at + 1] ?? "")
  if (word === "though") return words[at - 1] === "as"
  if (word === "case") return words[at - 1] === "in" && words[at + 1] !== "of"
  return word === "whether" || word === "unless" || word === "lest"
}

/** Words and marks that join a clause to the one before. */
const leading = wordSet("and but or nor so yet then , ; : - later also finally soon eventually")
const relatives = wordSet("who whom which whose where")
const articles = wordSet("a an the")
const adverbialOpeners = wordSet("although though while whereas because since after before when until once")
const closesAtComma: ReadonlySet<string> = new Set(["relative", "aside"])
const finiteAuxiliaries = wordSet("is am are was were has have had do does did will would shall should can could may might must cannot")

const negators = wordSet("never hardly scarcely neither none nobody nothing nowhere no-one")
const adverbs = wordSet(`allegedly supposedly reportedly purportedly apparently seemingly presumably perhaps maybe possibly probably likely
  ostensibly hypothetically theoretically falsely wrongly mistakenly erroneously incorrectly conceivably`)
const almost = wordSet("almost nearly practically virtually")
const modals = wordSet("may might could should ought would must")
const retrospective = wordSet("later eventually soon then subsequently also ultimately finally thereafter afterwards")

/** Predicates that take a statement back: "was disproved". */
const refuted = wordSet(`false untrue rejected denied disproved disproven refuted debunked discredited disputed vetoed unfounded unproven
  unconfirmed doubtful dubious mistaken rumoured rumored alleged`)

/** Adjectives for what does not exist or did not happen: "the proposed merger". */
const unreal = wordSet("proposed attempted alleged supposed purported rumoured rumored would-be so-called failed")

const saying = wordSet("say tell report write hold state go")
const anonymous = wordSet("some people they many others locals sources")
const doubtfulSources = wordSet(
  "unconfirmed unverified unproven disputed anonymous unnamed false fake fabricated forged satirical fictional",
)
const asking = wordSet("ask wonder know doubt question see decide")
const hearsay = wordSet(`legend rumour rumor tradition myth gossip folklore hearsay story theory hypothesis hoax prank fabrication forgery
  satire speculation`)

const toVerbs =
  wordSet(`plan hope want intend aim fail refuse decline try attempt seek wish expect threaten offer promise agree vow pledge propose
  pretend claim allege say believe think suppose rumour rumor report repute assume presume forget neglect struggle desire dream prepare
  hesitate mean need ask tell order urge invite encourage advise long seem appear forbid allege understand suspect estimate purport
  cease volunteer apply bid schedule slate`)
const thatVerbs =
  wordSet(`deny doubt claim allege believe think suspect suppose assume presume imagine pretend speculate rumour rumor hope wish fear
  dream argue suggest propose predict expect guess wonder question ask hypothesize hypothesise theorize theorise conjecture contend dispute
  reject refute lie dismiss worry boast fantasize forecast`)
const gerundVerbs =
  wordSet(`deny consider avoid contemplate resist imagine suggest propose discuss envisage envision postpone risk stop quit cease dream
  think decide fail talk refuse oppose debate accuse charge acquit blame suspect clear convict exonerate absolve indict try`)
const hindering = wordSet("prevent stop keep ban bar discourage prohibit hinder deter block dissuade")
const refusing = wordSet("reject decline refuse deny")
const unrealNouns =
  wordSet(`claim rumour rumor allegation belief theory hypothesis idea suggestion proposal plan intention hope wish attempt failure refusal
  offer bid dream desire promise threat suspicion speculation myth legend lie doubt request application possibility likelihood chance prospect
  demand inability ambition notion assumption fear story pledge vow accusation charge hoax`)
const openAdjectives =
  wordSet(`unable unlikely likely unclear unknown uncertain undecided possible impossible doubtful conceivable plausible probable eager
  reluctant unwilling false untrue`)
const aheadAdjectives = wordSet("about yet going supposed poised")

const attitudes: ReadonlySet<string> = new Set([
  ...toVerbs,
  ...thatVerbs,
  ...gerundVerbs,
  ...hindering,
  ...refusing,
  ...unrealNouns,
  ...saying,
  ...hearsay,
])
const attitudeWords: ReadonlySet<string> = new Set([...openAdjectives, ...aheadAdjectives, ...wordSet("is was are were close far short")])
