// Audit entries, newest first. New entries are added at the front, older ones at the end on request.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call, type Reply } from '../../api/call.ts'

export type Entry = Extract<Reply<'GET /v1/audit'>, readonly unknown[]>[number]

export interface Filters {
  readonly actor: string
  readonly action: string
  readonly outcome: string
  readonly since: string // RFC 3339
  readonly until: string
  readonly request_id: string
}
export const filterNames = ['actor', 'action', 'outcome', 'since', 'until', 'request_id'] as const

interface Log {
  readonly entries: readonly Entry[]
  readonly next: string | null // cursor of older entries
}

const perPage = 200
const maxNewPages = 10
const maxEntries = 20_000 // beyond this, the oldest are dropped; they can be loaded again
const followMs = 2000

interface Page {
  readonly entries: readonly Entry[]
  readonly next_cursor?: string
}

async function read(filters: Filters, cursor: string): Promise<Page> {
  const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''))
  const page = await call('GET /v1/audit', { query: { ...given, cursor, limit: perPage } })
  return Array.isArray(page) ? { entries: page } : page // with a cursor, the reply is an object
}

export function useEntries(filters: Filters, isFollowing: boolean) {
  const client = useQueryClient()
  const key = ['audit', filters]
  const log = useQuery({
    queryKey: key,
    refetchInterval: isFollowing ? followMs : false,
    queryFn: async (): Promise<Log> => {
      const known = client.getQueryData<Log>(key)
      const fresh = await newSince(filters, known?.entries[0]?.id)
      const now = client.getQueryData<Log>(key) // older entries may have been added since
      return fresh.isWhole || now === undefined
        ? { entries: fresh.entries, next: fresh.next }
        : { entries: mergeEntries(fresh.entries, now.entries), next: now.next }
    }
  })
  const loadOlder = async (): Promise<void> => {
    const next = log.data?.next
    if (next == null) return
    const page = await read(filters, next)
    client.setQueryData<Log>(key, now => ({
      entries: mergeEntries(now?.entries ?? [], page.entries),
      next: page.next_cursor ?? null
    }))
  }
  return { log, loadOlder }
}

/** Reads pages until one contains a known entry. `isWhole`: none does, so the known entries must be replaced. */
async function newSince(filters: Filters, known: string | undefined) {
  const entries: Entry[] = []
  let next: string | null = null
  for (let cursor = '', pages = 0; pages < maxNewPages; pages++) {
    const page = await read(filters, cursor)
    entries.push(...page.entries)
    next = page.next_cursor ?? null
    if (entries.some(({ id }) => id === known)) return { entries, next, isWhole: false }
    if (next === null || known === undefined) break
    cursor = next
  }
  return { entries, next, isWhole: true }
}

/** Merges by id. Entries in front win, because counts grow and pending entries get a status. */
const mergeEntries = (front: readonly Entry[], back: readonly Entry[]): readonly Entry[] => {
  const seen = new Set(front.map(({ id }) => id))
  return [...front, ...back.filter(({ id }) => !seen.has(id))].slice(0, maxEntries)
}
