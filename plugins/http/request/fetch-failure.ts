/**
 * Returns why a `fetch` failed, with the code in the cause of its error. Messages of such errors can contain a URL, so they
 * are left out.
 */
export function fetchFailure(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code: unknown = Reflect.get(at, 'code')
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code)) return `the request failed: ${code}`
  }
  return 'the request failed'
}
