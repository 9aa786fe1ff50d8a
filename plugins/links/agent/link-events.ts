// Log lines about links. Repeated lines of one peer and event fold into one line a minute.
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Release } from '../../../kernel/base/releases.ts'

const foldMs = 60_000
const maxFolds = 1_024

interface Fields {
  readonly client?: string // id
  readonly peer?: string // id of its client, or the address of a stranger
  readonly reason?: string | null
  readonly secs?: number // since the state before
  readonly expected?: string // pins
  readonly got?: string // a pin
  readonly fingerprint?: string // the new pin
  readonly error?: string
  readonly suppressed?: number // lines that this one stands for, besides itself
}

interface Line {
  readonly message: string
  readonly fields: Fields
}

type LinkEvent =
  | 'link.up'
  | 'link.down'
  | 'link.pin_mismatch'
  | 'link.peer_refused'
  | 'link.key_rotated'
  | 'link.protocol'

type Write = (message: string, fields: Fields) => void

const openWriters = (log: Log): Readonly<Record<LinkEvent, Write>> => ({
  'link.up': (message, { client, peer, suppressed }: Fields) =>
    log.info('link.up', message, { client, peer, suppressed }),
  'link.down': (message, { client, peer, reason, secs, suppressed }: Fields) =>
    log.warn('link.down', message, { client, peer, reason, secs, suppressed }),
  'link.pin_mismatch': (message, { peer, expected, got, suppressed }: Fields) =>
    log.warn('link.pin_mismatch', message, { peer, expected, got, suppressed }),
  'link.peer_refused': (message, { peer, reason, suppressed }: Fields) =>
    log.warn('link.peer_refused', message, { peer, reason, suppressed }),
  'link.key_rotated': (message, { client, fingerprint }: Fields) =>
    log.info('link.key_rotated', message, { client, fingerprint }),
  'link.protocol': (message, { peer, error, suppressed }: Fields) =>
    log.warn('link.protocol', message, { peer, error, suppressed })
})

interface Fold {
  suppressed: number
  last: Line | null
  cancel: Release
}

export interface LinkEvents {
  /** Writes a line, unless one of this event and peer was written within a minute. */
  write(event: LinkEvent, peer: string, line: Line): void
  close(): void
}

export function openLinkEvents(log: Log, clock: Clock): LinkEvents {
  const folds = new Map<string, Fold>()

  const writers = openWriters(log)
  const put = (event: LinkEvent, { message, fields }: Line): void => writers[event](message, fields)

  /** Writes the last suppressed line at the end of a minute, and starts another one. */
  function unfold(key: string, event: LinkEvent): void {
    const { last, suppressed = 0 } = folds.get(key) ?? {}
    folds.delete(key)
    if (!last) return
    put(event, { ...last, fields: { ...last.fields, suppressed: suppressed - 1 } })
    start(key, event)
  }

  function start(key: string, event: LinkEvent): void {
    const [oldest] = folds.keys()
    if (folds.size >= maxFolds && oldest !== undefined) {
      void folds.get(oldest)?.cancel()
      folds.delete(oldest)
    }
    folds.set(key, { suppressed: 0, last: null, cancel: clock.after(foldMs, () => unfold(key, event)) })
  }

  return {
    write(event, peer, line) {
      const key = `${event} ${peer}`
      const fold = folds.get(key)
      if (fold) {
        fold.suppressed += 1
        fold.last = line
        return
      }
      put(event, line)
      start(key, event)
    },
    close() {
      for (const { cancel } of folds.values()) void cancel()
      folds.clear()
    }
  }
}
