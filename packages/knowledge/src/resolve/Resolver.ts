/**
 * Entity resolution: decides which mentions name the same entity. It joins only mentions of the same type or of a subtype, in the same
 * script: by a shared identifier, by the same words with or without the name of their class, and within a document by a surname,
 * initials or an acronym that match exactly one of its names. A name of several words that one document puts under two classes is one
 * entity of both classes. Mentions with contradicting values of a property that has one value, such as a year of birth, are never
 * joined. A name that matches several entities stays separate: a wrong join corrupts two entities, while a missing one can be made later.
 * Names that are only spelt alike, by one typo, or as initials or an acronym of a name elsewhere, are proposed, and not joined.
 *
 * Time is O(n log n), dominated by sorting; memory holds each distinct name once. The same mentions in the same order give the same
 * result.
 */
import { firstLetters, fits, initialsFit, isShortForm, isSlip, type NameForm, nameForm, wordSlots } from "../text/NameForm.ts"

export interface NamedMention {
  /** The IRI of its class. */
  readonly type: string
  readonly name: string
  readonly identifiers?: ReadonlyArray<Identifier>
  /** Its values of properties that have one value for each entity. */
  readonly values?: ReadonlyArray<SingleValue>
  /** The IRI of its entity, where a person has decided it. */
  readonly known?: string
}

/** A property that has one value for each entity, and the value as text: `["https://example.org/birthYear", "1815"]`. */
export type SingleValue = readonly [property: string, value: string]

/** An entity that an earlier batch resolved. It keeps its IRI, and two known entities are never joined. */
export interface KnownEntity {
  readonly iri: string
  readonly type: string
  readonly names: ReadonlyArray<string>
  readonly identifiers?: ReadonlyArray<Identifier>
  readonly values?: ReadonlyArray<SingleValue>
}

export type MergeReason = "identifier" | "same words"

export type ProposalReason = "slip" | "initials" | "acronym"

interface TwoNames {
  readonly type: string
  readonly left: string
  readonly right: string
}

/** Two names that became one entity. */
export interface Merge extends TwoNames {
  readonly reason: MergeReason
}

/** Two names that may be one entity: their spelling alone does not decide it. */
export interface MergeProposal extends TwoNames {
  readonly reason: ProposalReason
}

/** A group of mentions that are one entity. */
export interface Cluster {
  readonly type: string
  /** The IRI that an earlier batch assigned. */
  readonly known: string | undefined
  /** Its names, most frequent first. */
  readonly names: ReadonlyArray<string>
  /** The input of the IRI's digest: the form of the first name and, where identifiers distinguish namesakes, the identifiers. */
  readonly identity: string
  /** Sorted by property. */
  readonly values: ReadonlyArray<SingleValue>
}

export interface Resolution {
  readonly clusters: ReadonlyArray<Cluster>
  /** For each mention, in the order they were added, the position of its cluster. */
  readonly clusterOf: Int32Array
  readonly merges: ReadonlyArray<Merge>
  readonly proposals: ReadonlyArray<MergeProposal>
}

/** A distinct name of a type, and of one set of identifiers and single values where these distinguish namesakes. */
interface Node {
  readonly type: string
  readonly name: string
  readonly form: NameForm
  readonly known: string | undefined
  readonly values: ReadonlyArray<SingleValue>
  mentions: number
}

const knownKind = "known"

/** The labels and disjointness of classes. */
export interface ClassNames {
  readonly labels: (type: string) => ReadonlyArray<string>
  /** Whether no entity can belong to both classes. */
  readonly areDisjoint: (one: string, other: string) => boolean
}

const noNames: ClassNames = { labels: () => [], areDisjoint: () => true }

