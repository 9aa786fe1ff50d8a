import type { RouteDefinition } from '../../../kernel/http/route.ts'

const publicBytes = 8 * 1024 // for callers without a credential
export const defaultBodyBytes = 64 * 1024
export const maxBodyBytes = 2 ** 20

type Limited = Pick<RouteDefinition<never>, 'action' | 'access' | 'bodyBytes'>

/** Returns the maximum size of a body in bytes. Throws TypeError if the route declares an invalid one. */
export function bodyLimitOf({ action, access, bodyBytes }: Limited): number {
  const bytes = bodyBytes ?? (access === 'public' ? publicBytes : defaultBodyBytes)
  if (!Number.isInteger(bytes) || bytes < 1 || bytes > maxBodyBytes)
    throw new TypeError(`${action}: bodyBytes must be an integer from 1 to ${maxBodyBytes}, got ${bytes}`)
  return bytes
}

/** Formats a limit with the largest binary unit that divides it: '64 KiB'. */
export const limitText = (bytes: number): string => {
  if (bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20} MiB`
  return bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`
}
