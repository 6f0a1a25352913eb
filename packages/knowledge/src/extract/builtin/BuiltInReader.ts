/**
 * Reads chunks with one ontology and one model: prose sentence by sentence, tables and key-value lines by their form. The results
 * depend on the arguments alone, so a worker thread returns the same as the main thread.
 */

import { joinLines } from "@detent/machine/internal"
import type { TaskChannel } from "@detent/processes"
import * as Result from "effect/Result"
import type { Chunk } from "../../document/Chunk.ts"
import { splitSentences } from "../../document/Sentences.ts"
import type { Fact, Mention, Misfit, Span } from "../../fact/Fact.ts"
import type { ClassExpression } from "../../ontology/Ontology.ts"
import { OntologyIndex, type PackedOntology } from "../../ontology/OntologyIndex.ts"
import { withoutPlural } from "../../text/Stem.ts"
import { fold, tokenize } from "../../text/Words.ts"
import { LanguageReader, type ReadStatement } from "../language/LanguageReader.ts"
import { fitsDatatype } from "../Values.ts"
import { genderOf, type Mentioned, type Named, Referents, unnamedPersons } from "./Antecedents.ts"
import { type BuiltInModel, confidenceOf } from "./BuiltInModel.ts"
import { type Candidate, overlaps } from "./Candidates.ts"
import { Evidence, tokenLeadingTo } from "./Evidence.ts"
import { type Example, type ExamplesText, examplesTask, readExamples } from "./Example.ts"
import { between, ClassLabels, compatible, factOf, isValue, knownTypes, type Place, type Statement, spanKey } from "./FoundFact.ts"
import { Gazetteer, type KnownName } from "./Gazetteer.ts"
import { objectFeatures } from "./ObjectFeatures.ts"
import { classesMeeting, groupsOf, type OntologyView, PropertyNames, viewOntology } from "./OntologyView.ts"
import { type Judge, type Judgement, type KnownNames, predict, type ReadSentence, type RuleGroup, readSentence } from "./Prediction.ts"
import { isApproximate, joinsPersons } from "./QualifiedNames.ts"
import type { SentenceView } from "./SentenceView.ts"
import { type Piece, readNames, readStructure, type StructuralStatement, type Structure } from "./Structure.ts"
import { subjectFeatures } from "./SubjectFeatures.ts"
import { trainBuiltIn } from "./Training.ts"

/** The least chance of a subject for the next sentence to refer to it. */
const clearSubject = 0.4

/** Names of offices in capitals, which are no names of persons. */
const offices: ReadonlySet<string> = new Set(["CEO", "CFO", "CIO", "COO", "CTO", "MD", "VP", "MP", "PM", "HR", "PR"])

/** The factor for the confidence of a value that a sentence gives only roughly: such a fact needs a review. */
const roughly = 0.5

/** The least confidence of a fact for its subject and object to get the classes of the property's domain and range. */
const typingConfidence = 0.5

/** From this match on, a key or the header of a column surely means a property. */
const surelyMeant = 0.8

export class BuiltInReader {
  private readonly ontology: OntologyIndex
  private readonly view: OntologyView
  private readonly model: BuiltInModel
  private readonly judge: Judge
  private readonly names: PropertyNames
  private readonly labels: ClassLabels
  private readonly given: Gazetteer
  private readonly fromExamples: Gazetteer
  /** The place of each property in the view of the ontology. */
  private readonly places: ReadonlyMap<string, number>
  /** By language. */
  private readonly languages = new Map<string, LanguageReader | undefined>()
  /** The result for the last chunk: callers mostly ask for its entities first and for its facts next. */
  private last:
    | {
        readonly chunk: Chunk
        readonly leastConfidence: number
        readonly facts: ReadonlyArray<Fact>
        readonly misfits: ReadonlyArray<Misfit>
        readonly spans: ReadonlySet<string>
      }
    | undefined

  constructor(ontology: OntologyIndex, model: BuiltInModel, names: ReadonlyArray<KnownName>, without: ReadonlySet<RuleGroup> = new Set()) {
    this.ontology = ontology
    this.model = model
    this.view = viewOntology(ontology)
    this.names = new PropertyNames(this.view)
    this.labels = new ClassLabels(ontology)
    this.given = new Gazetteer(names)
    this.fromExamples = new Gazetteer(model.names.map((name) => ({ name, types: [] })))
    this.places = new Map(this.view.properties.map(({ iri }, at) => [iri, at]))
    this.judge = { ...judgeOf(this.view, model, this.given), without }
  }

