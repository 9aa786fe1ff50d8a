/** Returns 'a, b, c and 4 more', so that a finding fits on one line. */
export function listNames(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(', ')
  return names.length > most ? `${shown} and ${names.length - most} more` : shown
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

/** Returns '3 days', '5 hours' or '2 minutes'. */
export function formatAge(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 120) return plural(minutes, 'minute')
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? plural(hours, 'hour') : plural(Math.floor(hours / 24), 'day')
}
