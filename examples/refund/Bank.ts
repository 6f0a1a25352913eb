/** A bank whose every other call fails. It pays once per key, however often it is called. */
import { BankUnavailable } from "./Refund.ts"

export class Bank {
  readonly payments = new Map<string, number>()
  calls = 0

  async pay(key: string, amount: number, signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted()
    if (this.calls++ % 2 === 0) throw new BankUnavailable({ reason: "the line to the bank is down" })
    this.payments.set(key, amount)
    return `receipt-${this.payments.size}`
  }
}
