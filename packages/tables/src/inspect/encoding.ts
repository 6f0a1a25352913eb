/** Finds the encoding of a text by its first bytes, and refuses one that the user gave and that the bytes contradict. */
import { isUtf8 } from "node:buffer"
import type { Encoding } from "../TableFormat.ts"
import { FileInvalid } from "../TableProblem.ts"

/** The encoding of a text that begins with these bytes. `isWhole`: they are all of it. */
export const encodingOf = (file: string, head: Buffer, isWhole: boolean, given: Encoding | undefined): Encoding => {
  const found = markedEncoding(head) ?? foundEncoding(head, isWhole)
  if (given === undefined || given === found) return found
  if (fits(given, found, head)) return given
  throw new FileInvalid({
    file,
    problem: `it is not ${given} text, it seems to be ${found}`,
    next: `nothing of it was taken; upload it again as ${found}`,
  })
}

/** Whether the bytes can be text of the given encoding, although another was found. */
const fits = (given: Encoding, found: Encoding, head: Buffer): boolean => {
  if (given === "utf-8") return false
  // UTF-16 without a mark can look like any bytes; the decoder refuses what is none.
  if (given === "utf-16le" || given === "utf-16be") return found === "windows-1252"
  return found === "windows-1252" || (found === "utf-8" && !isNotAscii(head))
}

const isNotAscii = (head: Buffer): boolean => head.some((byte) => byte > 0x7f)

/** The encoding of a byte order mark. */
const markedEncoding = (head: Buffer): Encoding | undefined => {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return "utf-8"
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le"
  return head[0] === 0xfe && head[1] === 0xff ? "utf-16be" : undefined
}

const foundEncoding = (head: Buffer, isWhole: boolean): Encoding => {
  const [even, odd] = zeros(head)
  // Most characters of a table are ASCII: in UTF-16, every second byte is then 0.
  if (even + odd > 0 && (odd > 10 * even || even > 10 * odd) && even + odd > head.length / 8) return odd > even ? "utf-16le" : "utf-16be"
  return isUtf8(isWhole ? head : wholeCharacters(head)) ? "utf-8" : "windows-1252"
}

const zeros = (head: Buffer): readonly [even: number, odd: number] => {
  const found: [number, number] = [0, 0]
  for (let at = 0; at < head.length; at++) if (head[at] === 0) found[at % 2 === 0 ? 0 : 1]++
  return found
}

/** Without the last bytes, which may begin a character of UTF-8 that ends later. */
const wholeCharacters = (head: Buffer): Buffer => {
  let end = head.length
  while (end > head.length - 3 && ((head[end - 1] as number) & 0xc0) === 0x80) end--
  return ((head[end - 1] as number) & 0xc0) === 0xc0 ? head.subarray(0, end - 1) : head
}
