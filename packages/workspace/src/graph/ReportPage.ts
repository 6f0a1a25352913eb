/**
 * The report of a graph as one self-contained HTML file: style and script are inline, and a content security policy allows only these
 * two, by their hashes. Content of documents is JSON in data blocks, which the script turns into text. Each document has its own
 * block, which the script parses when the document is opened.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type FactReport, languageName, type ReportedDocument, type ReportedFact, unreadNextStep } from "@detent/knowledge"
import * as DateTime from "effect/DateTime"

/** The path is the same from the sources and from the build: the package contains both. */
const asset = (name: string): string => readFileSync(fileURLToPath(new URL(`../../src/graph/report/${name}`, import.meta.url)), "utf8")

const hashOf = (content: string): string => `'sha256-${createHash("sha256").update(content).digest("base64")}'`

export interface ReportPage {
  /** The content security policy for the header. The page repeats the directives that a meta element supports. */
  readonly contentPolicy: string
  /** Everything before the documents. */
  readonly head: string
  /** The block of one document; `text` is undefined where it is no longer stored. */
  readonly document: (document: ReportedDocument, at: number, text: string | undefined) => string
  readonly tail: string
}

export const reportPage = (report: FactReport, generatedAt: number): ReportPage => {
  const [style, script] = [asset("report.css"), asset("report.mjs")]
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ]
  // Trusted types: the script cannot turn text into markup.
  const strict = [...policy, "require-trusted-types-for 'script'", "trusted-types 'none'"]
  return {
    contentPolicy: [...strict, "frame-ancestors 'none'", "sandbox allow-scripts"].join("; "),
    head: head(report, generatedAt, style, strict.join("; ")),
    document: ({ facts }, at, text) => dataBlock(`document-${at}`, { text: text ?? null, facts }),
    tail: `<script>${script}</script>\n</body>\n</html>\n`,
  }
}

/** Escapes the JSON, so that it cannot close its script element or open a comment. */
const dataBlock = (id: string, content: unknown): string =>
  `<script type="application/json" id="${id}">${JSON.stringify(content).replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)}</script>\n`

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }

