/**
 * Answers for guards that have no implementation: run the same decision again and again, and each time they answer
 * otherwise, until every combination was heard or there were enough.
 */

/** Four guards in one decision are answered in every way; of more, some combinations are left out. */
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
      // The last yes becomes a no, and what was asked after it is asked anew.
      const flipped = this.#answers.slice(0, this.#asked).lastIndexOf(true)
      if (flipped < 0) return
      this.#answers = [...this.#answers.slice(0, flipped), false]
    }
  }
}
