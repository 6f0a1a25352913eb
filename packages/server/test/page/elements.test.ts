import { assert, describe, it } from "@effect/vitest"
import { ago } from "../../src/serve/page/assets/elements.mjs"

const second = 1000
const minute = 60 * second
const hour = 60 * minute

describe("times on the page", () => {
  it.each([
    [1.4 * second, "now"],
    [1.6 * second, "2 s ago"],
    [59.4 * second, "59 s ago"],
    [59.6 * second, "1 min ago"],
    [89 * second, "1 min ago"],
    [91 * second, "2 min ago"],
    [59.6 * minute, "1 h ago"],
    [89 * minute, "1 h ago"],
    [91 * minute, "2 h ago"],
    [47.4 * hour, "47 h ago"],
    [47.6 * hour, "2 days ago"],
    [60.1 * hour, "3 days ago"],
    [-(2 * hour - second), "in 2 h"],
    [-(91 * second), "in 2 min"],
  ])("%d ms are rounded to the nearest unit: %s", (millis, words) => {
    assert.strictEqual(ago(0, millis), words)
  })
})
