/** An item of a file before it is parsed, and positions between items. */

/** How the items of a file are held together. */
export type Layout = "array" | "lines"

/** Where reading may continue: behind an item. */
export interface Position {
  /** How many items are before it. */
  readonly index: number
  readonly offset: number
  readonly line: number
}

/** An item as it is in the file. */
export interface RawItem {
  readonly index: number
  readonly offset: number
  readonly line: number
  /** Where the next one can be looked for. */
  readonly endOffset: number
  readonly endLine: number
  /** Its JSON, unless it exceeds the size limit or is not UTF-8. */
  readonly text: string | undefined
  readonly problem: "too_large" | "not_utf8" | undefined
}

/** Where reading continues behind an item. */
export const behind = ({ index, endOffset, endLine }: RawItem): Position => ({ index: index + 1, offset: endOffset, line: endLine })
