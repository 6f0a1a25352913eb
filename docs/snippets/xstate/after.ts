import { openEngine } from "@detent/durable/promise"
import { fromXState } from "@detent/xstate"
import { playerMachine } from "./playerMachine.ts"

const Player = fromXState(playerMachine, { version: 1 })

const open = () => openEngine({ database: "sqlite:players.db", machines: [Player] })

const first = await open()
const player = await first.start(Player, "player-1")
await player.send({ type: "seek", to: 42 })
await player.send({ type: "play" })
const playing = await player.waitFor(({ value }) => value.playback === "playing")
for (const { type, at } of playing.emitted ?? []) console.log(`${type} at ${at}`)
await player.send({ type: "mute" })
await first.close()

const second = await open()
const { value, context } = await second.state(Player, "player-1")
console.log(value, context)
await second.close()
