import type { Static } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import { ObjectRemoved } from '../../kernel/wire/control.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'

type Row = Static<typeof ObjectRemoved.body>

/** What has been dropped: live connections drain, and when they have ended the server is told. */
export interface DrainingObjects {
  add(row: Row, done: Promise<void>): void
  /** Of the drop, while it is not forgotten. */
  revisionOf(kind: string, id: string): number | undefined
  draining(): readonly Row[]
  /** Says again what may have been lost with the stream before. */
  attach(line: MessageChannel): void
  detach(): void
  forgetRevisions(): void
}

interface Entry {
  row: Row
  isGone: boolean
  sentAt: number | null // ms; null: not on a stream that is still up
}

/** A stream that is dead is noticed within 30 s: what went out on it longer before has arrived. */
const arrivedAfterMs = 60_000

export function openDrainingObjects(clock: Clock): DrainingObjects {
  const entries = new Map<string, Entry>()
  let line: MessageChannel | null = null

  function tell(entry: Entry): void {
    if (!line) return
    line.send(ObjectRemoved, entry.row)
    entry.sentAt = clock.now()
  }

  function forgetArrived(): void {
    const before = clock.now() - arrivedAfterMs
    for (const [key, { sentAt }] of entries) if (sentAt !== null && sentAt < before) entries.delete(key)
  }

  function gone(entry: Entry): void {
    entry.isGone = true
    forgetArrived()
    if (entries.get(keyOf(entry.row)) === entry) tell(entry)
  }

  return {
    add(row, done) {
      const entry: Entry = { row, isGone: false, sentAt: null }
      entries.set(keyOf(row), entry)
      // One turn of the loop later: the answer to the drop itself goes first.
      done.then(() => setImmediate(gone, entry))
    },
    revisionOf: (kind, id) => entries.get(keyOf({ kind, id }))?.row.revision,
    draining: () => [...entries.values()].filter(({ isGone }) => !isGone).map(({ row }) => row),
    attach(next) {
      line = next
      for (const entry of entries.values()) if (entry.isGone) tell(entry)
    },
    detach() {
      line = null
      forgetArrived()
      for (const entry of entries.values()) entry.sentAt = null
    },
    forgetRevisions() {
      for (const entry of entries.values()) entry.row = { ...entry.row, revision: 0 }
    }
  }
}

const keyOf = ({ kind, id }: Pick<Row, 'kind' | 'id'>): string => `${kind} ${id}`
