/** What files begin with that are no text, for an error that names them. */

const signatures: ReadonlyArray<readonly [string, string]> = [
  ["255044462d", "a PDF"],
  ["504b0304", "a ZIP archive, as DOCX, XLSX and EPUB are"],
  ["d0cf11e0", "an old Office document"],
  ["89504e47", "a PNG picture"],
  ["ffd8ff", "a JPEG picture"],
  ["474946383961", "a GIF picture"],
  ["474946383761", "a GIF picture"],
  ["1f8b", "a gzip archive"],
  ["7f454c46", "a program"],
  ["4d5a9000", "a program"],
  ["53514c69746520666f726d6174", "an SQLite database"],
]

/** Of something that is known to be no text. */
export const looksLike = (bytes: Uint8Array): string | undefined =>
  signatureOf(bytes) ?? (isUnmarkedUtf16(bytes) ? "UTF-16 without its byte order mark" : undefined)

/** Of anything: no text begins like that. */
export const signatureOf = (bytes: Uint8Array): string | undefined => {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("hex")
  return signatures.find(([signature]) => start.startsWith(signature))?.[1]
}

/** Every other byte is zero, as in English text of two bytes a letter. */
const isUnmarkedUtf16 = (bytes: Uint8Array): boolean => {
  const sample = bytes.subarray(0, 200)
  const zeros = [0, 1].map((parity) => sample.filter((byte, index) => index % 2 === parity && byte === 0).length)
  return sample.length >= 4 && Math.max(...zeros) * 2 >= sample.length * 0.8 && Math.min(...zeros) === 0
}
