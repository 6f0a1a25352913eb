/** What a document is called: by its front matter, by a heading at its beginning, or else by its file's name without the ending. */
export const titleOf = (address: string, beginning: string): string => {
  const [first = "", ...rest] = beginning.trimStart().split(/\n[^\S\n]*\n/, 2)
  const named = /^title:[^\S\n]*(\S[^\n]*)$/imu.exec(first)?.[1]
  if (named !== undefined) return tidy(named.replace(/^["'](.*)["']\s*$/u, "$1"))
  return rest.length > 0 && isHeading(first.trim()) ? tidy(first) : fileName(address)
}

/** How much of a text is needed for its title. */
export const titleWithin = 2000

/** One short line that is no sentence and no `key: value`. */
const isHeading = (line: string): boolean => line.length <= 120 && !line.includes("\n") && !line.includes(": ") && !/[.,:;]$/u.test(line)

const tidy = (text: string): string => text.trim().replace(/\s+/gu, " ").slice(0, 200).toWellFormed()

const fileName = (address: string): string => {
  const last = address.split("/").at(-1) ?? address
  const spelled = address.startsWith("file:") ? decodeURIComponent(last) : last
  return spelled.replace(/(?<=.)\.[A-Za-z0-9]+$/, "")
}
