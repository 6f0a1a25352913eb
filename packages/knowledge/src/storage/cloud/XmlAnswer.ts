/** The XML of S3's answers, as elements with their texts. */
import { Parser } from "htmlparser2"

export interface XmlElement {
  readonly name: string
  text: string
  readonly children: Array<XmlElement>
}

/** The outermost element; one without a name where there is none. */
export const parseXml = (body: Uint8Array): XmlElement => {
  const root: XmlElement = { name: "", text: "", children: [] }
  const open = [root]
  const parser = new Parser(
    {
      onopentag: (name) => {
        const element: XmlElement = { name, text: "", children: [] }
        open.at(-1)?.children.push(element)
        open.push(element)
      },
      ontext: (text) => {
        const element = open.at(-1)
        if (element !== undefined) element.text += text
      },
      onclosetag: () => {
        if (open.length > 1) open.pop()
      },
    },
    { xmlMode: true },
  )
  parser.end(new TextDecoder().decode(body))
  return root.children.find(({ name }) => !name.startsWith("?")) ?? root
}

export const textIn = (element: XmlElement, name: string): string | undefined => element.children.find((one) => one.name === name)?.text

export const childrenIn = (element: XmlElement, name: string): ReadonlyArray<XmlElement> =>
  element.children.filter((one) => one.name === name)

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[character] ?? "&quot;")
