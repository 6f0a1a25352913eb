/**
 * Answers for guards that have no implementation: the same decision is made several times, each time with another combination
 * of answers, until all combinations or enough of them were tried.
 */

/** Covers all answers of four guards in one decision. With more guards, some combinations are left out. */
const combinationLimit = 16

export class GuardScript {
  #answers: Array<boolean> = []
  #asked = 0

  answer(): boolean {
    const answer = this.#answers[this.#asked] ?? true
    this.#answers[this.#asked] = answer
    this.#asked++
    return answer
  }

  /** Runs a decision once for each combination of answers. */
  inEveryWay(decision: () => void) {
    this.#answers = []
    for (let runs = 0; runs < combinationLimit; runs++) {
      this.#asked = 0
      decision()
      // The last yes becomes a no, and the guards asked after it are asked again.
      const flipped = this.#answers.slice(0, this.#asked).lastIndexOf(true)
      if (flipped < 0) return
      this.#answers = [...this.#answers.slice(0, flipped), false]
    }
  }
}
