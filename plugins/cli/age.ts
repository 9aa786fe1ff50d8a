const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1]
] as const

/** Returns how long ago a time is, or until it comes, in the largest unit that fits: '5 min ago', 'in 3 h'. */
export function ageOf(ms: number, now: number): string {
  const secs = Math.round((now - ms) / 1000)
  const [unit, size] = units.find(([, size]) => Math.abs(secs) >= size) ?? ['s', 1]
  const count = `${Math.floor(Math.abs(secs) / size)} ${unit}`
  return secs < 0 ? `in ${count}` : `${count} ago`
}
