/**
 * Finds the first syntax error in a JSON text. `JSON.parse` names the offending character but, for most errors, not its line, which
 * a user needs to find the error in a file of thousands of lines.
 */

export interface JsonFault {
  /** Counted from 1. */
  readonly line: number
  readonly problem: string
}

export const findJsonFault = (text: string): JsonFault | undefined => {
  const scanner = new Scanner(text)
  const problem = scanner.document()
  return problem === undefined ? undefined : { line: lineAt(text, scanner.at), problem }
}

const lineAt = (text: string, offset: number): number => {
  let line = 1
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line++
  return line
}

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in strings.
const stringPattern = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

class Scanner {
  at = 0
  readonly text: string
  /** The closing brackets still expected. Kept here rather than on the call stack, so that deep nesting cannot overflow it. */
  private readonly open: Array<"}" | "]"> = []

  constructor(text: string) {
    this.text = text
  }

  document(): string | undefined {
    let problem = this.value()
    while (problem === undefined && this.open.length > 0) problem = this.afterValue()
    if (problem !== undefined) return problem
    this.space()
    return this.at < this.text.length ? "unexpected text after the end of the value" : undefined
  }

  private value(): string | undefined {
    this.space()
    const first = this.text[this.at]
    if (first === "{") return this.opened("}")
    if (first === "[") return this.opened("]")
    if (first === '"') return this.matches(stringPattern) ? undefined : "a string is not closed, or holds a character that must be escaped"
    for (const word of ["true", "false", "null"]) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length
        return undefined
      }
    }
    return this.matches(numberPattern) ? undefined : `expected a value${this.found()}`
  }

  private opened(close: "}" | "]"): string | undefined {
    this.at++
    this.space()
    this.open.push(close)
    if (this.text[this.at] === close) return undefined
    return close === "}" ? this.member() : this.value()
  }

  private member(): string | undefined {
    this.space()
    if (this.text[this.at] !== '"') return `expected a name in quotes${this.found()}`
    if (!this.matches(stringPattern)) return "a name is not closed, or holds a character that must be escaped"
    this.space()
    if (this.text[this.at] !== ":") return `expected a colon${this.found()}`
    this.at++
    return this.value()
  }

  private afterValue(): string | undefined {
    this.space()
    const close = this.open.at(-1)
    if (this.text[this.at] === close) {
      this.at++
      this.open.pop()
      return undefined
    }
    if (this.text[this.at] !== ",") return `expected a comma or ${close}${this.found()}`
    this.at++
    return close === "}" ? this.member() : this.value()
  }

  private space() {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at++
  }

  private matches(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    if (!pattern.test(this.text)) return false
    this.at = pattern.lastIndex
    return true
  }

  private found(): string {
    const character = this.text[this.at]
    return character === undefined ? " but the file ends" : ` but found ${JSON.stringify(character)}`
  }
}
