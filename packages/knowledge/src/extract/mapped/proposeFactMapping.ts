/**
 * Proposes a mapping by the names of columns, by their values and by the labels of the ontology. A person checks it: a column that has no
 * property of its name is left to be counted, and what is only likely is noted.
 */
import { proposeMapping as proposeFields, type TargetField, type ValueType } from "@detent/tables"
import type { FoundRecord } from "../../document/Reading.ts"
import type { FactMapping, FactRule, FileRule, NestedRule } from "../../mapping/FactMapping.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { localName, xsd } from "../../rdf/Vocabulary.ts"
import { isPlaceholder } from "../../text/Placeholder.ts"
import { labelKey } from "../../text/Words.ts"
import { isNumeric } from "../Values.ts"

/** Some records of files that have the same columns. */
export interface RecordSample {
  /** The pattern of the files. */
  readonly file: string
  readonly records: ReadonlyArray<FoundRecord>
}

export interface ProposedMapping {
  readonly mapping: FactMapping
  /** What its user should look at, a sentence each. */
  readonly notes: ReadonlyArray<string>
}

export const proposeFactMapping = (samples: ReadonlyArray<RecordSample>, ontology: OntologyIndex): ProposedMapping => {
  const proposer = new Proposer(ontology)
  const files = samples.flatMap((sample) => proposer.file(sample))
  return { mapping: { files }, notes: proposer.notes }
}

/** The values of a column in some records. */
interface Column {
  readonly name: string
  readonly texts: ReadonlyArray<string>
  readonly isText: boolean
}

class Proposer {
  readonly notes: Array<string> = []
  readonly #ontology: OntologyIndex

  constructor(ontology: OntologyIndex) {
    this.#ontology = ontology
  }

  file({ file, records }: RecordSample): ReadonlyArray<FileRule> {
    const [first] = records
    if (first === undefined) return []
    const isNamed = first.table !== "" && !/^table \d+$/.test(first.table)
    const table = isNamed ? { table: first.table } : {}
    const each = first.columns === undefined && records.length === 1 ? listOfRecords(first) : undefined
    const columns = columnsOf(records, each === undefined ? "" : `${each}.`)
    const proposed = this.#record(file, [file.replace(/\.[a-z]+$/i, ""), first.table, each ?? ""], columns)
    if (proposed === undefined) {
      this.notes.push(`${file}${isNamed ? `, ${first.table}` : ""} is not read: no column is a name, or no class of the ontology is meant`)
      return []
    }
    return [{ file, ...table, ...(each === undefined ? {} : { each }), ...proposed }]
  }

  #record(place: string, about: ReadonlyArray<string>, columns: ReadonlyArray<Column>) {
    const lists = new Set(columns.flatMap(({ name }) => (/^[^[]+\[\]\./.test(name) ? [`${name.slice(0, name.indexOf("[]"))}[]`] : [])))
    const own = columns.filter(({ name }) => ![...lists].some((list) => name.startsWith(`${list}.`)))
    const name = nameColumn(own, this.#ontology)
    if (name === undefined) return undefined
    const type = this.#classOf([...about, name.name], columns)
    if (type === undefined) return undefined
    const others = columns.filter((column) => column !== name)
    const identifier = identifierColumn(own.filter((column) => column !== name))
    const { facts, locale } = this.#facts(place, type, others)
    const taken = new Set(facts.map(({ column }) => column))
    const nested = [...lists].flatMap((each) => this.#list(place, type, each, columns, taken))
    const inLists = nested.map(({ each }) => each)
    const left = others.filter(
      (column) => !taken.has(column.name) && column !== identifier && !inLists.some((each) => column.name.startsWith(`${each}.`)),
    )
    if (left.length > 0) this.notes.push(`${place}: no property for ${left.map((column) => column.name).join(", ")}`)
    return {
      ...(locale === undefined ? {} : { locale }),
      class: this.#nameOf(type),
      name: name.name,
      ...(identifier === undefined ? {} : { identifier: identifier.name }),
      facts,
      ...(nested.length === 0 ? {} : { nested }),
    }
  }

  /** A list whose items are records of a class that a property of the parent leads to. */
  #list(place: string, parent: string, each: string, columns: ReadonlyArray<Column>, taken: Set<string>): ReadonlyArray<NestedRule> {
    const inside = columns.filter((column) => column.name.startsWith(`${each}.`))
    if (inside.length < 2 || inside.some((column) => taken.has(column.name))) return []
    const label = each.slice(0, -2).split(".").at(-1) ?? each
    const found = [label, singular(label)].flatMap((one) => this.#ontology.withLabel(words(one)).properties)
    const property = found.find((iri) => this.#ontology.acceptsSubject(iri, parent))
    const type =
      property === undefined
        ? undefined
        : this.#ontology
            .rangeOf(property)
            .flat()
            .find((iri) => this.#ontology.classes.has(iri))
    if (property === undefined || type === undefined) return []
    const relative = inside.map((column) => ({ ...column, name: column.name.slice(each.length + 1) }))
    const proposed = this.#record(`${place}, ${each}`, [this.#ontology.label(type)], relative)
    return proposed === undefined ? [] : [{ each, link: { property: this.#nameOf(property) }, ...proposed }]
  }

  /** The class that the file, the table or the column of names means, else the one whose properties the columns name. */
  #classOf(about: ReadonlyArray<string>, columns: ReadonlyArray<Column>): string | undefined {
    for (const text of about.toReversed()) {
      const parts = text.split(/[/*]+/).filter((part) => part !== "")
      for (const part of parts.toReversed())
        for (const one of [words(part), singular(words(part)), ...words(part).split(" ").map(singular)]) {
          const [iri, another] = this.#ontology.withLabel(one).classes
          if (iri !== undefined && another === undefined) return iri
        }
    }
    const scores = [...this.#ontology.classes.keys()].map((iri) => {
      const labels = new Set(this.#ontology.propertiesOf(iri).flatMap((property) => this.#ontology.names(property.iri).map(labelKey)))
      const specific = this.#ontology.propertiesOf(iri).filter(({ iri: property }) => this.#ontology.domainOf(property).length > 0).length
      return { iri, score: columns.filter(({ name }) => labels.has(labelKey(words(name)))).length, specific }
    })
    const [best, next] = scores.toSorted((one, other) => other.score - one.score || other.specific - one.specific)
    return best === undefined || best.score === 0 || (next?.score === best.score && next.specific === best.specific) ? undefined : best.iri
  }

  #facts(
    place: string,
    type: string,
    columns: ReadonlyArray<Column>,
  ): { readonly facts: ReadonlyArray<FactRule>; readonly locale?: string } {
    // Each name of a property is a field. The best column of any of them is the column of the property.
    const fields = new Map<string, string>()
    for (const { iri } of this.#ontology.propertiesOf(type))
      for (const name of [...this.#ontology.names(iri), words(localName(iri))]) if (!fields.has(pathOf(name))) fields.set(pathOf(name), iri)
    const isOfEntities = (iri: string) => this.#ontology.properties.get(iri)?.kind === "object"
    const proposalFor = (some: ReadonlyArray<Column>, isWanted: (iri: string) => boolean) =>
      proposeFields({
        columns: some.map(({ name }) => name),
        rows: rowsOf(some),
        fields: [...fields].flatMap(
          ([path, iri]): ReadonlyArray<TargetField> =>
            isWanted(iri) ? [{ path, type: typeOf(this.#ontology.datatypesOf(iri)), isRequired: false }] : [],
        ),
      }).mapping
    const values = proposalFor(columns, (iri) => !isOfEntities(iri))
    // Numbers are no names of entities.
    const entities = proposalFor(
      columns.filter(({ isText, texts }) => isText && texts.some((text) => /\p{L}/u.test(text))),
      isOfEntities,
    )
    const found = new Map<string, { readonly iri: string; readonly as: ValueType | undefined; readonly isExact: boolean }>()
    const taken = new Set<string>()
    const ranked = [...values.fields, ...entities.fields]
      .map((rule) => ({
        rule,
        isExact:
          labelKey(words(lastKey(rule.column ?? ""))) === labelKey(rule.field) ||
          labelKey(words(rule.column ?? "")) === labelKey(rule.field),
      }))
      .toSorted((one, other) => Number(other.isExact) - Number(one.isExact))
    for (const { rule, isExact } of ranked) {
      const iri = fields.get(rule.field)
      const { column } = rule
      if (iri === undefined || column === undefined || taken.has(iri) || found.has(column)) continue
      taken.add(iri)
      found.set(column, { iri, as: rule.as, isExact })
    }
    const likely = [...found].filter(([, { isExact }]) => !isExact)
    if (likely.length > 0)
      this.notes.push(`${place}: check ${likely.map(([column, { iri }]) => `${column} (${this.#ontology.label(iri)})`).join(", ")}`)
    const facts = columns.flatMap(({ name, texts }): ReadonlyArray<FactRule> => {
      const rule = found.get(name)
      if (rule === undefined) return []
      const range = this.#ontology
        .rangeOf(rule.iri)
        .flat()
        .filter((iri) => this.#ontology.classes.has(iri))
      const [first] = range
      const isEntity = this.#ontology.properties.get(rule.iri)?.kind === "object"
      if (isEntity && first === undefined) {
        this.notes.push(`${place}: ${name} names entities of no known class; add a rule with a class`)
        return []
      }
      if (isEntity && texts.some((text) => /[;|]/.test(text))) this.notes.push(`${place}: ${name} may be a list; give its separator`)
      return [
        {
          column: name,
          property: this.#nameOf(rule.iri),
          ...(isEntity && range.length > 1 && first !== undefined ? { class: this.#nameOf(first) } : {}),
          ...(rule.as === undefined || isEntity ? {} : { as: rule.as }),
        },
      ]
    })
    return { facts, ...(values.locale === undefined ? {} : { locale: values.locale }) }
  }

  /** The last part of an IRI, unless another term has the same. */
  #nameOf(iri: string): string {
    const name = localName(iri)
    const terms = this.#ontology.classes.has(iri) ? this.#ontology.classes : this.#ontology.properties
    return [...terms.keys()].filter((other) => localName(other) === name).length === 1 ? name : iri
  }
}

/** A list at the top of an object whose items are objects, if there is only one. */
const listOfRecords = ({ cells }: FoundRecord): string | undefined => {
  const lists = new Map<string, Set<number>>()
  for (const { keys = [] } of cells) {
    const [list, item, field] = keys
    if (typeof list !== "string" || typeof item !== "number" || typeof field !== "string") continue
    lists.set(`${list}[]`, (lists.get(`${list}[]`) ?? new Set()).add(item))
  }
  const [[list, items] = ["", new Set<number>()], ...others] = lists
  // An object with a name of its own is the record.
  const hasName = cells.some(({ keys = [], isText }) => keys.length === 1 && isText && nameLabels.has(labelKey(words(String(keys[0])))))
  return list !== "" && others.length === 0 && items.size > 1 && !hasName ? list : undefined
}

const columnsOf = (records: ReadonlyArray<FoundRecord>, prefix: string): ReadonlyArray<Column> => {
  const columns = new Map<string, { texts: Array<string>; isText: boolean }>()
  for (const name of records[0]?.columns ?? []) columns.set(name, { texts: [], isText: true })
  for (const { cells } of records)
    for (const { column, text, isText } of cells) {
      if (!column.startsWith(prefix)) continue
      const name = column.slice(prefix.length)
      const known = columns.get(name) ?? { texts: [], isText: true }
      columns.set(name, known)
      if (isPlaceholder(text)) continue
      known.texts.push(text.trim())
      known.isText &&= isText
    }
  return [...columns].map(([name, column]) => ({ name, ...column }))
}

const rowsOf = (columns: ReadonlyArray<Column>): ReadonlyArray<object> =>
  Array.from({ length: Math.max(0, ...columns.map(({ texts }) => texts.length)) }, (_, index) =>
    Object.fromEntries(columns.flatMap(({ name, texts }) => (texts[index] === undefined ? [] : [[name, texts[index]]]))),
  )

const nameLabels: ReadonlySet<string> = new Set(
  ["name", "title", "full name", "label", "titel", "bezeichnung", "nom", "titre", "nom complet", "intitulé", "nombre", "título"].map(
    labelKey,
  ),
)

/** The column of names: called so, or called as a class or the name of one, or else the first with different texts of letters. */
const nameColumn = (columns: ReadonlyArray<Column>, ontology: OntologyIndex): Column | undefined => {
  const possible = columns.filter(({ isText, texts }) => isText && texts.length > 0 && texts.every((text) => text.length <= longestName))
  const called = possible.find(({ name }) => nameLabels.has(labelKey(words(name))))
  if (called !== undefined) return called
  const asClass = possible.find(
    ({ name }) => ontology.withLabel(words(name)).classes.length > 0 && ontology.withLabel(words(name)).properties.length === 0,
  )
  if (asClass !== undefined) return asClass
  const ofClass = possible.find((column) => {
    const label = words(column.name)
    const owner = label.toLowerCase().endsWith(" name") ? label.slice(0, -" name".length) : ""
    return owner !== "" && ontology.withLabel(owner).classes.length > 0 && isDistinct(column)
  })
  if (ofClass !== undefined) return ofClass
  return possible.find(
    (column) => !column.name.includes("[]") && isDistinct(column) && 2 * column.texts.filter(looksLikeName).length > column.texts.length,
  )
}

/** Whether nearly all records have a value of their own. */
const isDistinct = ({ texts }: Column): boolean => new Set(texts).size >= 0.9 * texts.length

/** In characters. */
const longestName = 400

/** Words with a capital and small letters, and no code, date or address. */
const looksLikeName = (text: string): boolean =>
  (hasWordWithCapital(text) || /\p{Lo}/u.test(text)) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text) && text.split(/\s+/).length <= 8

/** A column that is called an identifier, and has a different value in each record. */
const identifierColumn = (columns: ReadonlyArray<Column>): Column | undefined =>
  columns.find(
    ({ name, texts }) =>
      /^(?:id|identifier|key|uri|uuid|code|symbol|isbn|doi|ref(?:erence)?)$/i.test(words(name)) &&
      texts.length > 0 &&
      new Set(texts).size === texts.length,
  )

/** A capital, and a small letter after it. */
const hasWordWithCapital = (text: string): boolean => {
  const capital = text.search(/\p{Lu}/u)
  return capital >= 0 && /\p{Ll}/u.test(text.slice(capital))
}

const typeOf = (datatypes: ReadonlyArray<string>): TargetField["type"] => {
  const [datatype] = datatypes
  if (datatype === undefined) return "any"
  if (isNumeric(datatype)) return "number"
  if (datatype === xsd.boolean) return "boolean"
  return datatype === xsd.date || datatype === xsd.dateTime ? "date" : "text"
}

/** "birthYear", "birth_year" and "birth.year" as "birth Year". */
const words = (text: string): string =>
  text
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
    .replace(/[_.[\]-]+/g, " ")
    .trim()

const lastKey = (column: string): string => column.split(".").at(-1) ?? column

/** A field is not nested, whatever its label. */
const pathOf = (label: string): string => label.replaceAll(".", " ")

const singular = (word: string): string => (/(?:[^s])s$/.test(word) ? word.replace(/ies$/, "y").replace(/s$/, "") : word)
