/** Reads the XML of SCXML charts: elements, attributes, text. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: ReadonlyArray<Element>
  readonly text: string
  /** The element as it is written, with its tags. */
  readonly source: string
}

const token =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<!DOCTYPE[^>]*>|<(\/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>|([^<]+)/g
const attribute = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g

interface Open {
  readonly name: string
  readonly attributes: Record<string, string>
  readonly children: Array<Element>
  text: string
  source: string
  readonly from: number
}

export const parseXml = (text: string): Element => {
  const root: Open = { name: "", attributes: {}, children: [], text: "", source: "", from: 0 }
  const open = [root]
  for (const match of text.matchAll(token)) {
    const [whole, cdata, closing, name, attributes = "", empty, words] = match
    const current = open.at(-1) as Open
    const end = match.index + whole.length
    if (cdata !== undefined) current.text += cdata
    else if (words !== undefined) current.text += decoded(words)
    else if (name === undefined) continue
    else if (closing === "/") {
      current.source = text.slice(current.from, end)
      open.pop()
    } else {
      const found = [...attributes.matchAll(attribute)].map(([, key, double, single]) => [key, decoded(double ?? single ?? "")])
      const element: Open = {
        name: name.replace(/^.*:/, ""),
        attributes: Object.fromEntries(found),
        children: [],
        text: "",
        source: whole,
        from: match.index,
      }
      current.children.push(element)
      if (empty !== "/") open.push(element)
    }
  }
  const [first] = root.children
  if (first === undefined) throw new Error("no element")
  return first
}

const decoded = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&apos;", "'").replaceAll("&amp;", "&")

export const elementsOf = ({ children }: Element, ...names: ReadonlyArray<string>): ReadonlyArray<Element> =>
  children.filter(({ name }) => names.includes(name))
