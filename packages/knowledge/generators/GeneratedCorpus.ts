/**
 * Documents of any number with known truth: which entity each name stands for, and which facts each text states. Entities
 * come under several names, some documents contradict others, some names are in other scripts, some facts stand in tables.
 * The same options give the same documents.
 */
import { Chance } from "./Chance.ts"
import { cityAt, companyAt, type EntityType, peoplePerCompany, personAt, productAt, type World, type WorldEntity } from "./World.ts"
import { type Statement, writeCsv, writeHtml, writeJson, writeMarkdown, writeText } from "./Writing.ts"

export interface CorpusOptions {
  readonly documents: number
  readonly seed?: number
  /** The share of documents that state another founding year than the true one. */
  readonly contradictions?: number
  /** How many companies a document speaks of: what makes documents longer. */
  readonly companiesPerDocument?: number
}

export type DocumentFormat = "txt" | "md" | "html" | "json" | "csv"

/** A name as a document writes it, and the entity it stands for. */
export interface TrueMention {
  readonly entity: string
  readonly type: EntityType
  readonly name: string
}

/** A fact as a document states it. */
export interface TrueFact {
  readonly subject: TrueMention
  readonly property: string
  readonly object: TrueMention | string
  /** False where the document contradicts the world. */
  readonly holds: boolean
}

export interface GeneratedDocument {
  readonly name: string
  readonly format: DocumentFormat
  readonly text: string
  readonly mentions: ReadonlyArray<TrueMention>
  readonly facts: ReadonlyArray<TrueFact>
}

const writers = { txt: writeText, md: writeMarkdown, html: writeHtml, json: writeJson, csv: writeCsv }

export const generateCorpus = function* (options: CorpusOptions): Generator<GeneratedDocument> {
  for (let index = 0; index < options.documents; index++) yield documentAt(options, index)
}

/** One document of a corpus, without those before it. */
export const documentAt = (options: CorpusOptions, index: number): GeneratedDocument => {
  const { documents, seed = 1, contradictions = 0.02, companiesPerDocument = 1 } = options
  const world: World = { seed, companies: Math.max(1, Math.ceil(documents / 5)) }
  const chance = new Chance(seed, "document", index)
  const format = chance.one<DocumentFormat>(["txt", "txt", "txt", "txt", "md", "html", "json", "csv"])
  const facts: Array<TrueFact> = []
  const statements: Array<ReadonlyArray<Statement>> = []
  for (let place = 0; place < companiesPerDocument; place++) {
    const company = (index * companiesPerDocument + place * 7) % world.companies
    const told = tellOfCompany(world, company, chance, contradictions)
    facts.push(...told)
    statements.push(told.map(statementOf))
  }
  return {
    name: `document-${String(index).padStart(7, "0")}.${format}`,
    format,
    text: writers[format](statements, chance),
    mentions: facts.flatMap(({ subject, object }) => (typeof object === "string" ? [subject] : [subject, object])),
    facts,
  }
}

const statementOf = ({ subject, property, object }: TrueFact): Statement => ({
  subject: subject.name,
  property,
  object: typeof object === "string" ? object : object.name,
})

const tellOfCompany = (world: World, index: number, chance: Chance, contradictions: number): ReadonlyArray<TrueFact> => {
  const truth = new Chance(world.seed, "truth", index)
  const company = speakOf(companyAt(world, index), chance)
  const founder = speakOf(personAt(world, index * peoplePerCompany), chance)
  const manager = speakOf(personAt(world, index * peoplePerCompany + 1 + chance.below(peoplePerCompany - 1)), chance)
  const founded = String(1900 + truth.below(120))
  const contradicts = chance.happens(contradictions)
  const said = contradicts ? String(Number(founded) + 1 + chance.below(9)) : founded
  const born = `${1930 + truth.below(60)}-${two(1 + truth.below(12))}-${two(1 + truth.below(28))}`
  const city = cityAt(world, truth.below(world.companies))
  const product = productAt(world, index)
  return [
    { subject: company.name(), property: "foundedIn", object: said, holds: !contradicts },
    { subject: founder.name(), property: "founderOf", object: company.name(), holds: true },
    {
      subject: company.name(),
      property: "headquarteredIn",
      object: mentionOf(city, city.name),
      holds: true,
    },
    { subject: company.name(), property: "makes", object: mentionOf(product, product.name), holds: true },
    { subject: manager.name(), property: "worksFor", object: company.name(), holds: true },
    { subject: founder.name(), property: "bornOn", object: born, holds: true },
  ]
}

/** The first time a document names something it does so fully; after that it may be short. */
const speakOf = (entity: WorldEntity, chance: Chance) => {
  const full =
    chance.happens(0.3) && entity.names.length > 0 ? (entity.names[chance.below(entity.names.length)] ?? entity.name) : entity.name
  let said = false
  return {
    name: (): TrueMention => {
      const short = said && entity.shortNames.length > 0 && chance.happens(0.25)
      said = true
      return mentionOf(entity, short ? (entity.shortNames[chance.below(entity.shortNames.length)] ?? full) : full)
    },
  }
}

const mentionOf = ({ id, type }: WorldEntity, name: string): TrueMention => ({ entity: id, type, name })

const two = (number: number) => String(number).padStart(2, "0")
