/* The report of a graph: draws the chosen document, marks its facts and filters them. All content becomes text, never markup. */

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id))
/** @param {string} id */
const dataOf = (id) => JSON.parse(byId(id).textContent ?? "null")

/**
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(string | Node)} content
 */
const element = (tag, attributes = {}, ...content) => {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...content)
  return made
}

/** @param {string} iri */
const localName = (iri) => iri.slice(Math.max(iri.lastIndexOf("/"), iri.lastIndexOf("#"), iri.lastIndexOf(":")) + 1) || iri
/** @param {number} count */
const grouped = (count) => count.toLocaleString("en")

/**
 * @typedef {{ status: "accepted" | "review" | "quarantined", subject: string, types: string[], property: string, object: string,
 *   datatype?: string, confidence?: number, extractor?: string, start: number, end: number, quote: string, reason?: string }} Fact
 * @typedef {{ id: string, title: string, source?: string, language?: string, languageName?: string, accepted: number, review: number,
 *   quarantined: number, unread?: string }} Listed
 */

const statusNames = { accepted: "accepted", review: "for review", quarantined: "quarantined" }
const index = dataOf("index")
/** @type {Listed[]} */
const documents = index.documents
/** The document that is open. @type {{ at: number, text: string, facts: Fact[], visible: Fact[], hasText: boolean }} */
const shown = { at: -1, text: "", facts: [], visible: [], hasText: true }
/** @type {Fact | undefined} */
let chosen

const filters = {
  property: /** @type {HTMLSelectElement} */ (byId("property")),
  type: /** @type {HTMLSelectElement} */ (byId("type")),
  search: /** @type {HTMLInputElement} */ (byId("search")),
  pick: /** @type {HTMLSelectElement} */ (byId("pick")),
  statuses: /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll(".statuses input")]),
}

/** @param {Fact} fact */
const passes = (fact) =>
  filters.statuses.some(({ checked, value }) => checked && value === fact.status) &&
  (filters.property.value === "" || fact.property === filters.property.value) &&
  (filters.type.value === "" || fact.types.includes(filters.type.value))

/** @param {Fact} fact */
const triple = ({ subject, property, object }) => {
  const named = element("span", { class: "property", title: property }, localName(property))
  return element("span", { class: "triple" }, element("b", {}, subject), " ", named, " ", element("b", {}, object))
}

/** @param {Fact} fact */
const factCard = (fact) => {
  const rows = [
    ["status", element("span", { class: `status ${fact.status}` }, statusNames[fact.status])],
    ["reason", fact.reason],
    ["confidence", fact.confidence === undefined ? undefined : fact.confidence.toFixed(2)],
    ["extractor", fact.extractor],
    ["type", fact.types.length === 0 ? undefined : fact.types.map(localName).join(", ")],
    ["datatype", fact.datatype === undefined ? undefined : localName(fact.datatype)],
  ]
  const list = element("dl")
  for (const [name, value] of rows)
    if (value !== undefined) list.append(element("dt", {}, /** @type {string} */ (name)), element("dd", {}, value))
  return element("div", { class: "said" }, triple(fact), list)
}

const card = element("div", { class: "card-at", id: "card", role: "status", hidden: "" })
document.body.append(card)
let isPinned = false

/** @param {HTMLElement} mark @param {Fact[]} facts */
const showCard = (mark, facts) => {
  card.replaceChildren(...facts.map(factCard))
  card.hidden = false
  const { left, bottom, top } = mark.getBoundingClientRect()
  const width = card.offsetWidth
  const below = bottom + 8 + card.offsetHeight < innerHeight
  // On a narrow screen the card is at the bottom.
  const isNarrow = innerWidth < 720
  card.style.left = isNarrow ? "" : `${Math.max(12, Math.min(left + scrollX, scrollX + innerWidth - width - 16))}px`
  card.style.top = isNarrow ? "" : `${(below ? bottom + 6 : Math.max(6, top - card.offsetHeight - 6)) + scrollY}px`
}

const hideCard = () => {
  card.hidden = true
  isPinned = false
}

