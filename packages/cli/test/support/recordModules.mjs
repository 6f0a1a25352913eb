/** Loaded before a program with `--import`: appends the address of every module that the program loads to a file. */
import { appendFileSync } from "node:fs"
import { registerHooks } from "node:module"

const file = process.env["DETENT_TEST_MODULES"]

if (file !== undefined)
  registerHooks({
    load(url, context, nextLoad) {
      appendFileSync(file, `${url}\n`)
      return nextLoad(url, context)
    },
  })
