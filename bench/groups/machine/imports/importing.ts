/** Imports the module given as argument, in a process that has imported nothing else, and prints the time. */
const [, , path = ""] = process.argv
const before = process.cpuUsage()
const start = performance.now()
await import(path)
const wallMilliseconds = performance.now() - start
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify({ cpuMilliseconds: (user + system) / 1000, wallMilliseconds }))
