import type { Static } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import { ObjectRemoved, objectKey } from '../../kernel/wire/control.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'

type Row = Static<typeof ObjectRemoved.body>

interface Entry {
  row: Row
  status: 'draining' | 'removed'
  sentAt: number | null // ms; null: not sent on a stream that is still up
}

/** A report has arrived if its stream was still up this long after it: a dead stream is noticed within 30 s. */
const arrivedAfterMs = 60_000

/** Keeps dropped objects while their connections drain, then reports the removal to the server. */
export function openDrainingObjects(clock: Clock) {
  const entries = new Map<string, Entry>()
  let channel: MessageChannel | null = null

  function report(entry: Entry): void {
    if (!channel) return
    channel.send(ObjectRemoved, entry.row)
    entry.sentAt = clock.monotonic()
  }

  function forgetArrived(): void {
    const before = clock.monotonic() - arrivedAfterMs
    for (const [key, { sentAt }] of entries) if (sentAt !== null && sentAt < before) entries.delete(key)
  }

  function removed(entry: Entry): void {
    entry.status = 'removed'
    forgetArrived()
    if (entries.get(objectKey(entry.row)) === entry) report(entry)
  }

  return {
    add(row: Row, done: Promise<void>): void {
      const entry: Entry = { row, status: 'draining', sentAt: null }
      entries.set(objectKey(row), entry)
      // In the next turn of the event loop, after the answer to the drop.
      done.then(() => setImmediate(removed, entry))
    },
    /** Returns the revision of a drop that is not forgotten yet; otherwise 0. */
    revisionOf: (object: Pick<Row, 'kind' | 'id'>): number =>
      entries.get(objectKey(object))?.row.revision ?? 0,
    draining: () => [...entries.values()].filter(({ status }) => status === 'draining').map(({ row }) => row),
    /** Reports again what may have been lost with the stream before. */
    attach(next: MessageChannel): void {
      channel = next
      for (const entry of entries.values()) if (entry.status === 'removed') report(entry)
    },
    detach(): void {
      channel = null
      forgetArrived()
      for (const entry of entries.values()) entry.sentAt = null
    },
    resetRevisions(): void {
      for (const entry of entries.values()) entry.row = { ...entry.row, revision: 0 }
    }
  }
}
