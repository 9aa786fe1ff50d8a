import type { Static } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import { ObjectRemoved, objectKey } from '../../kernel/wire/control.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'

type Removal = Static<typeof ObjectRemoved.body>

interface Entry {
  removal: Removal
  status: 'draining' | 'removed'
  sentAt: number | null // ms; null: not sent on a stream that is still up
}

/** A report has arrived if its stream stays up this long: a dead stream is noticed within 30 s. */
const arrivedAfterMs = 60_000

/** Holds removed objects while their connections drain. Reports each removal to the server when the drain ends. */
export interface DrainingObjects {
  add(removal: Removal, done: Promise<void>): void
  /** Returns the revision of a removal that is not forgotten yet; otherwise 0. */
  revisionOf(object: Pick<Removal, 'kind' | 'id'>): number
  draining(): Removal[]
  /** Repeats the reports that the previous stream may have lost. */
  attach(channel: MessageChannel): void
  detach(): void
  resetRevisions(): void
}

export function openDrainingObjects(clock: Clock): DrainingObjects {
  const entries = new Map<string, Entry>()
  let channel: MessageChannel | null = null

  function report(entry: Entry): void {
    if (!channel) return
    channel.send(ObjectRemoved, entry.removal)
    entry.sentAt = clock.monotonic()
  }

  function forgetArrived(): void {
    const before = clock.monotonic() - arrivedAfterMs
    for (const [key, { sentAt }] of entries) if (sentAt !== null && sentAt < before) entries.delete(key)
  }

  function finish(entry: Entry): void {
    entry.status = 'removed'
    forgetArrived()
    if (entries.get(objectKey(entry.removal)) === entry) report(entry)
  }

  return {
    add(removal, done) {
      const entry: Entry = { removal, status: 'draining', sentAt: null }
      entries.set(objectKey(removal), entry)
      done.then(() => setImmediate(finish, entry)) // after the answer to the removal
    },
    revisionOf: object => entries.get(objectKey(object))?.removal.revision ?? 0,
    draining: () =>
      [...entries.values()].filter(({ status }) => status === 'draining').map(({ removal }) => removal),
    attach(next) {
      channel = next
      for (const entry of entries.values()) if (entry.status === 'removed') report(entry)
    },
    detach() {
      channel = null
      forgetArrived()
      for (const entry of entries.values()) entry.sentAt = null
    },
    resetRevisions() {
      for (const entry of entries.values()) entry.removal = { ...entry.removal, revision: 0 }
    }
  }
}
