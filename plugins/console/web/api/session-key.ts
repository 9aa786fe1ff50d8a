// The key that binds the session to this origin. Cookies also reach other ports of the host, this storage does not.
const name = 'sluice-session-key'

/** Returns the key of this origin, and makes one if there is none. All tabs share it. */
function sessionKey(): string {
  const stored = localStorage.getItem(name)
  if (stored !== null) return stored
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const key = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  localStorage.setItem(name, key)
  return key
}

/** The header of every request. The login binds its session to the key, and knows this browser by it the next time. */
export const sessionKeyHeader = (): Readonly<Record<string, string>> => ({
  'x-svc-session-key': sessionKey()
})