const html = (text: string): string => text.replace(/[&<>"']/g, (one) => escapes[one] ?? one)

const grouped = (count: number): string => count.toLocaleString("en")

const count = (documents: ReadonlyArray<ReportedDocument>, status: ReportedFact["status"]): number =>
  documents.reduce((sum, { facts }) => sum + facts.filter((fact) => fact.status === status).length, 0)

const card = (name: string, value: string, kind = ""): string =>
  `<div class="card ${kind}"><dd class="value">${html(value)}</dd><dt>${html(name)}</dt></div>`

/** How many quarantined facts the summary lists. Each document lists all of its own. */
const mostHeld = 200

const head = (report: FactReport, generatedAt: number, style: string, policy: string): string => {
  const { documents, documentsTotal, namespace, version, entities } = report
  const [accepted, review, quarantined] = (["accepted", "review", "quarantined"] as const).map((status) => count(documents, status))
  const facts = documents.flatMap((document) => document.facts)
  const sorted = (values: Iterable<string>) => [...new Set(values)].sort()
  const held = documents.flatMap((document, at) =>
    document.facts.filter(({ status }) => status === "quarantined").map((fact) => ({ ...fact, at })),
  )
  const index = {
    documents: documents.map(listed),
    properties: sorted(facts.map(({ property }) => property)),
    types: sorted(facts.flatMap(({ types }) => types)),
    held: held.slice(0, mostHeld),
  }
  const moment = DateTime.formatIso(DateTime.makeUnsafe(generatedAt)).replace("T", " ").slice(0, 16)
  const shown = documents.length === documentsTotal ? grouped(documentsTotal) : `${grouped(documents.length)} of ${grouped(documentsTotal)}`
  const heldSummary = `${grouped(quarantined ?? 0)} quarantined, by reason${held.length > mostHeld ? `; the first ${mostHeld}` : ""}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${html(namespace)}: facts in their documents</title>
<style>${style}</style>
</head>
<body>
<header class="top">
<h1>${html(namespace)}</h1>
<p class="quiet">Version ${html(version)} · made ${html(moment)} UTC</p>
<dl class="cards">
${card("documents", shown)}
${card("facts accepted", grouped(accepted ?? 0), "accepted")}
${card("for review", grouped(review ?? 0), (review ?? 0) > 0 ? "review" : "")}
${card("quarantined", grouped(quarantined ?? 0), (quarantined ?? 0) > 0 ? "quarantined" : "")}
${card("entities", grouped(entities))}
${card("languages", languages(documents), "small")}
</dl>
<ul class="notes">${unread(documents)}</ul>
<details class="held"${held.length === 0 ? " hidden" : ""}><summary>${html(heldSummary)}</summary><ul id="held-list"></ul></details>
</header>
<div class="filters" role="search">
<label class="pick">document <select id="pick"></select></label>
<label>find <input id="search" type="search" placeholder="document" autocomplete="off"></label>
<label>property <select id="property"><option value="">all</option></select></label>
<label>type <select id="type"><option value="">all</option></select></label>
<fieldset class="statuses" aria-label="status">
<label class="accepted"><input type="checkbox" value="accepted" checked> accepted</label>
<label class="review"><input type="checkbox" value="review" checked> for review</label>
<label class="quarantined"><input type="checkbox" value="quarantined" checked> quarantined</label>
</fieldset>
</div>
<main class="work">
<nav class="panel side documents" aria-label="documents"><ul id="documents"></ul><p class="empty" id="none" hidden>No document has this name.</p></nav>
<article class="panel document"><header><h2 id="title">No documents</h2><p class="quiet" id="source"></p><p class="quiet" id="unread" hidden></p></header><div class="words" id="words"></div></article>
<aside class="panel side facts" aria-label="facts"><p class="quiet count" id="count" role="status"></p><ul id="list"></ul></aside>
</main>
${dataBlock("index", index)}`
}

const listed = ({ documentId, title, source, language, unread: reason, facts }: ReportedDocument) => {
  const of = (status: ReportedFact["status"]) => facts.filter((fact) => fact.status === status).length
  return {
    id: documentId,
    title,
    ...(source === undefined ? {} : { source: decoded(source) }),
    ...(language === undefined ? {} : { language, languageName: languageName(language) }),
    ...(reason === undefined ? {} : { unread: `Its prose was not read: ${unreadNextStep(language ?? "und", reason)}.` }),
    accepted: of("accepted"),
    review: of("review"),
    quarantined: of("quarantined"),
  }
}

/** The path of a file, without percent-encoding. */
const decoded = (source: string): string => {
  try {
    return source.startsWith("file:") ? decodeURIComponent(new URL(source).pathname) : source
  } catch {
    return source
  }
}

const byLanguage = (documents: ReadonlyArray<ReportedDocument>) =>
  [...Map.groupBy(documents, ({ language }) => language ?? "und")].sort(([, one], [, other]) => other.length - one.length)

/** The six most frequent languages. */
const languages = (documents: ReadonlyArray<ReportedDocument>): string => {
  const named = byLanguage(documents).map(
    ([language, of]) => `${language === "und" ? "not detected" : languageName(language)} ${grouped(of.length)}`,
  )
  return named.length === 0 ? "–" : named.slice(0, 6).join(", ")
}

/** Lists the languages whose prose was not read, with the next step. */
const unread = (documents: ReadonlyArray<ReportedDocument>): string =>
  byLanguage(documents)
    .flatMap(([language, of]) => {
      const left = of.filter((document) => document.unread !== undefined)
      const reason = left[0]?.unread
      if (reason === undefined) return []
      const what = `The prose of ${grouped(left.length)} ${left.length === 1 ? "document" : "documents"} in ${languageName(language)} was not read: ${unreadNextStep(language, reason)}.`
      return [`<li>${html(what)}</li>`]
    })
    .join("")
