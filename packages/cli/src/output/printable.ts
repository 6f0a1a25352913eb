/** Takes control characters out of texts, so that a stored text cannot move the cursor or set the title of a terminal. */

/** In one line: each run of control characters becomes a space. */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is to be taken out
  text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ")

/** Keeps line ends and the colours that the command itself sets. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is to be taken out
  text.replace(/(\u001b\[\d{1,2}m)|[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, (_, colour: string | undefined) => colour ?? " ")

/** JSON escapes most control characters by itself. These it leaves as they are. */
export const printableJson = (value: unknown): string =>
  (JSON.stringify(value) ?? "null").replace(/[\u007f-\u009f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)
