/** A mapping with the terms of its ontology: what is wrong with it, and which rule a record of a file has. */
import { type FieldRule, makeMapRow } from "@detent/tables"
import { checkMapping } from "@detent/tables/Mapping"
import * as Result from "effect/Result"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { localName } from "../rdf/Vocabulary.ts"
import { labelKey } from "../text/Words.ts"
import { type FactMapping, FactMappingRefused, type FactRule, type FileRule, type NestedRule, type RecordRule } from "./FactMapping.ts"

/** A text of a cell as the rule means it, or why it has no meaning. */
export type Meant = { readonly text: string } | { readonly problem: string }

export interface CompiledFact {
  readonly column: string
  /** An IRI. */
  readonly property: string
  readonly isInverse: boolean
  /** The class of the entity that the value names. Absent for a literal. */
  readonly type?: string
  /** The column with the identifier of that entity. */
  readonly identifier?: string
  readonly separator?: string
  readonly language?: string
  readonly meant: (text: string) => Meant
}

export interface CompiledRecord {
  /** The IRI of the class. */
  readonly type: string
  readonly name: string
  readonly identifier?: string
  readonly facts: ReadonlyArray<CompiledFact>
  readonly leaveOut: ReadonlyArray<string>
  readonly nested: ReadonlyArray<CompiledList>
}

/** A list of records. */
export interface CompiledList {
  readonly each: string
  readonly link?: { readonly property: string; readonly isInverse: boolean }
  readonly record: CompiledRecord
}

export interface CompiledFile {
  readonly table?: string
  readonly each?: string
  readonly record: CompiledRecord
}

export interface CompiledMapping {
  /** The rules for a file, in their order. */
  readonly rulesFor: (address: string) => ReadonlyArray<CompiledFile>
}

/** More problems are not looked for. */
const mostProblems = 20

export const compileMapping = (
  source: string,
  mapping: FactMapping,
  ontology: OntologyIndex,
): Result.Result<CompiledMapping, FactMappingRefused> => {
  const compiler = new Compiler(ontology)
  const rules = mapping.files.map((rule) => ({ matches: matcherOf(rule.file), file: compiler.file(rule) }))
  const { problems } = compiler
  if (problems.length > 0) return Result.fail(new FactMappingRefused({ source, problems: problems.slice(0, mostProblems) }))
  return Result.succeed({ rulesFor: (address) => rules.filter(({ matches }) => matches(address)).map(({ file }) => file) })
}

/** Whether a record has the columns of a rule. An object has its own keys, of which none need be there. */
const appliesTo = (rule: CompiledFile, record: { readonly table: string; readonly columns?: ReadonlyArray<string> }): boolean =>
  (rule.table === undefined || rule.table === record.table) &&
  (record.columns === undefined ? rule.table !== undefined || record.table === "" : record.columns.includes(rule.record.name))

/** The first rule that applies to a record. */
export const ruleOf = (rules: ReadonlyArray<CompiledFile>, record: Parameters<typeof appliesTo>[1]): CompiledFile | undefined =>
  rules.find((rule) => appliesTo(rule, record))

class Compiler {
  readonly problems: Array<string> = []
  readonly #ontology: OntologyIndex
  readonly #classes: Map<string, ReadonlyArray<string>>
  readonly #properties: Map<string, ReadonlyArray<string>>

  constructor(ontology: OntologyIndex) {
    this.#ontology = ontology
    this.#classes = byLastPart(ontology.classes.keys())
    this.#properties = byLastPart(ontology.properties.keys())
  }

  file({ file, table, each, locale, ...rule }: FileRule): CompiledFile {
    return {
      ...(table === undefined ? {} : { table }),
      ...(each === undefined ? {} : { each }),
      record: this.#record(file, rule, locale),
    }
  }

  #record(place: string, rule: RecordRule, locale: string | undefined): CompiledRecord {
    const type = this.#classNamed(place, rule.class)
    return {
      type,
      name: rule.name,
      ...(rule.identifier === undefined ? {} : { identifier: rule.identifier }),
      facts: rule.facts.map((fact) => this.#fact(place, type, fact, locale)),
      leaveOut: rule.leaveOut ?? [],
      nested: (rule.nested ?? []).map((nested) => this.#list(place, type, nested, locale)),
    }
  }

  #list(place: string, parent: string, { each, link, ...rule }: NestedRule, locale: string | undefined): CompiledList {
    const record = this.#record(`${place}, ${each}`, rule, locale)
    if (link === undefined) return { each, record }
    const property = this.#propertyNamed(place, link.property)
    const isInverse = link.inverse === true
    if (property !== "") {
      const [subject, object] = isInverse ? [record.type, parent] : [parent, record.type]
      this.#checkSides(place, `link of ${each}`, property, subject, object)
    }
    return { each, link: { property, isInverse }, record }
  }

  #fact(place: string, owner: string, rule: FactRule, locale: string | undefined): CompiledFact {
    const { column, separator, identifier, language } = rule
    const property = this.#propertyNamed(place, rule.property)
    const isInverse = rule.inverse === true
    const type = property === "" ? undefined : this.#typeOf(place, property, rule)
    if (property !== "" && owner !== "") {
      if (type === undefined && isInverse) this.#note(place, `${column} is a literal, which cannot be a subject; leave out inverse`)
      else this.#checkSides(place, column, property, isInverse ? (type ?? "") : owner, isInverse ? owner : type)
    }
    return {
      column,
      property,
      isInverse,
      ...(type === undefined ? {} : { type }),
      ...(identifier === undefined ? {} : { identifier }),
      ...(separator === undefined ? {} : { separator }),
      ...(language === undefined ? {} : { language }),
      meant: this.#meaning(place, rule, locale),
    }
  }

  /** The class of the entities that a column names; undefined for literals. */
  #typeOf(place: string, property: string, { column, class: named }: FactRule): string | undefined {
    const { kind } = this.#ontology.properties.get(property) ?? { kind: "any" }
    if (named !== undefined) return this.#classNamed(place, named)
    if (kind === "datatype") return undefined
    const classes = this.#ontology
      .rangeOf(property)
      .flat()
      .filter((iri) => !this.#ontology.isDatatype(iri) && this.#ontology.classes.has(iri))
    if (classes.length === 1) return classes[0]
    if (kind === "any" && classes.length === 0) return undefined
    if (kind === "any" && this.#ontology.datatypesOf(property).length > 0) return undefined
    this.#note(place, `${column} names entities of ${classes.length === 0 ? "no" : "more than one"} known class; give it a class`)
    return ""
  }

  #checkSides(place: string, what: string, property: string, subject: string, object: string | undefined): void {
    const ontology = this.#ontology
    if (subject !== "" && !ontology.acceptsSubject(property, subject))
      this.#note(place, `${what}: ${localName(property)} has no subject of the class ${localName(subject)}`)
    if (object !== undefined && object !== "" && !ontology.acceptsObject(property, object))
      this.#note(place, `${what}: ${localName(property)} has no object of the class ${localName(object)}`)
  }

  #meaning(place: string, { column, as, lookup, separator, locale: own }: FactRule, locale: string | undefined): (text: string) => Meant {
    const tag = own ?? locale
    if (as === "list" && separator === undefined) this.#note(place, `${column} is a list; give its separator`)
    if (as === "json") this.#note(place, `${column}: a value is a text, not JSON`)
    const rule: FieldRule = {
      field: "value",
      column: "cell",
      ...(as === undefined || as === "list" ? {} : { as }),
      ...(tag === undefined ? {} : { locale: tag }),
      ...(lookup === undefined ? {} : { lookup }),
    }
    const mapping = { fields: [rule], others: "drop" } as const
    const problems = checkMapping(mapping)
    if (problems.length > 0) {
      this.#note(place, `${column}: ${problems.join("; ")}`)
      return () => ({ problem: "its rule cannot be used" })
    }
    if (rule.as === undefined && lookup === undefined) return (text) => ({ text })
    const map = makeMapRow(mapping)
    return (text) => {
      const { values, problems: wrong } = map({ cell: text })
      const [problem] = wrong
      const value = (values as { readonly value?: unknown }).value
      return problem === undefined && value !== undefined ? { text: String(value) } : { problem: problem?.problem ?? "it is empty" }
    }
  }

  #classNamed(place: string, name: string): string {
    if (this.#ontology.classes.has(name)) return name
    return this.#one(place, "class", name, this.#classes, this.#ontology.withLabel(name).classes)
  }

  #propertyNamed(place: string, name: string): string {
    if (this.#ontology.properties.has(name)) return name
    return this.#one(place, "property", name, this.#properties, this.#ontology.withLabel(name).properties)
  }

  /** The one term of a name. An empty text where there is none. */
  #one(
    place: string,
    kind: "class" | "property",
    name: string,
    known: ReadonlyMap<string, ReadonlyArray<string>>,
    labelled: ReadonlyArray<string>,
  ): string {
    const exact = known.get(name) ?? []
    const found = exact.length > 0 ? exact : labelled
    if (found.length === 1) return found[0] ?? ""
    const near = [...known.keys()].filter((other) => labelKey(other) === labelKey(name)).slice(0, 3)
    this.#note(
      place,
      found.length > 1
        ? `the ontology has ${found.length} terms ${JSON.stringify(name)}; give the IRI: ${found.slice(0, 3).join(", ")}`
        : `the ontology has no ${kind} ${JSON.stringify(name)}${near.length === 0 ? "" : `; it has ${near.join(", ")}`}`,
    )
    return ""
  }

  #note(place: string, problem: string): void {
    this.problems.push(`${place}: ${problem}`)
  }
}

