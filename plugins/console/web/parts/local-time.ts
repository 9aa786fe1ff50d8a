// Converts times for <input type="datetime-local">, which have no zone.

const pad = (n: number): string => String(n).padStart(2, '0')

export function toLocalInput(rfc3339: string | null): string {
  if (rfc3339 === null || Number.isNaN(Date.parse(rfc3339))) return ''
  const at = new Date(rfc3339)
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`
  return `${day}T${pad(at.getHours())}:${pad(at.getMinutes())}`
}

export function fromLocalInput(local: string): string | null {
  const at = new Date(local)
  return local === '' || Number.isNaN(at.getTime()) ? null : at.toISOString()
}

export const unixToRfc3339 = (secs: number): string => new Date(secs * 1000).toISOString()

export const browserTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone
