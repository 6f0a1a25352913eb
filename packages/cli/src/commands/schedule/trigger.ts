import { changing } from "./shared.ts"

export default changing("trigger", "start one run now, also while the schedule is paused", "its overlap policy applies")
