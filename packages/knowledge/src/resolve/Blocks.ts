/**
 * Blocking for entity resolution: groups millions of owners by shared keys without comparing all pairs. Keys are hashed and sorted
 * together with their owner's number in one typed array; equal neighbours form a block. A block may contain hash collisions, so the
 * caller compares its members.
 */

/** FNV-1a with a final mixing step. */
export const hashOf = (text: string, seed: number): number => {
  let hash = (0x811c9dc5 ^ seed) >>> 0
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}

const base = 0x01000193

/**
 * Hashes the word, and each word that results from deleting one letter. The hash of a shortened word combines the hashes of its two
 * parts, so that no string is built.
 */
export const eachShortening = (word: string, seed: number, emit: (hash: number) => void): void => {
  let whole = 0
  for (let index = 0; index < word.length; index++) whole = (Math.imul(whole, base) + word.charCodeAt(index)) | 0
  emit(mixed(whole, seed))
  let after = 0
  let power = 1
  for (let left = word.length - 1; left >= 0; left--) {
    const letter = word.charCodeAt(left)
    const before = prefixHash(word, left)
    emit(mixed((Math.imul(before, power) + after) | 0, seed))
    after = (after + Math.imul(letter, power)) | 0
    power = Math.imul(power, base)
  }
}

const prefixHash = (word: string, length: number): number => {
  let hash = 0
  for (let index = 0; index < length; index++) hash = (Math.imul(hash, base) + word.charCodeAt(index)) | 0
  return hash
}

const mixed = (value: number, seed: number): number => {
  let hash = value ^ seed
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Entries per pass: bounds memory to 128 MB regardless of their total number. */
const passSize = 16_000_000

/**
 * Calls `use` with the owners of each block of two or more, each owner once and in ascending order. `emit` passes the keys of an owner
 * to its callback; it is called again for each pass, and must pass the same keys.
 */
export const eachBlock = (
  owners: number,
  keysPerOwner: number,
  emit: (owner: number, key: (hash: number) => void) => void,
  use: (block: ReadonlyArray<number>) => void,
): void => {
  if (owners < 2) return
  const passes = Math.max(1, Math.ceil((owners * keysPerOwner) / passSize))
  const ownerSpace = 2 ** Math.ceil(Math.log2(owners))
  const hashSpace = Math.min(2 ** 32, 2 ** 53 / ownerSpace)
  for (let pass = 0; pass < passes; pass++) {
    const entries = sortedEntries(owners, emit, passes, pass, ownerSpace, hashSpace)
    let start = 0
    while (start < entries.length) {
      const hash = Math.floor((entries[start] ?? 0) / ownerSpace)
      let end = start + 1
      while (end < entries.length && Math.floor((entries[end] ?? 0) / ownerSpace) === hash) end++
      if (end - start > 1) {
        const block = ownersOf(entries.subarray(start, end), ownerSpace)
        if (block.length > 1) use(block)
      }
      start = end
    }
  }
}

const sortedEntries = (
  owners: number,
  emit: (owner: number, key: (hash: number) => void) => void,
  passes: number,
  pass: number,
  ownerSpace: number,
  hashSpace: number,
): Float64Array => {
  let entries = new Float64Array(1024)
  let length = 0
  for (let owner = 0; owner < owners; owner++) {
    emit(owner, (hash) => {
      if (passes > 1 && hash % passes !== pass) return
      if (length === entries.length) {
        const larger = new Float64Array(length * 2)
        larger.set(entries)
        entries = larger
      }
      entries[length++] = (hash % hashSpace) * ownerSpace + owner
    })
  }
  return entries.subarray(0, length).sort()
}

const ownersOf = (run: Float64Array, ownerSpace: number): ReadonlyArray<number> => {
  const owners: Array<number> = []
  for (const entry of run) {
    const owner = entry % ownerSpace
    if (owners.at(-1) !== owner) owners.push(owner)
  }
  return owners
}
