/** A strict reader for the XML the diagrams write: elements, attributes in double quotes, text, entities. No more. */

export interface XmlElement {
  readonly name: string
  readonly attributes: { readonly [name: string]: string }
  readonly text: string
}

const token = /<(\/?)([A-Za-z]+)((?: [a-z][a-zA-Z0-9-]*="[^"<]*")*)(\/?)>|([^<]+)/y
// Characters XML 1.0 does not allow at all, not even escaped.
const forbidden = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u
const entity = /&(amp|lt|gt|quot);/g
const entities: { readonly [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"' }

const decode = (text: string): string => {
  if (forbidden.test(text)) throw new Error(`a character that XML forbids in ${JSON.stringify(text)}`)
  if (/[&>]/.test(text.replace(entity, ""))) throw new Error(`a bare & or > in ${JSON.stringify(text)}`)
  return text.replace(entity, (_, name: string) => entities[name] ?? "")
}

/** All elements in document order, or an error where the text is not well-formed. */
export const readXml = (document: string): ReadonlyArray<XmlElement> => {
  const elements: Array<{ name: string; attributes: { [name: string]: string }; text: string }> = []
  const open: Array<(typeof elements)[number]> = []
  let roots = 0
  token.lastIndex = 0
  while (token.lastIndex < document.length) {
    const at = token.lastIndex
    const found = token.exec(document)
    if (found === null) throw new Error(`not well-formed at ${JSON.stringify(document.slice(at, at + 60))}`)
    const [, close, name = "", list = "", empty, text] = found
    const parent = open.at(-1)
    if (text !== undefined) {
      if (parent !== undefined) parent.text += decode(text)
      else if (text.trim() !== "") throw new Error("text outside the root")
    } else if (close === "/") {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes nothing`)
    } else {
      const attributes: { [name: string]: string } = {}
      for (const [, key = "", value = ""] of list.matchAll(/ ([a-zA-Z0-9-]+)="([^"]*)"/g)) {
        if (key in attributes) throw new Error(`${key} twice`)
        attributes[key] = decode(value)
      }
      const element = { name, attributes, text: "" }
      elements.push(element)
      if (parent === undefined) roots++
      if (empty !== "/") open.push(element)
    }
  }
  if (open.length > 0 || roots !== 1) throw new Error("elements are left open, or there is not one root")
  return elements
}