  /** All facts of the chunk, the surest first. `spans` always become candidates. */
  facts(chunk: Chunk, leastConfidence: number, spans: ReadonlyArray<Span> = []): ReadonlyArray<Fact> {
    return this.read(chunk, leastConfidence, spans).facts
  }

  /** The facts between given mentions. Mentions that this reader found are candidates already, so their facts need no second reading. */
  factsBetween(chunk: Chunk, leastConfidence: number, mentions: ReadonlyArray<Mention>): ReadonlyArray<Fact> {
    const last = this.lastOf(chunk, leastConfidence)
    const facts =
      last !== undefined && mentions.every(({ span }) => last.spans.has(spanKey(span)))
        ? last.facts
        : this.facts(
            chunk,
            leastConfidence,
            mentions.map(({ span }) => span),
          )
    return between(facts, mentions, this.ontology)
  }

  /** The values of tables and fields that do not fit the datatype of their property, and the rows that have no name. */
  misfits(chunk: Chunk, leastConfidence: number): ReadonlyArray<Misfit> {
    return (this.lastOf(chunk, leastConfidence) ?? this.read(chunk, leastConfidence, [])).misfits
  }

  private lastOf(chunk: Chunk, leastConfidence: number) {
    const { last } = this
    const isSame =
      last?.chunk.text === chunk.text &&
      last.chunk.language === chunk.language &&
      last.chunk.offset === chunk.offset &&
      last.leastConfidence === leastConfidence
    return isSame ? last : undefined
  }

  /** The entities of the chunk's facts, and names whose class the text or the gazetteer gives. */
  mentions(chunk: Chunk, leastConfidence: number): ReadonlyArray<Mention> {
    const found = new Map<string, Mention>()
    const add = (mention: Mention) => {
      const key = `${spanKey(mention.span)} ${mention.type}`
      const known = found.get(key)
      if (known === undefined || known.confidence < mention.confidence) found.set(key, mention)
    }
    const { facts, misfits, sentences, named } = this.read(chunk, leastConfidence, [])
    for (const fact of facts) {
      add(fact.subject)
      if (fact.object._tag === "Entity") add(fact.object.mention)
    }
    for (const mention of named) if (![...found.values()].some(({ span }) => spanKey(span) === spanKey(mention.span))) add(mention)
    for (const sentence of sentences) for (const mention of this.named(sentence, found)) add(mention)
    const mentions = [...found.values()].sort((one, other) => one.span.start - other.span.start || other.span.end - one.span.end)
    this.last = { chunk, leastConfidence, facts, misfits, spans: new Set(mentions.map(({ span }) => spanKey(span))) }
    return mentions
  }

  /** The facts of the chunk, its English sentences as they were read, and the names that the reader of another language found. */
  private read(chunk: Chunk, leastConfidence: number, spans: ReadonlyArray<Span>) {
    const found = readStructure(chunk.text, chunk.offset, this.names)
    const structure = this.judge.without.has("tables and fields") ? { ...found, statements: [] } : found
    const { language } = chunk
    if (language !== undefined && language !== "en") return this.readOther(chunk, language, structure, leastConfidence)
    const prose = structure.prose.map(({ piece, topic }) => ({ sentences: this.sentences(piece, spans), heading: topic?.name }))
    const { statements: fields, lists } = this.fields(structure)
    const statements = [
      ...fields,
      ...prose.flatMap(({ sentences, heading }) =>
        this.prose(sentences, heading)
          .filter((one) => this.hasNames(one))
          .map((one) => withoutArticle(one, chunk.text)),
      ),
    ]
    const facts = this.factsOf(chunk, statements, leastConfidence)
    return {
      facts: compatible(this.ontology, facts),
      misfits: [...this.misfitsOf(chunk, fields), ...lists, ...misfitsOfRows(structure)],
      sentences: prose.flatMap(({ sentences }) => sentences),
      named: [],
    }
  }

