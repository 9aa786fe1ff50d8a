// The order of the last changes of clients, on a server that is alone.
const maxClients = 10_000

export interface ChangedClients {
  /** Counts one change of these clients. */
  count(ids: ReadonlySet<string>): void
  /** The number of the last change. */
  last(): number
  /** True if one of the clients changed after the change `since`. */
  haveChanged(ids: readonly string[] | 'all', since: number): boolean
}

export function openChangedClients(): ChangedClients {
  const changes = new Map<string, number>() // number of the last change by client, oldest first
  let last = 0
  let evicted = 0 // the newest change that was evicted

  function evict(): void {
    for (const [id, number] of changes) {
      if (changes.size <= maxClients) return
      changes.delete(id)
      evicted = number
    }
  }

  return {
    count(ids) {
      if (ids.size === 0) return
      last++
      for (const id of ids) {
        changes.delete(id)
        changes.set(id, last)
      }
      evict()
    },
    last: () => last,
    haveChanged(ids, since) {
      if (ids === 'all' || since < evicted) return since < last
      return ids.some(id => (changes.get(id) ?? 0) > since)
    }
  }
}
