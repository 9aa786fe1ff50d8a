const two = (n: number): string => String(n).padStart(2, '0')

/** '2026-01-31T12:00:00Z' as <input type="datetime-local"> has it, in local time. */
export function localOf(value: unknown): string {
  if (typeof value !== 'string') return ''
  const at = new Date(value)
  if (Number.isNaN(at.getTime())) return ''
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}

export function isoOf(local: string): string | undefined {
  const at = new Date(local)
  return local === '' || Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