const byLastPart = (iris: Iterable<string>): Map<string, ReadonlyArray<string>> => {
  const found = new Map<string, Array<string>>()
  for (const iri of iris) {
    const last = localName(iri)
    const known = found.get(last)
    if (known === undefined) found.set(last, [iri])
    else known.push(iri)
  }
  return found
}

// Patterns of files

/** Compares the last parts of an address with the parts of a pattern, from the end. */
const matcherOf = (pattern: string): ((address: string) => boolean) => {
  const wanted = pattern.split("/").filter((part) => part !== "" && part !== ".")
  return (address) => {
    const parts = address.split("/").map(decoded)
    return matchesFrom(wanted, wanted.length, parts, parts.length)
  }
}

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    // A plain path may contain a percent sign.
    return part
  }
}

/** Whether the first `wantedLeft` parts of a pattern match the end of the first `left` parts of an address. */
const matchesFrom = (wanted: ReadonlyArray<string>, wantedLeft: number, parts: ReadonlyArray<string>, left: number): boolean => {
  if (wantedLeft === 0) return true
  const part = wanted[wantedLeft - 1] ?? ""
  if (part !== "**") return left > 0 && matchesPart(part, parts[left - 1] ?? "") && matchesFrom(wanted, wantedLeft - 1, parts, left - 1)
  for (let rest = left; rest >= 0; rest--) if (matchesFrom(wanted, wantedLeft - 1, parts, rest)) return true
  return false
}

/** Whether a name matches a pattern with `*`, in linear time: each piece is found at its first place. */
const matchesPart = (pattern: string, name: string): boolean => {
  const pieces = pattern.split("*")
  const [first = "", ...rest] = pieces
  if (rest.length === 0) return pattern === name
  const last = rest.pop() ?? ""
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false
  let at = first.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found === -1 || found + piece.length > name.length - last.length) return false
    at = found + piece.length
  }
  return true
}
