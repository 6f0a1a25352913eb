/** Runs the work and prints the contestant's measurements. */
export const measured = async (count: number, work: () => Promise<void>): Promise<void> => {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await work()
  const millis = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  const peakRssMb = process.resourceUsage().maxRSS / 1024
  console.log(JSON.stringify({ perSecond: (count / millis) * 1000, cpuMicros: (user + system) / count, peakRssMb }))
}
