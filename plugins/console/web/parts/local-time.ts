// Times of <input type="datetime-local">, which are local and have no zone.

const two = (n: number): string => String(n).padStart(2, '0')

export function localOf(rfc3339: string | null): string {
  if (rfc3339 === null || Number.isNaN(Date.parse(rfc3339))) return ''
  const at = new Date(rfc3339)
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}

export function rfcOf(local: string): string | null {
  const at = new Date(local)
  return local === '' || Number.isNaN(at.getTime()) ? null : at.toISOString()
}

/** Unix seconds as RFC 3339. */
export const ofUnix = (secs: number): string => new Date(secs * 1000).toISOString()

export const zone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone
