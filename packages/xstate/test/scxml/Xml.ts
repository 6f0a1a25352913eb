/** Reads the XML of SCXML charts: elements, attributes, text. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: ReadonlyArray<Element>
  readonly text: string
}

const token =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<!DOCTYPE[^>]*>|<(\/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>|([^<]+)/g
const attribute = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g

interface Open {
  readonly name: string
  readonly attributes: Record<string, string>
  readonly children: Array<Element>
  text: string
}

export const parseXml = (source: string): Element => {
  const root: Open = { name: "", attributes: {}, children: [], text: "" }
  const open = [root]
  for (const [, cdata, closing, name, attributes = "", empty, text] of source.matchAll(token)) {
    const current = open.at(-1) as Open
    if (cdata !== undefined) current.text += cdata
    else if (text !== undefined) current.text += decoded(text)
    else if (name === undefined) continue
    else if (closing === "/") open.pop()
    else {
      const found = [...attributes.matchAll(attribute)].map(([, key, double, single]) => [key, decoded(double ?? single ?? "")])
      const element: Open = { name: name.replace(/^.*:/, ""), attributes: Object.fromEntries(found), children: [], text: "" }
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