/** Splits the text where facts start and end: each stretch has one set of facts. @param {Fact[]} facts @param {number} length */
const stretchesOf = (facts, length) => {
  const places = new Set([0, length])
  for (const { start, end } of facts) places.add(Math.min(start, length)).add(Math.min(end, length))
  const edges = [...places].sort((one, other) => one - other)
  const starting = [...facts].sort((one, other) => one.start - other.start)
  let next = 0
  /** @type {Fact[]} */
  let open = []
  return edges.slice(0, -1).map((from, at) => {
    const to = edges[at + 1] ?? length
    open = open.filter(({ end }) => end > from)
    for (let fact = starting[next]; fact !== undefined && fact.start <= from; fact = starting[++next]) if (fact.end > from) open.push(fact)
    return { from, to, facts: open }
  })
}

const rank = { quarantined: 0, review: 1, accepted: 2 }

/** @type {{ mark: HTMLElement, from: number, to: number, facts: Fact[] }[]} */
let marks = []

const drawText = () => {
  marks = []
  const pieces = stretchesOf(shown.visible, shown.text.length).map(({ from, to, facts }) => {
    const words = shown.text.slice(from, to)
    if (facts.length === 0) return document.createTextNode(words)
    const inside = [...facts].sort((one, other) => one.end - one.start - (other.end - other.start) || rank[one.status] - rank[other.status])
    const status = /** @type {Fact} */ ([...facts].sort((one, other) => rank[one.status] - rank[other.status])[0]).status
    const label = inside.map(({ subject, property, object }) => `${subject} ${localName(property)} ${object}`).join("; ")
    const mark = element(
      "mark",
      { class: `${status}${facts.length > 1 ? " many" : ""}`, tabindex: "0", role: "button", "aria-label": `${words}: ${label}` },
      words,
    )
    marks.push({ mark, from, to, facts: inside })
    mark.addEventListener("mouseenter", () => !isPinned && showCard(mark, inside))
    mark.addEventListener("mouseleave", () => !isPinned && hideCard())
    const pin = () => {
      choose(/** @type {Fact} */ (inside[0]), false)
      showCard(mark, inside)
      isPinned = true
    }
    mark.addEventListener("click", (event) => {
      event.stopPropagation()
      pin()
    })
    mark.addEventListener("keydown", ({ key }) => (key === "Enter" || key === " ") && pin())
    return mark
  })
  const words = byId("words")
  if (shown.hasText) words.replaceChildren(...pieces)
  else words.replaceChildren(element("p", { class: "empty" }, "The text of this document is no longer stored."))
}

/** The span of a name in the quote of a fact. @param {Fact} fact @param {string} name */
const placeIn = ({ start, quote }, name) => {
  const at = quote.indexOf(name)
  return at === -1 ? undefined : { from: start + at, to: start + at + name.length }
}

/** @param {Fact} fact @param {boolean} jump */
const choose = (fact, jump) => {
  chosen = fact
  const ends = [placeIn(fact, fact.subject), placeIn(fact, fact.object)]
  for (const { mark, from, to, facts } of marks) {
    mark.classList.toggle("on", facts.includes(fact))
    mark.classList.toggle("end", facts.includes(fact) && ends.some((end) => end !== undefined && end.from < to && from < end.to))
  }
  for (const [at, button] of [...byId("list").querySelectorAll("button")].entries()) {
    const isChosen = shown.visible[at] === fact
    button.setAttribute("aria-current", String(isChosen))
    // On a narrow screen the list is below the text: scrolling to it would hide the text.
    if (isChosen && !jump && innerWidth >= 720) button.scrollIntoView({ block: "nearest" })
  }
  const own = marks.filter(({ facts }) => facts.includes(fact))
  const [first, last] = [own[0], own.at(-1)]
  if (!jump || first === undefined || last === undefined) return
  first.mark.scrollIntoView({ block: "center", behavior: "instant" })
  // The card is below the last marked words, so that it covers none of them.
  showCard(last.mark.getBoundingClientRect().bottom < innerHeight ? last.mark : first.mark, [fact])
  isPinned = true
}

const drawFacts = () => {
  const { visible, facts } = shown
  byId("count").textContent =
    facts.length === 0
      ? "No facts in this document."
      : visible.length === facts.length
        ? `${grouped(facts.length)} facts`
        : `${grouped(visible.length)} of ${grouped(facts.length)} facts`
  byId("list").replaceChildren(
    ...visible.map((fact) => {
      const sure = fact.confidence === undefined ? "" : ` · ${fact.confidence.toFixed(2)}`
      const button = element(
        "button",
        { class: `fact ${fact.status}`, type: "button" },
        triple(fact),
        element("span", { class: "quiet" }, `${statusNames[fact.status]}${sure}`),
      )
      button.addEventListener("click", (event) => {
        event.stopPropagation()
        choose(fact, true)
      })
      return element("li", {}, button)
    }),
  )
}

