/** Limits what a small file can unpack to: a zip bomb would fill the disk and delay all other files. */
import type { TableLimits } from "../TableLimits.ts"
import { FileTooLarge } from "../TableProblem.ts"

/** Below this many unpacked bytes, the ratio is not checked. */
const ratioFrom = 10_000_000

export class UnpackLimit {
  readonly #file: string
  readonly #limits: TableLimits
  readonly #packedBytes: () => number
  #bytes = 0

  /** `packedBytes`: the bytes that were unpacked so far. */
  constructor(file: string, limits: TableLimits, packedBytes: () => number) {
    this.#file = file
    this.#limits = limits
    this.#packedBytes = packedBytes
  }

  /** Counts unpacked bytes. Throws {@link FileTooLarge} beyond a limit. */
  add(bytes: number) {
    this.#bytes += bytes
    const { maxUnpackedBytes, maxUnpackRatio } = this.#limits
    if (this.#bytes > maxUnpackedBytes)
      throw new FileTooLarge({ file: this.#file, what: "unpacked", bytes: this.#bytes, limit: maxUnpackedBytes })
    if (this.#bytes > ratioFrom && this.#bytes > this.#packedBytes() * maxUnpackRatio)
      throw new FileTooLarge({ file: this.#file, what: "ratio", bytes: this.#bytes, limit: maxUnpackRatio })
  }
}
