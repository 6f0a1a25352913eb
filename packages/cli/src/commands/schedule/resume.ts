import { changing } from "./shared.ts"

export default changing("resume", "start from the next time on again", "its next time follows from now")