export class Resolver {
  readonly #clusters = new Clusters()
  readonly #nodes: Array<Node> = []
  readonly #identities: Array<string> = []
  /** By type, then by form and identity. */
  readonly #byKey = new Map<string, Map<string, number>>()
  /** Cached, since most mentions repeat a name. */
  readonly #forms = new Map<string, NameForm>()
  readonly #byIdentifier = new Map<string, number>()
  readonly #merges: Array<Merge> = []
  readonly #proposals: Array<MergeProposal> = []
  #mentions = new Int32Array(1024)
  #mentionCount = 0
  readonly #above: (type: string) => ReadonlySet<string>
  readonly #classes: ClassNames
  /** The words of each class label, normalised like the words of a name. */
  readonly #classWords = new Map<string, ReadonlyArray<ReadonlyArray<string>>>()

  /** `above` returns the superclasses of a class. Default: none. */
  constructor(above: (type: string) => ReadonlySet<string> = () => new Set(), classes: ClassNames = noNames) {
    this.#above = above
    this.#classes = classes
  }

  get mentionCount(): number {
    return this.#mentionCount
  }

  /** Adds an entity of the existing graph. Must precede `addDocument`. */
  know({ iri, type, names, identifiers = [], values = [] }: KnownEntity): void {
    const own: ReadonlyArray<Identifier> = [[knownKind, iri], ...identifiers]
    for (const name of names) this.#nodeOf(type, name, own, iri, values)
  }

