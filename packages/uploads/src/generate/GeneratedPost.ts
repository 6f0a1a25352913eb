/** Generates posts of a forum, and invalid items of every kind, for files of any size. */
import type { ProblemReason } from "../item/ItemProblem.ts"

/** The kinds of invalid items. `rejected` and `limit_exceeded` depend on a definition, and generated text is always UTF-8. */
export type BadKind = Exclude<ProblemReason, "rejected" | "limit_exceeded" | "not_text" | "bad_row">

export interface GenerateOptions {
  readonly items: number
  readonly seed?: number
  /** The id of the first item; later items have larger ids. */
  readonly firstId?: number
  /** The share of each kind of invalid items, from 0 to 1. */
  readonly bad?: Partial<Readonly<Record<BadKind, number>>>
  /** The size of items that are too large. */
  readonly largeItemBytes?: number
}

export interface GeneratedItem {
  readonly text: string
  /** Its kind of problem; undefined for a valid item. */
  readonly bad: BadKind | undefined
}

/** The time of the first post. */
const firstSecond = 1_160_418_111

/** Generates the items one after the other, without keeping them. */
export function* generateItems(options: GenerateOptions): Generator<GeneratedItem, void> {
  const { items, seed = 1, firstId = 1, bad = {}, largeItemBytes = 1_100_000 } = options
  const chance = new Chance(seed)
  const kinds = Object.entries(bad) as ReadonlyArray<readonly [BadKind, number]>
  const good: Array<number> = []
  let id = firstId
  for (let index = 0; index < items; index++) {
    id += chance.happens(0.3) ? chance.between(1, 3) : 1
    const kind = badKind(chance, kinds)
    const item = goodItem(chance, id, firstId)
    if (kind === undefined || (kind === "duplicate" && good.length === 0)) {
      if (good.length < 1000 || chance.happens(0.001)) good[good.length < 1000 ? good.length : chance.between(0, 999)] = id
      yield { text: JSON.stringify(item), bad: undefined }
    } else yield { text: spoiled(kind, item, chance, good, largeItemBytes), bad: kind }
  }
}

const badKind = (chance: Chance, kinds: ReadonlyArray<readonly [BadKind, number]>): BadKind | undefined => {
  if (kinds.length === 0) return undefined
  let left = chance.next()
  for (const [kind, share] of kinds) {
    left -= share
    if (left < 0) return kind
  }
  return undefined
}

type Fields = Record<string, unknown>

const goodItem = (chance: Chance, id: number, firstId: number): Fields => {
  const time = firstSecond + Math.floor((id - firstId) * 14.7) + chance.between(0, 10)
  const kind = chance.next()
  const parent = Math.max(1, id - chance.between(1, 5000))
  // A deleted item no longer has author or text.
  if (chance.happens(0.025)) return { deleted: true, id, parent, time, type: "comment" }
  const by = author(chance)
  if (kind < 0.82) return withDeath(chance, { by, id, ...kidsOf(chance, id, 3), parent, text: comment(chance), time, type: "comment" })
  if (kind < 0.985) return withDeath(chance, story(chance, by, id, time))
  if (kind < 0.992) return { by, id, score: 1, text: comment(chance), time, title: title(chance), type: "job", url: url(chance) }
  const poll = { by, descendants: chance.between(0, 80), id, score: chance.between(1, 300), time, title: title(chance) }
  return kind < 0.994
    ? { ...poll, parts: [id + 1, id + 2, id + 3], text: comment(chance), type: "poll" }
    : { by, id, poll: parent, score: chance.between(0, 120), text: title(chance), time, type: "pollopt" }
}

const story = (chance: Chance, by: string, id: number, time: number): Fields => {
  const kids = kidsOf(chance, id, 30)
  const counts = { descendants: chance.rank(200), score: 1 + chance.rank(600) }
  const content = chance.happens(0.9) ? { url: url(chance) } : { text: comment(chance) }
  return { by, id, ...kids, ...counts, time, title: title(chance), type: "story", ...content }
}

const withDeath = (chance: Chance, item: Fields): Fields => (chance.happens(0.03) ? { dead: true, ...item } : item)

const kidsOf = (chance: Chance, id: number, most: number): Fields => {
  const count = chance.rank(most + 1)
  return count === 0 ? {} : { kids: Array.from({ length: count }, (_, index) => id + index + chance.between(1, 900)) }
}

