import { changing } from "./shared.ts"

export default changing("pause", "start nothing until the schedule is resumed", "times in between are not made up for")
