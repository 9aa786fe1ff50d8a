export interface Reply {
  readonly result: string // 'delivered', 'status_500', 'unreachable'
  readonly retryMs?: number // for another attempt: the least wait; 0 if the receiver does not say
}

/** Statuses below 500 that mean: later. Any other is final, also a redirect, which could lead to another origin. */
const later = new Set([408, 425, 429])

/** True for a URL at one of the origins. It has no user, which would come before the slash. */
export const isAllowed = (url: string, origins: readonly string[]): boolean =>
  origins.some(origin => url.startsWith(`${origin}/`))

/** Posts the note. Never throws, because errors could show the URL. */
export async function post(url: string, note: object, nowMs: number): Promise<Reply> {
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: JSON.stringify(note), redirect: 'manual' } as const
  try {
    const reply = await fetch(url, { ...request, signal: AbortSignal.timeout(5000) })
    await reply.body?.cancel()
    if (reply.ok) return { result: 'delivered' }
    const result = `status_${reply.status}`
    if (reply.status < 500 && !later.has(reply.status)) return { result }
    return { result, retryMs: readRetryAfter(reply.headers.get('retry-after') ?? '', nowMs) }
  } catch {
    return { result: 'unreachable', retryMs: 0 }
  }
}

/** Reads seconds or a date (RFC 9110, 10.2.3); 0 for anything else. */
function readRetryAfter(text: string, nowMs: number): number {
  return (/^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs) || 0
}