  /** Reads a chunk in a language other than English: its structure as in English, its prose if the language has a reader. */
  private readOther(chunk: Chunk, language: string, structure: Structure, leastConfidence: number) {
    const reader = this.readerOf(language)
    const prose = reader === undefined ? [] : structure.prose.map(({ piece, topic }) => reader.read(piece, topic?.name))
    const { statements: fields, lists } = this.fields(structure)
    const statements = [
      ...fields,
      ...prose.flatMap((read) => read.statements.map((one) => this.statementOf(one)).filter((one) => this.hasNames(one))),
    ]
    const facts = this.factsOf(chunk, statements, leastConfidence)
    const named = prose.flatMap((read) =>
      read.named.flatMap(
        ({ text, start, end, said: [type] }): ReadonlyArray<Mention> =>
          type === undefined ? [] : [{ type, text, span: { start, end }, confidence: 0.6 }],
      ),
    )
    return {
      facts: compatible(this.ontology, facts),
      misfits: [...this.misfitsOf(chunk, fields), ...lists, ...misfitsOfRows(structure)],
      sentences: [],
      named,
    }
  }

  /** Only for keys and columns that surely mean the property. */
  private misfitsOf({ language }: Chunk, fields: ReadonlyArray<Statement>): ReadonlyArray<Misfit> {
    return fields.flatMap(({ property, object: { text, start, end }, confidence }) =>
      confidence < surelyMeant || fitsDatatype(this.ontology, property, text, language) ? [] : [{ property, text, span: { start, end } }],
    )
  }

  private factsOf(chunk: Chunk, statements: ReadonlyArray<Statement>, leastConfidence: number): ReadonlyArray<Fact> {
    return statements.flatMap((statement) => {
      const fact = statement.confidence < leastConfidence ? undefined : factOf(this.ontology, this.labels, chunk, statement)
      return fact === undefined ? [] : [fact]
    })
  }

  /**
   * Whether the entities of a statement have names: not "bakery", "the works" or the label of a class. Examples of the property can
   * show that its objects are common nouns, and examples of any kind that subjects are.
   */
  private hasNames({ subject, property, object }: Statement): boolean {
    if (this.model.examples === 0 && !this.isName(subject.text)) return false
    const at = this.places.get(property)
    const isTaught = at !== undefined && this.judge.objectEvidence.positivesOf(at) > 0
    return isTaught || isValue(this.ontology, property, object) || this.isName(object.text)
  }

  private isName(text: string): boolean {
    const words = tokenize(text).map((token) => fold(token.text))
    if (this.given.typesOf(words) !== undefined || this.fromExamples.typesOf(words) !== undefined) return true
    const name = text.replace(/^(?:the|an?)\s+/i, "")
    if (!/[\p{Lu}\p{Lt}\p{Lo}\p{N}]/u.test(name) || offices.has(name)) return false
    return [name, withoutPlural(name)].every((one) => this.names.classNamed(one) === undefined)
  }

  private readerOf(language: string): LanguageReader | undefined {
    if (this.judge.without.has("other languages")) return undefined
    if (!this.languages.has(language)) this.languages.set(language, LanguageReader.of(language, this.ontology))
    return this.languages.get(language)
  }

  private statementOf({ subject, property, object, confidence }: ReadStatement): Statement {
    const known = (text: string) => this.given.typesOf(tokenize(text).map((token) => fold(token.text))) ?? []
    return {
      subject: { ...subject, kind: "name", known: known(subject.text) },
      property,
      object: { ...object, kind: object.isValue ? "number" : "name", known: known(object.text) },
      confidence,
    }
  }

  private sentences(piece: Piece, spans: ReadonlyArray<Span>): ReadonlyArray<ReadSentence> {
    return splitSentences(piece.text).map(({ start, end }) => {
      const known: KnownNames = { occurrences: (words) => [...this.given.occurrences(words), ...this.fromExamples.occurrences(words)] }
      return readSentence(piece.text.slice(start, end), piece.start + start, this.view, known, spans)
    })
  }

  private prose(sentences: ReadonlyArray<ReadSentence>, heading: Piece | undefined): ReadonlyArray<Statement> {
    const referents = new Referents(
      this.ontology,
      heading === undefined ? undefined : { ...heading, kind: "name", said: this.labels.inName(heading.text), known: [] },
    )
    return sentences.flatMap((read) => {
      const found = this.labels.find(read.view)
      const placeOf = (at: number): Place => this.place(read, at, found)
      const earlier = this.judge.without.has("earlier subjects") ? [] : referents.referredTo(read.view)
      const { predictions, subjects } = predict(this.judge, read, earlier.length > 0)
      const statements = predictions.flatMap(({ subject, property, object, chance }): ReadonlyArray<Statement> => {
        const iri = this.view.properties[property]?.iri
        if (iri === undefined) return []
        const from =
          subject === "earlier" ? earlier.find(({ place }) => this.canBeSubject(place, iri)) : { place: placeOf(subject), share: 1 }
        const to = object === "earlier" ? earlier.find(({ place }) => this.canBeObject(place, iri)) : { place: placeOf(object), share: 1 }
        if (from === undefined || to === undefined) return []
        const roughness = object !== "earlier" && isApproximate(read.view, read.candidates[object]!) ? roughly : 1
        const confidence = confidenceOf(this.model.calibration, chance) * from.share * to.share * roughness
        return [{ subject: from.place, property: iri, object: to.place, confidence }]
      })
      const clear = clearSubjectOf(read, subjects)
      referents.note(this.mentioned(read, clear, statements, placeOf))
      return statements
    })
  }

  private mentioned(
    read: ReadSentence,
    clear: number | undefined,
    statements: ReadonlyArray<Statement>,
    placeOf: (at: number) => Place,
  ): Mentioned {
    const { view, candidates } = read
    const namedAt = (at: number): Named => ({
      ...this.withTypes(placeOf(at), statements),
      gender: genderOf(view, candidates[at]!, at === clear),
      isPlace: isPlaceName(view, candidates[at]!),
    })
    const isOne = (at: number) => !joinsPersons(view, candidates[at]!)
    const whole = candidates.flatMap((candidate, at) => (candidate.kind === "name" && isOne(at) && isWhole(read, candidate) ? [at] : []))
    // Both names of "Ada Sol and Jon Bray" are subjects.
    const isSubject = (at: number) =>
      at === clear || (clear !== undefined && !isOne(clear) && overlaps(candidates[at]!, candidates[clear]!))
    const subjects = clear === undefined ? [] : isOne(clear) ? [clear] : whole.filter(isSubject)
    return {
      subjects: subjects.map(namedAt),
      others: whole.filter((at) => !isSubject(at)).map(namedAt),
      unnamed: unnamedPersons(view),
    }
  }

  private canBeSubject({ said, known }: Place, property: string): boolean {
    const types = [...said, ...known]
    return (
      types.length === 0 ||
      types.some((type) => this.ontology.acceptsSubject(property, type) || this.isAbove(type, this.ontology.domainOf(property)))
    )
  }

  private canBeObject({ said, known }: Place, property: string): boolean {
    const types = [...said, ...known]
    return (
      types.length === 0 ||
      types.some((type) => this.ontology.acceptsObject(property, type) || this.isAbove(type, this.ontology.rangeOf(property)))
    )
  }

  /** Whether a class is more general than a class of the expression, so that an entity of it may be of the narrower class, too. */
  private isAbove(type: string, expression: ClassExpression): boolean {
    return expression.some((members) => members.some((member) => this.ontology.isA(member, type)))
  }

  /** Adds the classes that follow from the facts of the sentence: the subject of a birth date is a person. */
  private withTypes(place: Place, statements: ReadonlyArray<Statement>): Place {
    if (place.said.length + place.known.length > 0) return place
    const types = statements.flatMap(({ subject, property, object, confidence }) => {
      if (confidence < typingConfidence) return []
      if (subject.start === place.start && subject.end === place.end) return classesMeeting(this.ontology, this.ontology.domainOf(property))
      if (object.start !== place.start || object.end !== place.end) return []
      return classesMeeting(this.ontology, this.ontology.rangeOf(property))
    })
    return { ...place, known: types.filter((type) => this.ontology.classes.has(type)) }
  }

