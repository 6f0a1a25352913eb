/** How generated statements become text: prose for people, tables, and data files. */
import type { Chance } from "./Chance.ts"

export interface Statement {
  readonly subject: string
  readonly property: string
  readonly object: string
}

type Statements = ReadonlyArray<ReadonlyArray<Statement>>
type Sentence = (subject: string, object: string) => string

const sentences: Readonly<Record<string, readonly [Sentence, ...ReadonlyArray<Sentence>]>> = {
  foundedIn: [
    (company, year) => `${company} was founded in ${year}.`,
    (company, year) => `${company} was established in ${year}.`,
    (company, year) => `Founded in ${year}, ${company} has grown steadily since.`,
  ],
  founderOf: [
    (person, company) => `${person} founded ${company}.`,
    (person, company) => `${company} was founded by ${person}.`,
    (person, company) => `${person} is the founder of ${company}.`,
  ],
  headquarteredIn: [
    (company, city) => `${company} is headquartered in ${city}.`,
    (company, city) => `The headquarters of ${company} are in ${city}.`,
  ],
  makes: [(company, product) => `${company} makes the ${product}.`, (company, product) => `The ${product} is made by ${company}.`],
  worksFor: [(person, company) => `${person} works for ${company}.`, (person, company) => `${person} has worked for ${company} for years.`],
  bornOn: [(person, date) => `${person} was born on ${date}.`],
}

/** What stands in rows and keys instead of a sentence. */
export const propertyLabels: Readonly<Record<string, string>> = {
  foundedIn: "founded in",
  founderOf: "founder of",
  headquarteredIn: "headquartered in",
  makes: "makes",
  worksFor: "works for",
  bornOn: "born on",
}

const labelOf = (property: string) => propertyLabels[property] ?? property

const sentenceOf = ({ subject, property, object }: Statement, chance: Chance): string => {
  const ways = sentences[property]
  return ways === undefined ? `${subject} ${labelOf(property)} ${object}.` : chance.one(ways)(subject, object)
}

export const writeText = (statements: Statements, chance: Chance): string =>
  `${statements.map((paragraph) => paragraph.map((statement) => sentenceOf(statement, chance)).join(" ")).join("\n\n")}\n`

export const writeMarkdown = (statements: Statements): string => {
  const tables = statements.map((rows) => [
    "| subject | property | value |",
    "| --- | --- | --- |",
    ...rows.map(({ subject, property, object }) => `| ${subject} | ${labelOf(property)} | ${object} |`),
  ])
  return `# Facts\n\n${tables.map((lines) => lines.join("\n")).join("\n\n")}\n`
}

export const writeHtml = (statements: Statements, chance: Chance): string => {
  const paragraphs = statements.map((paragraph) => `<p>${paragraph.map((one) => escape(sentenceOf(one, chance))).join(" ")}</p>`)
  return `<!doctype html>\n<html>\n<head><meta charset="utf-8"><title>Report</title></head>\n<body>\n${paragraphs.join("\n")}\n</body>\n</html>\n`
}

export const writeJson = (statements: Statements): string =>
  `${JSON.stringify(
    statements.flat().map(({ subject, property, object }) => ({ subject, property: labelOf(property), value: object })),
    undefined,
    2,
  )}\n`

export const writeCsv = (statements: Statements): string => {
  const rows = statements.flat().map(({ subject, property, object }) => [subject, labelOf(property), object].map(quoted).join(","))
  return `${["subject,property,value", ...rows].join("\n")}\n`
}

const quoted = (value: string) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)

const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
