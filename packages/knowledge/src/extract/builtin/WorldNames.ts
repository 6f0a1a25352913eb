/** Names of countries and languages, from the platform's own tables, so that no list has to be kept here. */
import { labelKey } from "../language/Words.ts"

export interface WorldNames {
  readonly countries: ReadonlySet<string>
  readonly languages: ReadonlySet<string>
}

export const worldNames = (): WorldNames => ({
  countries: namesOf("region", 65),
  languages: namesOf("language", 97),
})

/** Asks for every code of two letters; codes that stand for nothing come back as they are. */
const namesOf = (type: "region" | "language", firstLetter: number): ReadonlySet<string> => {
  const display = new Intl.DisplayNames("en", { type, fallback: "none" })
  const found = new Set<string>()
  for (let pair = 0; pair < 26 * 26; pair++) {
    const name = display.of(String.fromCharCode(firstLetter + Math.floor(pair / 26), firstLetter + (pair % 26)))
    if (name !== undefined) found.add(labelKey(name))
  }
  return found
}