  private place(read: ReadSentence, at: number, found: ReturnType<ClassLabels["find"]>): Place {
    const candidate = read.candidates[at]!
    return {
      ...pieceOfCandidate(read.view, candidate),
      kind: candidate.kind,
      said: this.labels.saidOf(read.view, candidate, found),
      known: knownTypes(this.given, read.view, candidate),
    }
  }

  /** The statements of tables and fields, and the values that state nothing: one that may be a list of names is not read as one name. */
  private fields(structure: Structure): { readonly statements: ReadonlyArray<Statement>; readonly lists: ReadonlyArray<Misfit> } {
    const read = structure.statements.map((stated) => ({ stated, names: this.namesIn(stated) }))
    return {
      statements: read.flatMap(({ stated, names = [] }) => names.map((name) => this.structural(stated, name))),
      lists: read.flatMap(({ stated: { property, value }, names }) => (names === undefined ? [misfitOf(property, value)] : [])),
    }
  }

  /** The names or the value of a field. A property that has one value has one name, whatever commas it has. */
  private namesIn({ property, value }: StructuralStatement): ReadonlyArray<Piece> | undefined {
    const isName = this.ontology.properties.get(property)?.kind === "object"
    return isName && !this.ontology.hasOneValue(property) ? readNames(value) : [value]
  }

  private structural({ topic, property, match }: StructuralStatement, value: Piece): Statement {
    return {
      subject: { ...topic.name, kind: "name", said: topic.type === undefined ? [] : [topic.type], known: [] },
      property,
      object: { ...value, kind: "name", said: [], known: [] },
      confidence: match,
      isField: true,
    }
  }

  /** Names whose class the sentence or the gazetteer gives, except those that have a class from a fact. */
  private named(read: ReadSentence, taken: ReadonlyMap<string, Mention>): ReadonlyArray<Mention> {
    const found = this.labels.find(read.view)
    const spans = new Set([...taken.values()].map(({ span }) => spanKey(span)))
    return read.candidates.flatMap((candidate): ReadonlyArray<Mention> => {
      if (candidate.kind !== "name" && candidate.kind !== "quotation") return []
      const piece = pieceOfCandidate(read.view, candidate)
      const span = { start: piece.start, end: piece.end }
      const [known] = knownTypes(this.given, read.view, candidate).filter((iri) => this.ontology.classes.has(iri))
      const [said] = isWhole(read, candidate) ? this.labels.saidOf(read.view, candidate, found) : []
      const type = known ?? said
      if (type === undefined || spans.has(spanKey(span))) return []
      return [{ type, text: piece.text, span, confidence: known === undefined ? 0.6 : 0.9 }]
    })
  }
}

const pieceOfCandidate = (view: SentenceView, { first, last, text }: Candidate): Piece => ({
  text,
  start: view.tokens[first]?.start ?? view.offset,
  end: view.tokens[last]?.end ?? view.offset,
})

const misfitOf = (property: string, { text, start, end }: Piece): Misfit => ({ property, text, span: { start, end } })

const misfitsOfRows = ({ unread }: Structure): ReadonlyArray<Misfit> =>
  unread.map(({ property, piece: { text, start, end } }) => ({ property, text: joinLines(text, "; "), span: { start, end } }))

/** Drops the article of "The Halcyon" if the text elsewhere has the name without it, or with a lower-case one. */
const withoutArticle = (statement: Statement, text: string): Statement => {
  const { subject } = statement
  const article = /^The\s+(?=\S)/.exec(subject.text)?.[0]
  if (article === undefined) return statement
  const name = subject.text.slice(article.length)
  return standsWithoutArticle(text, name)
    ? { ...statement, subject: { ...subject, text: name, start: subject.start + article.length } }
    : statement
}

const standsWithoutArticle = (text: string, name: string): boolean => {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const around = `${text[at - 1] ?? " "}${text[at + name.length] ?? " "}`
    if (!/[\p{L}\p{N}]/u.test(around) && !/\bThe\s+$/.test(text.slice(Math.max(0, at - 8), at))) return true
  }
  return false
}

/** The subject of a sentence, if it is clear. The chances of overlapping variants of a name, with and without its article, add up. */
const clearSubjectOf = (read: ReadSentence, subjects: Judgement["subjects"]): number | undefined => {
  const best = subjects[0]?.subject
  if (best === undefined || best === "earlier") return undefined
  const chance = subjects.reduce(
    (sum, { subject, chance: own }) =>
      subject !== "earlier" && overlaps(read.candidates[subject]!, read.candidates[best]!) ? sum + own : sum,
    0,
  )
  return chance >= clearSubject ? best : undefined
}

