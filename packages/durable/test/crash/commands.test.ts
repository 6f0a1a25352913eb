import { frozenWhileExecuting, killedWhileExecuting } from "./killedCommands.ts"

killedWhileExecuting({ sqlite: 2, postgres: 4 })
frozenWhileExecuting(1)
