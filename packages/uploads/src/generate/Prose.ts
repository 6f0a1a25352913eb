/** Words, names and texts that look like those of the site: HTML, accents, other scripts, emoji. */
import type { Chance } from "./Chance.ts"

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

/** One of 60,000 people; a few of them write most. */
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
  if (kind < 0.05) return `Show HN: ${text}`
  if (kind < 0.1) return `Ask HN: ${text}?`
  return kind < 0.13 ? `${text} [pdf]` : text
}

/** A comment of one to four paragraphs, in the HTML of the site. */
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