/** Whether no other name contains the candidate; two names with "and" between them are two. */
const isWhole = (read: ReadSentence, candidate: Candidate): boolean =>
  !read.candidates.some(
    (other) =>
      other !== candidate &&
      other.kind === "name" &&
      other.first <= candidate.first &&
      other.last >= candidate.last &&
      (!joinsPersons(read.view, other) || joinsPersons(read.view, candidate)),
  )

/** "in Kell", "at Kell" */
const isPlaceName = (view: SentenceView, { first }: Candidate): boolean =>
  /^(?:in|at|near|into|outside|around|across|within)$/.test(view.words[tokenLeadingTo(view, first)] ?? "")

const judgeOf = (ontology: OntologyView, model: BuiltInModel, gazetteer: Gazetteer): Omit<Judge, "without"> => {
  const places = new Map(ontology.properties.map((property, at) => [property.iri, at]))
  return {
    ontology,
    objectEvidence: Evidence.fromCounts(
      model.objectEvidence,
      ontology.properties.length,
      (relation) => places.get(model.properties[relation] ?? ""),
      groupsOf(ontology.properties),
    ),
    subjectEvidence: Evidence.fromCounts(model.subjectEvidence, 1, (relation) => relation),
    weights: {
      object: Float64Array.from(objectFeatures, (name) => model.objectWeights[name] ?? 0),
      subject: Float64Array.from(subjectFeatures, (name) => model.subjectWeights[name] ?? 0),
    },
    gazetteer,
    readsPlainSentences: true,
  }
}

// The tasks of a worker, and their inputs.

/** The shared data of the built-in extractor for every chunk of a batch. */
export interface SharedReader {
  readonly ontology: PackedOntology
  readonly model: BuiltInModel
  readonly names: ReadonlyArray<KnownName>
}

export interface TrainInput {
  readonly ontology: PackedOntology
  /** Examples, or the text of a checked examples file. */
  readonly examples: ExamplesText | ReadonlyArray<Example>
  readonly names: ReadonlyArray<KnownName>
}

export interface ReadInput {
  readonly chunk: Chunk
  readonly leastConfidence: number
}

export interface ReadOutput {
  readonly mentions: ReadonlyArray<Mention>
  /** The facts between `mentions`. */
  readonly facts: ReadonlyArray<Fact>
  readonly misfits: ReadonlyArray<Misfit>
}

export interface FactsInput extends ReadInput {
  readonly mentions: ReadonlyArray<Mention>
}

/** The tasks keep the reader made from shared data for as long as the worker keeps the data. */
export const makeBuiltInTasks = () => {
  // A reader takes longer to prepare than a chunk to read, and is the same for all chunks of a batch.
  const readers = new WeakMap<SharedReader, BuiltInReader>()
  const readerOf = (shared: SharedReader): BuiltInReader => {
    const kept = readers.get(shared)
    if (kept !== undefined) return kept
    const reader = new BuiltInReader(OntologyIndex.unpack(shared.ontology), shared.model, shared.names)
    readers.set(shared, reader)
    return reader
  }
  return {
    examples: examplesTask,
    train: ({ ontology, examples, names }: TrainInput): BuiltInModel =>
      trainBuiltIn(OntologyIndex.unpack(ontology), "text" in examples ? Result.getOrThrow(readExamples(examples)) : examples, { names }),
    read: ({ chunk, leastConfidence }: ReadInput, _: TaskChannel, shared: SharedReader): ReadOutput => {
      const reader = readerOf(shared)
      const mentions = reader.mentions(chunk, leastConfidence)
      const facts = reader.factsBetween(chunk, leastConfidence, mentions)
      return { mentions, facts, misfits: reader.misfits(chunk, leastConfidence) }
    },
    facts: ({ chunk, leastConfidence, mentions }: FactsInput, _: TaskChannel, shared: SharedReader) =>
      readerOf(shared).factsBetween(chunk, leastConfidence, mentions),
  }
}
