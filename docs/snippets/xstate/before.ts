import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createActor, waitFor } from "xstate"
import { playerMachine } from "./playerMachine.ts"

const file = "player-1.db.json"

/** Opens the player from what was written last, and writes its snapshot after every transition. */
const open = () => {
  const snapshot = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined
  const player = createActor(playerMachine, { snapshot })
  player.subscribe(() => writeFileSync(file, JSON.stringify(player.getPersistedSnapshot())))
  return player.start()
}

const first = open()
first.on("started", ({ at }) => console.log(`started at ${at}`))
first.send({ type: "seek", to: 42 })
first.send({ type: "play" })
await waitFor(first, ({ value }) => value.playback === "playing")
first.send({ type: "mute" })
first.stop()

const second = open()
const { value, context } = second.getSnapshot()
console.log(value, context)
second.stop()
