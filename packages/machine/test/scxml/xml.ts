/** Reads XML as far as charts need it: elements, attributes, text, CDATA. Prefixes of names are dropped. */

/** The attributes that charts use. */
type Attribute =
  | "array"
  | "autoforward"
  | "binding"
  | "cond"
  | "event"
  | "expr"
  | "id"
  | "idlocation"
  | "index"
  | "initial"
  | "item"
  | "location"
  | "name"
  | "namelist"
  | "sendid"
  | "src"
  | "target"
  | "type"
  | "delay"
  | `${"delay" | "event" | "sendid" | "src" | "target" | "type"}expr`

export interface Element {
  readonly name: string
  readonly attributes: { readonly [name in Attribute]?: string }
  readonly children: ReadonlyArray<Element | string>
  /** What stands between its tags. */
  readonly source: string
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" }

const unescaped = (text: string): string =>
  text.replace(/&(#x?[0-9a-fA-F]+|\w+);/g, (whole, name: string) =>
    name.startsWith("#") ? String.fromCodePoint(Number(name.replace("#x", "0x").replace("#", ""))) : (entities[name] ?? whole),
  )

const token =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<\/([^\s>]+)\s*>|<([^\s/>]+)((?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>|[^<]+/g

interface Open {
  readonly name: string
  readonly attributes: Record<string, string>
  readonly children: Array<Element | string>
  readonly from: number
}

const local = (name: string): string => name.slice(name.indexOf(":") + 1)

export const readXml = (text: string): Element => {
  const root: Open = { name: "", attributes: {}, children: [], from: 0 }
  const open: Array<Open> = [root]
  for (const match of text.matchAll(token)) {
    const [whole, cdata, closed, name, attributes = "", isEmpty] = match
    const top = open.at(-1) as Open
    const end = match.index + whole.length
    if (closed !== undefined) {
      open.pop()
      const { from, ...element } = top
      ;(open.at(-1) as Open).children.push({ ...element, source: text.slice(from, match.index) })
    } else if (name !== undefined) {
      const opened: Open = { name: local(name), attributes: attributesOf(attributes), children: [], from: end }
      if (isEmpty === "/") top.children.push({ ...opened, source: "" })
      else open.push(opened)
    } else if (cdata !== undefined) top.children.push(cdata)
    else if (!whole.startsWith("<")) top.children.push(unescaped(whole))
  }
  return root.children.find((child): child is Element => typeof child !== "string") as Element
}

const attributesOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, name = "", double, single]) => [
      local(name),
      unescaped(double ?? single ?? ""),
    ]),
  )

export const elementsOf = ({ children }: Element, ...names: ReadonlyArray<string>): ReadonlyArray<Element> =>
  children.filter((child): child is Element => typeof child !== "string" && (names.length === 0 || names.includes(child.name)))

export const textOf = ({ children }: Element): string => children.filter((child) => typeof child === "string").join("")