  /** Adds the mentions of one document. Their numbers continue from `mentionCount`. */
  addDocument(mentions: ReadonlyArray<NamedMention>): void {
    const forms = mentions.map(({ name }) => this.#formOf(name))
    mentions.forEach((mention, index) => {
      const { type, known, identifiers = [], values = [] } = mention
      const full = known === undefined ? fullNameInDocument(mentions, forms, index) : undefined
      const own: ReadonlyArray<Identifier> = known === undefined ? identifiers : [[knownKind, known], ...identifiers]
      const node = this.#nodeOf(type, full ?? mention.name, own, known, values)
      const found = this.#nodes[node]
      if (found !== undefined) found.mentions++
      if (this.#mentionCount === this.#mentions.length) {
        const larger = new Int32Array(this.#mentions.length * 2)
        larger.set(this.#mentions)
        this.#mentions = larger
      }
      this.#mentions[this.#mentionCount++] = node
    })
    this.#joinTypes(this.#mentions.subarray(this.#mentionCount - mentions.length, this.#mentionCount))
  }

  /** Properties of different domains can give one name two classes. Names of one word are left out, since two entities may share one. */
  #joinTypes(nodes: Int32Array): void {
    if (nodes.length < 2) return
    const byName = Map.groupBy(new Set(nodes), (node) => this.#node(node).form.key)
    for (const group of byName.values()) {
      if (group.length < 2 || this.#node(group[0] ?? 0).form.core.length < 2) continue
      for (const [position, left] of group.entries())
        for (const right of group.slice(position + 1)) {
          const [one, other] = [this.#node(left).type, this.#node(right).type]
          if (one !== other && !this.#classes.areDisjoint(one, other)) this.#join(left, right, "same words")
        }
    }
  }

  /** The words of a name without the label of its class: Halgrim for Comet Halgrim. */
  #bareWords({ type, form: { core } }: Node): ReadonlyArray<string> {
    let words = this.#classWords.get(type)
    if (words === undefined) {
      words = this.#classes.labels(type).map((label) => this.#formOf(label).words)
      this.#classWords.set(type, words)
    }
    for (const label of words) {
      if (label.length >= core.length) continue
      if (label.every((word, index) => core[index] === word)) return core.slice(label.length)
      if (label.every((word, index) => core[core.length - label.length + index] === word)) return core.slice(0, -label.length)
    }
    return core
  }

  resolve(): Resolution {
    this.#joinSameWords()
    this.#proposeSlips()
    this.#proposeInitials()
    this.#proposeAcronyms()
    return this.#collect()
  }

  #nodeOf(
    type: string,
    name: string,
    identifiers: ReadonlyArray<Identifier>,
    known: string | undefined,
    values: ReadonlyArray<SingleValue>,
  ): number {
    const form = this.#formOf(name)
    const identity = identifiers.length === 0 ? "" : JSON.stringify(identifiers)
    const key = identity === "" && values.length === 0 ? form.key : `${form.key}\n${identity}\n${JSON.stringify(values)}`
    const ofType = this.#byKey.get(type) ?? new Map<string, number>()
    const existing = ofType.get(key)
    if (existing !== undefined) return existing
    const node = this.#clusters.add(identifiers, values)
    this.#byKey.set(type, ofType.set(key, node))
    this.#nodes.push({ type, name, form, known, values, mentions: 0 })
    this.#identities.push(identity)
    for (const [kind, value] of identifiers) {
      // An entity of the existing graph may have several classes.
      const shared = kind === knownKind ? `${kind}\n${value}` : `${type}\n${kind}\n${value}`
      const other = this.#byIdentifier.get(shared)
      if (other === undefined) this.#byIdentifier.set(shared, node)
      else this.#join(other, node, "identifier")
    }
    return node
  }

  #formOf(name: string): NameForm {
    const known = this.#forms.get(name)
    if (known !== undefined) return known
    const form = nameForm(name)
    this.#forms.set(name, form)
    return form
  }

  #join(left: number, right: number, reason: MergeReason): void {
    if (!this.#clusters.join(left, right)) return
    const [leftNode, rightNode] = [this.#nodes[left], this.#nodes[right]]
    if (leftNode === undefined || rightNode === undefined || leftNode.form.key === rightNode.form.key) return
    this.#merges.push({ type: leftNode.type, left: leftNode.name, right: rightNode.name, reason })
  }

  /**
   * Joins all nodes if they may be one entity. Else there are namesakes: joins those that share a value, and the nodes without identifiers
   * and values to each other.
   */
  #joinAll(nodes: ReadonlyArray<number>, reason: MergeReason): void {
    if (this.#mayBeOne(nodes)) {
      this.#joinEach(nodes, reason)
      return
    }
    const sharing = new Map<string, Array<number>>()
    for (const node of nodes)
      for (const value of this.#node(node).values) {
        const key = JSON.stringify(value)
        sharing.set(key, [...(sharing.get(key) ?? []), node])
      }
    for (const group of sharing.values()) if (this.#mayBeOne(group)) this.#joinEach(group, reason)
    this.#joinEach(
      nodes.filter((node) => !this.#clusters.isIdentified(node) && !this.#clusters.hasValues(node)),
      reason,
    )
  }

  #joinEach([first, ...others]: ReadonlyArray<number>, reason: MergeReason): void {
    if (first !== undefined) for (const other of others) this.#join(first, other, reason)
  }

  /** Whether at most one of the nodes is known, at most one identified, and no values contradict each other. */
  #mayBeOne(nodes: ReadonlyArray<number>): boolean {
    const roots = [...new Set(nodes.map((node) => this.#clusters.root(node)))]
    const known = roots.filter((root) => this.#clusters.hasKind(root, (kind) => kind === knownKind))
    const identified = roots.filter((root) => this.#clusters.hasKind(root, (kind) => kind !== knownKind))
    return known.length <= 1 && identified.length <= 1 && this.#clusters.agree(roots)
  }

  /** Proposes a node and the others as one entity if the others are one already; otherwise the match is ambiguous. */
  #proposeIfOne(node: number, others: ReadonlyArray<number>, reason: ProposalReason): void {
    const [first] = others
    if (first !== undefined && new Set(others.map((other) => this.#clusters.root(other))).size === 1) this.#propose(first, node, reason)
  }

  #propose(left: number, right: number, reason: ProposalReason): void {
    if (this.#clusters.root(left) === this.#clusters.root(right) || !this.#mayBeOne([left, right])) return
    const [leftNode, rightNode] = [this.#node(left), this.#node(right)]
    this.#proposals.push({ type: leftNode.type, left: leftNode.name, right: rightNode.name, reason })
  }

  #node(index: number): Node {
    const node = this.#nodes[index]
    if (node === undefined) throw new Error(`there is no name ${index}`)
    return node
  }

  #joinSameWords(): void {
    const keyOf = (node: Node) => `${node.form.script}\n${[...this.#bareWords(node)].sort().join(" ")}`
    const emit = (node: Node, key: (hash: number) => void) => key(hashOf(keyOf(node), 1))
    this.#eachEqual(1, emit, keyOf, (block) => {
      for (const group of this.#ofOneType(block)) this.#joinByEnding(group)
    })
  }

  /** Groups nodes by type. A class and its subclass count as one type: one document may say company, another organisation. */
  #ofOneType(block: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<number>> {
    const byType = Map.groupBy(block, (index) => this.#node(index).type)
    const types = [...byType.keys()]
    const isBelow = (type: string, other: string) => this.#above(type).has(other)
    // A type is grouped with the most specific type below it, if there is exactly one.
    const lowest = types.filter((type) => !types.some((other) => isBelow(other, type)))
    const groups = Map.groupBy(types, (type) => {
      const below = lowest.filter((low) => low === type || isBelow(low, type))
      return below.length === 1 ? below[0] : type
    })
    return [...groups.values()].map((group) => group.flatMap((type) => byType.get(type) ?? []))
  }

  #joinByEnding(block: ReadonlyArray<number>): void {
    const endings = new Set(block.map((index) => this.#node(index).form.ending).filter((ending) => ending !== undefined))
    const groups =
      endings.size <= 1
        ? [block]
        : [undefined, ...endings].map((ending) => block.filter((index) => this.#node(index).form.ending === ending))
    for (const group of groups) this.#joinAll(group, "same words")
  }

  /** Words that differ by one edit share a shortening, so they fall into the same block. */
  #proposeSlips(): void {
    const attested = this.#wordCounts()
    eachBlock(
      this.#nodes.length,
      16,
      (index, key) => {
        const node = this.#node(index)
        for (const slot of wordSlots(node.form)) eachShortening(slot.word, hashOf(slot.around, hashOf(node.type, 2)), key)
      },
      (block) => {
        // More members than one word has typos: hash collisions, or a shortening too common to be significant.
        if (block.length > 64) return
        for (const [position, left] of block.entries())
          for (const right of block.slice(position + 1)) {
            const [leftNode, rightNode] = [this.#node(left), this.#node(right)]
            if (leftNode.type === rightNode.type && isSlip(leftNode.form, rightNode.form, attested)) this.#propose(left, right, "slip")
          }
      },
    )
  }

  /** Number of distinct names per word: two spellings that both occur in several names are two words, not a typo. */
  #wordCounts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { form } of this.#nodes) for (const word of form.core) counts.set(word, (counts.get(word) ?? 0) + 1)
    return counts
  }

  #proposeInitials(): void {
    const keyOf = ({ type, form }: Node) => `${type}\n${form.script}\n${form.core.at(-1)}\n${form.core[0]?.[0]}`
    const emit = (node: Node, key: (hash: number) => void) => {
      if (node.form.core.length > 1) key(hashOf(keyOf(node), 3))
    }
    this.#eachEqual(1, emit, keyOf, (block) => {
      const isShort = (index: number) => this.#node(index).form.core.some((word) => word.length === 1)
      const short = block.filter(isShort)
      if (short.length === 0 || short.length === block.length || block.length > 1000) return
      for (const index of short) {
        const fitting = block.filter((other) => !isShort(other) && initialsFit(this.#node(index).form, this.#node(other).form))
        this.#proposeIfOne(index, fitting, "initials")
      }
    })
  }

  #proposeAcronyms(): void {
    const keyOf = ({ type, form }: Node) => `${type}\n${form.script}\n${firstLetters(form)}`
    const emit = (node: Node, key: (hash: number) => void) => {
      if (firstLetters(node.form) !== undefined) key(hashOf(keyOf(node), 4))
    }
    this.#eachEqual(1, emit, keyOf, (block) => {
      const long = block.filter((index) => !this.#node(index).form.acronym)
      if (long.length > 1000) return
      for (const index of block) if (this.#node(index).form.acronym) this.#proposeIfOne(index, long, "acronym")
    })
  }

  /** Calls `use` with blocks whose keys are equal, not only their hashes. */
  #eachEqual(
    keysPerNode: number,
    emit: (node: Node, key: (hash: number) => void) => void,
    keyOf: (node: Node) => string,
    use: (block: ReadonlyArray<number>) => void,
  ): void {
    eachBlock(
      this.#nodes.length,
      keysPerNode,
      (index, key) => emit(this.#node(index), key),
      (block) => {
        for (const group of Map.groupBy(block, (index) => keyOf(this.#node(index))).values()) if (group.length > 1) use(group)
      },
    )
  }

  #collect(): Resolution {
    const positions = new Map<number, number>()
    const members: Array<Array<number>> = []
    this.#nodes.forEach((_, index) => {
      const root = this.#clusters.root(index)
      const position = positions.get(root)
      if (position === undefined) {
        positions.set(root, members.length)
        members.push([index])
      } else members[position]?.push(index)
    })
    const clusterOf = new Int32Array(this.#mentionCount)
    for (let index = 0; index < this.#mentionCount; index++)
      clusterOf[index] = positions.get(this.#clusters.root(this.#mentions[index] ?? 0)) ?? 0
    return { clusters: members.map((indices) => this.#clusterOf(indices)), clusterOf, merges: this.#merges, proposals: this.#proposals }
  }

  #clusterOf(indices: ReadonlyArray<number>): Cluster {
    const nodes = indices.map((index) => this.#node(index))
    const sorted = nodes.length === 1 ? nodes : nodes.toSorted((left, right) => right.mentions - left.mentions || byLength(left, right))
    const [first = this.#node(indices[0] ?? 0)] = sorted
    const identity =
      indices
        .map((index) => this.#identities[index] ?? "")
        .toSorted()
        .at(-1) ?? ""
    return {
      type: nodes.map(({ type }) => type).reduce((low, type) => (this.#above(type).has(low) ? type : low)),
      known: nodes.find(({ known }) => known !== undefined)?.known,
      names: [...new Set(sorted.map(({ name }) => name))],
      identity: identity === "" ? first.form.key : `${first.form.key}\n${identity}`,
      values: this.#clusters.valuesOf(indices[0] ?? 0),
    }
  }
}

/** Of equally frequent names, the longer is more specific. */
const byLength = (left: Node, right: Node) => right.name.length - left.name.length || (left.name < right.name ? -1 : 1)

/** The full name for a surname, initials or an acronym, if exactly one full name of the type in the document matches. */
const fullNameInDocument = (mentions: ReadonlyArray<NamedMention>, forms: ReadonlyArray<NameForm>, index: number): string | undefined => {
  const form = forms[index]
  const mention = mentions[index]
  if (form === undefined || mention === undefined || !isShortForm(form) || (mention.identifiers ?? []).length > 0) return undefined
  const fitting = new Map<string, string>()
  for (const [other, full] of forms.entries()) {
    const candidate = mentions[other]
    if (candidate?.type === mention.type && full.script === form.script && !isShortForm(full) && fits(form, full))
      fitting.set(full.key, candidate.name)
  }
  return fitting.size === 1 ? [...fitting.values()][0] : undefined
}

// Union-find with constraints: a set carries the identifiers and the single values of its members. Two sets with different values for one
// kind of identifier, or with contradicting values of one property, are never joined.

/** A kind of identifier and its value: `["isbn", "978-3-16-148410-0"]`. */
export type Identifier = readonly [kind: string, value: string]

class Clusters {
  readonly #parent: Array<number> = []
  /** Only sets with identifiers have an entry, under their root. */
  readonly #identifiers = new Map<number, ReadonlyMap<string, string>>()

  /** By property. Only sets with such values have an entry, under their root. */
  readonly #values = new Map<number, ReadonlyMap<string, string>>()

  add(identifiers: ReadonlyArray<Identifier>, values: ReadonlyArray<SingleValue>): number {
    const node = this.#parent.length
    this.#parent.push(node)
    if (identifiers.length > 0) this.#identifiers.set(node, new Map(identifiers))
    if (values.length > 0) this.#values.set(node, new Map(values))
    return node
  }

  root(node: number): number {
    let root = node
    let parent = this.#parent[root] ?? root
    while (parent !== root) {
      // Path splitting keeps later lookups short.
      const above = this.#parent[parent] ?? parent
      this.#parent[root] = above
      root = parent
      parent = above
    }
    return root
  }

  isIdentified(node: number): boolean {
    return this.#identifiers.has(this.root(node))
  }

  hasValues(node: number): boolean {
    return this.#values.has(this.root(node))
  }

  /** Sorted by property. */
  valuesOf(node: number): ReadonlyArray<SingleValue> {
    return [...(this.#values.get(this.root(node)) ?? [])].sort(([one], [other]) => (one < other ? -1 : 1))
  }

  /** Whether no two of the sets have contradicting values. */
  agree(roots: ReadonlyArray<number>): boolean {
    let all: ReadonlyMap<string, string> = new Map()
    for (const root of roots) {
      const merged = mergedValues(all, this.#values.get(root) ?? new Map())
      if (merged === "conflict") return false
      all = merged
    }
    return true
  }

  /** Whether the set of a root has an identifier of such a kind. */
  hasKind(root: number, isKind: (kind: string) => boolean): boolean {
    return [...(this.#identifiers.get(root)?.keys() ?? [])].some(isKind)
  }

  /** Joins two sets unless their identifiers or values conflict. The earlier node becomes the root, so that results do not depend on set sizes. */
  join(left: number, right: number): boolean {
    const leftRoot = this.root(left)
    const rightRoot = this.root(right)
    if (leftRoot === rightRoot) return false
    const merged = this.#mergedIdentifiers(leftRoot, rightRoot)
    const values = mergedValues(this.#values.get(leftRoot) ?? noValues, this.#values.get(rightRoot) ?? noValues)
    if (merged === "conflict" || values === "conflict") return false
    const root = Math.min(leftRoot, rightRoot)
    const child = Math.max(leftRoot, rightRoot)
    this.#parent[child] = root
    this.#identifiers.delete(child)
    if (merged !== undefined) this.#identifiers.set(root, merged)
    this.#values.delete(child)
    if (values.size > 0) this.#values.set(root, values)
    return true
  }

  #mergedIdentifiers(left: number, right: number): ReadonlyMap<string, string> | "conflict" | undefined {
    const ofLeft = this.#identifiers.get(left)
    const ofRight = this.#identifiers.get(right)
    if (ofLeft === undefined || ofRight === undefined) return ofLeft ?? ofRight
    for (const [kind, value] of ofRight) if ((ofLeft.get(kind) ?? value) !== value) return "conflict"
    return new Map([...ofLeft, ...ofRight])
  }
}

const noValues: ReadonlyMap<string, string> = new Map()

/** Of two values that agree, the more exact one. */
const mergedValues = (left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): ReadonlyMap<string, string> | "conflict" => {
  if (left.size === 0) return right
  if (right.size === 0) return left
  const merged = new Map(left)
  for (const [property, value] of right) {
    const other = merged.get(property) ?? value
    if (!isSameValue(value, other)) return "conflict"
    merged.set(property, value.length > other.length ? value : other)
  }
  return merged
}

/** A year agrees with a date in it; numbers and words agree however they are written. */
const isSameValue = (one: string, other: string): boolean =>
  one === other ||
  one.startsWith(`${other}-`) ||
  other.startsWith(`${one}-`) ||
  (one.trim() !== "" && other.trim() !== "" && Number(one) === Number(other)) ||
  nameForm(one).key === nameForm(other).key

// Blocking for entity resolution: groups millions of owners by shared keys without comparing all pairs. Keys are hashed and sorted
// together with their owner's number in one typed array; equal neighbours form a block. A block may contain hash collisions, so the
// caller compares its members.

/** FNV-1a with a final mixing step. */
const hashOf = (text: string, seed: number): number => {
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
const eachShortening = (word: string, seed: number, emit: (hash: number) => void): void => {
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
const eachBlock = (
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
