/**
 * The invented world that generated documents speak of: companies, the people who work there, cities and products. Entities
 * are computed from their number, so a world of any size takes no memory.
 */
import { Chance } from "./Chance.ts"

export type EntityType = "Person" | "Company" | "City" | "Product"

export interface WorldEntity {
  /** `Company/17`: the truth that names hide. */
  readonly id: string
  readonly type: EntityType
  readonly name: string
  /** Other names under which documents speak of it, usable anywhere. */
  readonly names: ReadonlyArray<string>
  /** Names that are clear only where the full name was said before. */
  readonly shortNames: ReadonlyArray<string>
}

export interface World {
  readonly seed: number
  readonly companies: number
}

export const peoplePerCompany = 4

const given = split(
  "Maria Ines Tomas Helena Viktor Amara Johan Leila Pedro Ingrid Kofi Yara Stefan Noor Emeka Clara Anton Rosa Hugo Freya Samir Linnea Oscar Zofia René Chloë Søren Łucja Björn Zoë",
)
const syllables = split("bran dol ver kas mir tan hol gar fen lund quist mar pell ros stav tor wick zel nor hag ost ryd sal vang berg")
const firstWords = split(
  "Northern Blue Harbour Silver Granite Atlas Meridian Cobalt Summit Evergreen Pioneer Beacon Sterling Orchard Falcon",
)
const kinds = split("Tidal Timber Solar Marine Copper Paper Glass Rail Grain Cable Optical Textile Ceramic Alpine Coastal")
const trades = split("Energy Works Systems Logistics Foods Instruments Materials Partners Industries Shipping")
const endings = split("Inc. Ltd GmbH AB")
const cityEndings = split("holm ford burg mouth stad haven field")
const cyrillicGiven = split("Анна Борис Вера Глеб Дарья Егор Зоя Игорь")
const cyrillicSyllables = split("бор лес мор зим гор вет сад кол вер тих рос луг")
const hanSurnames = [..."王李张刘陈杨赵黄周吴"]
const hanGiven = [..."明红伟芳静磊洋艳勇军杰娟涛超霞平刚玲桂英"]

export const companyAt = ({ seed }: World, index: number): WorldEntity => {
  const chance = new Chance(seed, "company", index)
  const name = `${pick(chance, firstWords)} ${capital(stem(chance, syllables, 2))} ${pick(chance, kinds)} ${pick(chance, trades)}`
  return {
    id: `Company/${index}`,
    type: "Company",
    name,
    names: [`${name} ${pick(chance, endings)}`, name.toUpperCase()],
    shortNames: [initials(name)],
  }
}

export const personAt = ({ seed }: World, index: number): WorldEntity => {
  const chance = new Chance(seed, "person", index)
  const id = `Person/${index}`
  if (chance.happens(0.06)) {
    const name = `${pick(chance, cyrillicGiven)} ${capital(stem(chance, cyrillicSyllables, 3))}ов`
    return { id, type: "Person", name, names: [], shortNames: [] }
  }
  if (chance.happens(0.06)) {
    const name = distinct(index, [hanSurnames, hanGiven, hanGiven, hanGiven])
    return { id, type: "Person", name, names: [], shortNames: [] }
  }
  const first = pick(chance, given)
  const last = capital(stem(chance, syllables, 3))
  const middle = capital(pick(chance, syllables))
  const name = `${first} ${middle} ${last}`
  return {
    id,
    type: "Person",
    name,
    names: [`Dr. ${name}`, `${first.normalize("NFD").replace(/\p{M}/gu, "")} ${middle} ${last}`, slip(chance, name)],
    shortNames: [`${first.slice(0, 1)}. ${last}`, last],
  }
}

export const cityAt = ({ seed, companies }: World, index: number): WorldEntity => {
  const number = index % Math.max(20, Math.ceil(companies / 50))
  const chance = new Chance(seed, "city", number)
  const name = capital(distinct(number, [syllables, syllables, syllables])) + pick(chance, cityEndings)
  return { id: `City/${number}`, type: "City", name, names: [], shortNames: [] }
}

export const productAt = ({ seed }: World, company: number): WorldEntity => {
  const chance = new Chance(seed, "product", company)
  const name = `${capital(stem(chance, syllables, 2))} ${pick(chance, kinds)} ${100 + chance.below(900)}`
  return { id: `Product/${company}`, type: "Product", name, names: [], shortNames: [] }
}

function split(words: string): ReadonlyArray<string> {
  return words.split(" ")
}

const pick = (chance: Chance, words: ReadonlyArray<string>): string => words[chance.below(words.length)] ?? ""

const stem = (chance: Chance, from: ReadonlyArray<string>, length: number): string =>
  Array.from({ length }, () => pick(chance, from)).join("")

/** A combination that no other number has, as long as there are enough: where chance would soon give one name twice. */
const distinct = (number: number, parts: ReadonlyArray<ReadonlyArray<string>>): string => {
  const size = parts.reduce((product, words) => product * words.length, 1)
  // Stepping by a prime scatters neighbours, and meets every combination once.
  let rest = (number * 7919) % size
  return parts
    .map((words) => {
      const word = words[rest % words.length] ?? ""
      rest = Math.floor(rest / words.length)
      return word
    })
    .join("")
}

const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)

const initials = (name: string): string =>
  name
    .split(" ")
    .map((word) => word.slice(0, 1))
    .join("")

/** Two neighbouring letters of the last word swapped, as hurried writers do. */
const slip = (chance: Chance, name: string): string => {
  const at = name.lastIndexOf(" ") + 3 + chance.below(3)
  return name.slice(0, at) + name.slice(at + 1, at + 2) + name.slice(at, at + 1) + name.slice(at + 2)
}
