/** What a person does in the console with many instances, with a held one, and with an item that failed. */
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { noBrowser, useBrowser } from "../../server/test/support/browser.ts"
import { request, served, temporaryFolder, useServed } from "../../server/test/support/served.ts"
import { unless } from "../../store/test/support/skipping.ts"

const state = State({ Open: { count: Schema.Int } })

/** The same machine, before and after its event got a field that stored events do not have. */
const before = (() => {
  const event = Event({ Add: { by: Schema.Int } })
  return Machine.make({ name: "ledger", state, event, initial: state.Open({ count: 0 }) }).on(
    state.Open,
    event.Add,
    state.Open,
    ({ state: now, event: { by } }) => state.Open({ count: now.count + by }),
  )
})()

const after = (() => {
  const event = Event({ Add: { by: Schema.Int, note: Schema.String } })
  return Machine.make({ name: "ledger", state, event, initial: state.Open({ count: 0 }) }).on(
    state.Open,
    event.Add,
    state.Open,
    ({ state: now, event: { by } }) => state.Open({ count: now.count + by }),
  )
})()

describe("acting in the console", unless(noBrowser), () => {
  const openTab = useBrowser()
  const shared = useServed()

  it.live("counts the instances that an event would be sent to, sends it, and links to the job", () =>
    Effect.gen(function* () {
      const { url, client } = yield* shared
      for (const id of ["one", "two", "three"]) yield* client.instances.start({ params: { machine: "tally" }, payload: { id } })
      const tab = yield* openTab(`${url}/instances?machine=tally`)
      yield* tab.shows("three")
      yield* tab.run((page) => page.getByRole("button", { name: "Send to all 3…" }).click())
      yield* tab.run((page) => page.getByLabel("Event", { exact: true }).selectOption("Pause"))
      yield* tab.run((page) => page.getByRole("button", { name: "Preview" }).click())
      yield* tab.shows("would be sent to 3 instances")
      yield* tab.until(`/3\\s+Open\\s+Paused/.test(document.querySelector("dialog table").innerText)`)
      for (const id of ["one", "two", "three"])
        assert.strictEqual((yield* client.instances.get({ params: { machine: "tally", id } })).state._tag, "Open")
      yield* tab.run((page) => page.getByLabel("Reason").fill("the desk is closed"))
      yield* tab.run((page) => page.getByRole("button", { name: "Send to 3", exact: true }).dblclick())
      yield* tab.shows("Follow the job")
      assert.lengthOf(
        tab.requests.filter((address) => address.endsWith("/instances/bulk")),
        2,
        "a count and one job",
      )
      yield* tab.until(`[...document.querySelectorAll("[role=row]")].filter((row) => /\\bPaused\\b/.test(row.innerText)).length === 3`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("retries the selected dead letters, and those of a range of time", () =>
    Effect.gen(function* () {
      let isBroken = true
      const words = State({ Waiting: {}, Told: {} })
      const event = Event({ Tell: {} })
      const Teller = Machine.make({
        name: "teller",
        state: words,
        event,
        effects: Slot.Effects({ tell: {} }),
        initial: words.Waiting(),
      })
        .on(words.Waiting, event.Tell, words.Told)
        .enter(words.Told, ({ effects }) => effects.tell({}))
        .commands({ tell: { retry: RetryPolicy.fixed({ delay: "1 millis", maxAttempts: 1 }) } })
        .build({ tell: () => Effect.suspend(() => (isBroken ? Effect.die(new Error("nobody listens")) : Effect.void)) })
      const { url, client } = yield* served({ config: defineConfig({ machines: [Teller] }) })
      for (const id of ["a", "b", "c", "d"]) {
        yield* client.instances.start({ params: { machine: "teller" }, payload: { id } })
        yield* client.instances.send({ params: { machine: "teller", id }, headers: {}, payload: { _tag: "Tell" } })
      }
      yield* Effect.repeat(client.commands.list({ query: { status: "failed" } }), {
        until: ({ commands }) => commands.length === 4,
        schedule: Schedule.spaced("20 millis"),
      })
      isBroken = false
      const tab = yield* openTab(`${url}/commands`)
      const rows = (count: number) => tab.until(`document.querySelectorAll("[role=rowgroup] [role=row]").length === ${count}`)
      yield* rows(4)
      for (const id of ["b", "c"]) yield* tab.run((page) => page.getByLabel(`Select teller/${id}/`).first().check())
      yield* tab.run((page) => page.getByRole("button", { name: "Retry 2…" }).click())
      yield* tab.run((page) => page.getByRole("button", { name: "Retry 2", exact: true }).click())
      yield* tab.shows("2 commands are executed again")
      const left = yield* Effect.repeat(client.commands.list({ query: { status: "failed" } }), {
        until: ({ commands }) => commands.length === 2,
        schedule: Schedule.spaced("20 millis"),
      })
      assert.deepStrictEqual(
        left.commands.map(({ id }) => id),
        ["a", "d"],
      )
      yield* tab.run((page) => page.getByLabel("When it was requested").selectOption("the last hour"))
      yield* tab.until(`new URLSearchParams(location.search).has("since")`)
      yield* tab.run((page) =>
        page.locator("section", { hasText: "Dead letters" }).last().getByRole("button", { name: "Retry all…" }).click(),
      )
      yield* tab.run((page) => page.getByRole("button", { name: "Retry 2", exact: true }).click())
      yield* tab.shows("No command failed for good")
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("tries the repair of a held instance before it replaces the stored event", () =>
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const params = { machine: "ledger", id: "one" }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { client } = yield* served({ data, config: defineConfig({ machines: [before] }) })
          yield* client.instances.start({ params, payload: { id: "one" } })
          yield* client.instances.send({ params, headers: {}, payload: { _tag: "Add", by: 7 } })
        }),
      )
      const { url, client } = yield* served({ data, config: defineConfig({ machines: [after] }) })
      const tab = yield* openTab(`${url}/instances/ledger/one`)
      yield* tab.shows("Held at step 1")
      assert.isTrue(yield* tab.evaluate(`[...document.querySelectorAll("button")].find((one) => one.innerText === "Repair").disabled`))
      yield* tab.run((page) => page.getByLabel("note").fill("from the old version"))
      yield* tab.run((page) => page.getByRole("button", { name: "Try", exact: true }).click())
      yield* tab.shows("With this event the instance replays")
      yield* tab.run((page) => page.getByLabel("Reason").fill("the note came later"))
      yield* tab.run((page) => page.getByRole("button", { name: "Repair", exact: true }).click())
      yield* tab.shows("is repaired")
      const view = yield* client.instances.get({ params })
      assert.deepStrictEqual([view.status, view.state["count"]], ["running", 7])
      // The journal has the original event, and who replaced it, when and why.
      yield* tab.shows("by user console: the note came later")
      yield* tab.shows("Original event")
      const { entries } = yield* client.instances.history({ params, query: {} })
      assert.deepInclude(entries[0]?.replaced?.[0], {
        by: "user console",
        reason: "the note came later",
        event: { _tag: "Add", by: 7 },
      })
    }),
  )

  it.live("corrects an item that failed, and retries it", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const lines = [
        { id: 1, type: "story", by: "ada", time: 1_700_000_000, title: "One" },
        { type: "story", by: "ada", time: 1_700_000_001, title: "Two" },
      ]
      const form = new FormData()
      form.append("file", new Blob([lines.map((line) => JSON.stringify(line)).join("\n")]), "items.jsonl")
      const { text } = yield* request(`${url}/api/v1/uploads`, { method: "POST", body: form })
      const tab = yield* openTab(`${url}/uploads/${JSON.parse(text).batchId}`)
      yield* tab.shows("missing_id")
      yield* tab.shows("Open an item to correct it, then retry")
      yield* tab.visit("/")
      yield* tab.until(`[...document.querySelectorAll("a")].some((one) => /incomplete uploads\\s+1\\s/.test(one.innerText))`)
      yield* tab.run((page) => page.getByRole("link", { name: "incomplete uploads" }).click())
      yield* tab.shows("missing_id")
      yield* tab.run((page) => page.getByRole("table", { name: "Items" }).getByRole("link").first().click())
      yield* tab.run((page) => page.getByLabel("The corrected item, as JSON").fill(JSON.stringify({ ...lines[1], id: 2 })))
      yield* tab.run((page) => page.getByRole("button", { name: "Correct", exact: true }).click())
      yield* tab.shows("is corrected")
      yield* tab.run((page) => page.getByRole("table", { name: "Items" }).getByText("corrected", { exact: true }).waitFor())
      yield* tab.run((page) => page.getByRole("button", { name: "Retry" }).click())
      yield* tab.until(`/\\b2\\s+stored/.test(document.body.innerText)`)
      assert.deepStrictEqual(tab.problems, [])
    }),
  )

  it.live("corrects failed items by a file and in a grid, and stores them", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const form = new FormData()
      form.append("file", new Blob(["id,title\n11,One\n,Two\n,Three\n"]), "rows.csv")
      const { text } = yield* request(`${url}/api/v1/uploads`, { method: "POST", body: form })
      const tab = yield* openTab(`${url}/uploads/${JSON.parse(text).batchId}`)
      yield* tab.shows("Download as CSV")
      const address = yield* tab.run((page) => page.getByRole("link", { name: "Download as CSV" }).getAttribute("href"))
      const failures = yield* request(`${url}${address}`)
      const corrected = failures.text.replace(",,Two", ",12,Two").replace(",,Three", ",11,Three")
      yield* tab.run((page) =>
        page.getByLabel("Corrected file").setInputFiles({ name: "fixed.csv", mimeType: "text/csv", buffer: Buffer.from(corrected) }),
      )
      yield* tab.shows("1 corrected, 1 refused")
      yield* tab.shows("line 3: item 2 would fail again (duplicate): item 0 of the batch has the same id 11")
      yield* tab.run((page) => page.getByRole("button", { name: "Correct in a grid" }).click())
      yield* tab.run((page) => page.getByLabel("id, line 4").fill("11"))
      yield* tab.run((page) => page.getByRole("button", { name: "Correct 1" }).click())
      yield* tab.until(`/would fail again \\(duplicate\\)/.test(document.querySelector("dialog").innerText)`)
      yield* tab.until(`[...document.querySelectorAll("dialog tbody tr")].some((row) => row.innerText.includes("Refused:"))`)
      yield* tab.run((page) => page.getByLabel("id, line 4").fill("13"))
      // Closing asks first, however often Escape is pressed.
      for (const _ of [1, 2, 3]) yield* tab.press("Escape")
      yield* tab.shows("1 row has changes that are not sent.")
      yield* tab.run((page) => page.getByRole("button", { name: "Keep editing" }).click())
      yield* tab.run((page) => page.getByRole("button", { name: "Correct 1" }).click())
      yield* tab.shows("1 corrected.")
      yield* tab.run((page) => page.keyboard.press("Escape"))
      yield* tab.run((page) => page.getByRole("button", { name: "Retry" }).click())
      yield* tab.until(`/\\b3\\s+stored/.test(document.body.innerText)`)
      // A dry run counts what the next file would do.
      yield* tab.run((page) =>
        page.getByLabel("File", { exact: true }).setInputFiles({
          name: "next.csv",
          mimeType: "text/csv",
          buffer: Buffer.from("id,title\n11,One\n12,Other\n99,New\n,Bad\n"),
        }),
      )
      yield* tab.run((page) => page.getByRole("button", { name: "Only count" }).click())
      yield* tab.shows("would insert 1, update 1, skip 1 and refuse 1.")
      assert.deepStrictEqual(tab.problems, [])
    }),
  )
})