const spoiled = (kind: BadKind, item: Fields, chance: Chance, good: ReadonlyArray<number>, largeItemBytes: number): string => {
  const { id, type, ...others } = item
  switch (kind) {
    case "not_json":
      // The brackets are balanced, as in the output of a faulty script.
      return `{"id":${id},"type":${type},"by":undefined}`
    case "not_an_object":
      return chance.pick(["42", "null", '"comment"', "[1,2,3]", "true"])
    case "too_large":
      return JSON.stringify({ ...item, text: "large ".repeat(Math.ceil(largeItemBytes / 6)) })
    case "missing_id":
      return JSON.stringify({ type, ...others })
    case "invalid_id":
      return JSON.stringify({ ...item, id: chance.pick([-7, 1.5, "abc", 0, true]) })
    case "missing_field":
      return JSON.stringify({ id, ...others })
    case "invalid_field":
      return JSON.stringify({
        ...item,
        ...chance.pick([{ type: "stroy" }, { time: "yesterday" }, { by: 12 }, { kids: [1, "two"] }, { deleted: "yes" }]),
      })
    case "duplicate":
      return JSON.stringify({ ...item, id: chance.pick(good) })
  }
}

// Words, names and texts of all kinds: HTML, accents, other scripts, emoji.

const common =
  "the of to and a in is it that for on with you as be this are not have or but from at by an if they we can was more will about what so just like there all do out up one would has when people which some than their how no use time get work new other into only also way make because most then even think really good need much data code system software company problem years".split(
    " ",
  )

const topics =
  "compiler database latency garbage collector kernel scheduler tokenizer startup founder interview salary remote equity privacy encryption browser extension javascript rust python haskell postgres sqlite kubernetes container serverless functional immutable concurrency deadlock regression benchmark profiler assembly microcontroller synthesizer telescope battery reactor vaccine genome protein climate transit zoning housing patent copyright lawsuit antitrust election policy economy inflation mortgage tariff podcast keyboard monitor terminal editor emacs vim typescript monad parser grammar automaton lambda calculus theorem proof geometry statistics regression gradient transformer embedding inference dataset annotation robotics drone satellite rocket orbit lunar glacier coral forest wildfire archive museum manuscript translation dictionary typography font kerning pixel shader raytracing texture codec stream packet router firewall sandbox exploit patch disclosure".split(
    " ",
  )

const foreign = ["naïve", "café", "Zürich", "Łódź", "São", "Ærø", "日本語", "数据库", "Привет", "Ελλάδα", "résumé", "façade"]
const emoji = ["🚀", "🎉", "👩‍💻", "🤖", "❤️"]
const domains = ["example.com", "blog.example.org", "news.example.net", "github.example.com", "arxiv.example.edu"]

const syllables = "ka lo mi ren tor us bel dan fi go hex ix jun kel lar mon nix ost pax qu ro sam tel uri vex wol yan zed".split(" ")

/** One of 60,000 authors; a few of them write most items. */
export const author = (chance: Chance): string => {
  const number = chance.rank(60_000)
  const first = syllables[number % syllables.length]
  const second = syllables[Math.floor(number / syllables.length) % syllables.length]
  return `${first}${second}${number % 7 === 0 ? "" : number}`
}

const word = (chance: Chance): string => {
  const kind = chance.next()
  if (kind < 0.62) return common[chance.rank(common.length)] as string
  if (kind < 0.997) return topics[chance.rank(topics.length)] as string
  return chance.pick(foreign)
}

const sentence = (chance: Chance, least: number, most: number): string => {
  let text = word(chance)
  for (let left = chance.between(least, most) - 1; left > 0; left--) text += ` ${word(chance)}`
  return `${(text[0] ?? "").toUpperCase()}${text.slice(1)}`
}

export const url = (chance: Chance): string =>
  `https://${chance.pick(domains)}/${topics[chance.rank(topics.length)]}/${chance.between(1, 99_999)}`

export const title = (chance: Chance): string => {
  const kind = chance.next()
  const text = sentence(chance, 3, 9)
  if (kind < 0.05) return `Show: ${text}`
  if (kind < 0.1) return `Ask: ${text}?`
  return kind < 0.13 ? `${text} [pdf]` : text
}

/** A comment of one to four paragraphs, in HTML. */
export const comment = (chance: Chance): string => {
  let text = ""
  for (let paragraphs = 1 + chance.rank(4); paragraphs > 0; paragraphs--) {
    text += text === "" ? "" : "<p>"
    for (let sentences = chance.between(1, 3); sentences > 0; sentences--) text += `${sentence(chance, 5, 18)}. `
    const kind = chance.next()
    if (kind < 0.08) text += `See <a href="${url(chance)}" rel="nofollow">${chance.pick(domains)}&#x2F;...</a> `
    else if (kind < 0.14) text += `I&#x27;m not sure <i>${word(chance)}</i> &gt; ${word(chance)} `
    else if (kind < 0.16) text += `${chance.pick(emoji)} `
    else if (kind < 0.18) text += `<pre><code>let ${word(chance)} = &quot;x&quot;\n</code></pre>`
  }
  return text.trimEnd()
}

/** A seeded random generator: the same seed gives the same choices. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to 1, exclusive (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  happens(share: number): boolean {
    return this.next() < share
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  pick<A>(from: ReadonlyArray<A>): A {
    return from[Math.floor(this.next() * from.length)] as A
  }

  /** An index that favours small values, since a few words and authors occur most often. */
  rank(count: number): number {
    return Math.floor(count * this.next() ** 3)
  }
}