const draw = () => {
  hideCard()
  shown.visible = shown.facts.filter(passes)
  drawText()
  drawFacts()
  if (chosen !== undefined && shown.visible.includes(chosen)) choose(chosen, false)
}

/** @param {Listed} listed */
const counted = ({ accepted, review, quarantined, language }) =>
  [
    `${grouped(accepted)} facts`,
    review > 0 ? `${grouped(review)} for review` : "",
    quarantined > 0 ? `${grouped(quarantined)} quarantined` : "",
    language ?? "",
  ]
    .filter((one) => one !== "")
    .join(" · ")

/** @param {number} at @param {Fact} [select] */
const open = (at, select) => {
  const listed = documents[at]
  if (listed === undefined) return
  if (shown.at !== at) {
    const { text, facts } = dataOf(`document-${at}`)
    Object.assign(shown, { at, text: text ?? "", hasText: text !== null, facts })
    chosen = undefined
    byId("title").textContent = listed.title
    byId("source").textContent = [listed.source, listed.languageName].filter((one) => one !== undefined).join(" · ")
    byId("unread").textContent = listed.unread ?? ""
    byId("unread").hidden = listed.unread === undefined
    filters.pick.value = String(at)
    for (const button of document.querySelectorAll("#documents button")) {
      const isOpen = button.getAttribute("data-at") === String(at)
      button.setAttribute("aria-current", String(isOpen))
      if (isOpen) button.scrollIntoView({ block: "nearest" })
    }
    if (location.hash.slice(1) !== listed.id) history.replaceState(null, "", `#${listed.id}`)
    draw()
  }
  if (select === undefined) return
  const fact = shown.facts.find((one) => one.start === select.start && one.property === select.property && one.status === select.status)
  if (fact !== undefined) choose(fact, true)
}

const drawDocuments = () => {
  const wanted = filters.search.value.trim().toLowerCase()
  const found = documents.flatMap((listed, at) =>
    `${listed.title} ${listed.source ?? ""}`.toLowerCase().includes(wanted) ? [{ listed, at }] : [],
  )
  byId("documents").replaceChildren(
    ...found.map(({ listed, at }) => {
      const attributes = {
        class: "entry",
        type: "button",
        "data-at": String(at),
        "aria-current": String(at === shown.at),
        title: listed.source ?? listed.title,
      }
      const button = element(
        "button",
        attributes,
        element("span", { class: "name" }, listed.title),
        element("span", { class: "quiet" }, counted(listed)),
      )
      button.addEventListener("click", () => open(at))
      return element("li", {}, button)
    }),
  )
  filters.pick.replaceChildren(
    ...found.map(({ listed, at }) => element("option", { value: String(at) }, `${listed.title} (${grouped(listed.accepted)})`)),
  )
  filters.pick.value = String(shown.at)
  byId("none").hidden = found.length > 0
}

/** @param {HTMLSelectElement} select @param {string[]} iris */
const fill = (select, iris) => select.append(...iris.map((iri) => element("option", { value: iri, title: iri }, localName(iri))))

fill(filters.property, index.properties)
fill(filters.type, index.types)
byId("held-list").replaceChildren(
  ...index.held.map((/** @type {Fact & { at: number }} */ fact) => {
    const button = element("button", { class: "link", type: "button" }, triple(fact))
    button.addEventListener("click", (event) => {
      event.stopPropagation()
      open(fact.at, fact)
    })
    return element("li", {}, button, element("div", { class: "quiet" }, `${fact.reason ?? ""} · ${documents[fact.at]?.title ?? ""}`))
  }),
)
for (const control of [filters.property, filters.type, ...filters.statuses]) control.addEventListener("change", draw)
filters.search.addEventListener("input", drawDocuments)
filters.pick.addEventListener("change", () => open(Number(filters.pick.value)))
document.addEventListener("click", hideCard)
document.addEventListener("keydown", ({ key }) => key === "Escape" && hideCard())
addEventListener("hashchange", () => open(documents.findIndex(({ id }) => id === location.hash.slice(1))))
drawDocuments()
open(
  Math.max(
    0,
    documents.findIndex(({ id }) => id === location.hash.slice(1)),
  ),
)
