// The moments at which an end is announced: 14 and 3 days before it.
import type { EntityManager } from '@mikro-orm/sql'
import type { Expiring, ExpirySource } from './notice-kind-slot.ts'

const dayMs = 24 * 3_600_000
const noticesMs = [14 * dayMs, 3 * dayMs] // before the end, the first one first
const pageRows = 200

export interface ExpiryNotice extends Expiring {
  readonly noticeMs: number // before the end: the moment that has passed
}

interface Since {
  readonly since: number // ms; moments up to it were announced
  readonly now: number
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
}

/**
 * Yields the objects of a source that have passed a moment after `since`, in pages. An object that has passed both comes
 * once, and one that was made after the moment, or has ended, does not come. Throws what the source throws.
 */
export async function* expiryNotices(
  source: ExpirySource,
  { since, now, read }: Since
): AsyncGenerator<readonly ExpiryNotice[]> {
  for (const [at, noticeMs] of noticesMs.entries()) {
    const nextMs = noticesMs[at + 1] ?? 0
    const span = { from: Math.max(since + noticeMs, now + nextMs) + 1, to: now + noticeMs }
    for await (const page of pagesOf(source, span, read))
      yield page
        .filter(({ setAt, expiresAt }) => setAt < expiresAt - noticeMs)
        .map(found => ({ ...found, noticeMs }))
  }
}

async function* pagesOf(
  source: ExpirySource,
  { from, to }: { readonly from: number; readonly to: number },
  read: Since['read']
): AsyncGenerator<readonly Expiring[]> {
  let place = { from, after: '' }
  while (place.from <= to) {
    const page = await read(em => source({ ...place, to, take: pageRows }, em))
    yield page
    const last = page.at(-1)
    if (!last || page.length < pageRows) return
    if (last.expiresAt === place.from && last.object === place.after)
      throw new TypeError(`the source returns ${last.object} again; begin after \`after\``)
    place = { from: last.expiresAt, after: last.object }
  }
}
