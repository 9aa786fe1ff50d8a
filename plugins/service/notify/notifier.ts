// Tells the supervisor the state of this process.
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Release } from '../../../kernel/base/releases.ts'

/** No method blocks, throws or waits. */
export interface Notifier {
  /** The process serves: after its start, and after each reload. */
  ready(): void
  /** A reload begins; `ready` follows. */
  reloading(): void
  /** The process ends. Later states are ignored. */
  stopping(): void
  /** Shows one line in `systemctl status`. */
  status(text: string): void
  close(): void
}

interface Options {
  /** Sends a datagram without blocking. Returns '' or the name of an errno. */
  readonly send: (text: string) => string
  readonly watchdogMs: number | null
  readonly clock: Clock
  readonly log: Log
}

const retryMs = 1000
const leastBeatMs = 10
const maxStatusLength = 200

/**
 * Keeps only the last state and status while the supervisor does not read, and sends them once it does. The beats of the
 * watchdog come from the event loop, at half of its time: a blocked loop stops them.
 */
export function openNotifier({ send, watchdogMs, clock, log }: Options): Notifier {
  const unsent = new Map<'state' | 'status' | 'beat', string>()
  let lastStatus = ''
  let lastFailure = ''
  let isStopping = false
  let cancelRetry: Release = () => {}

  function flush(): void {
    void cancelRetry()
    const failure = send([...unsent.values()].join('\n'))
    if (failure === '') {
      unsent.clear()
      lastFailure = ''
      return
    }
    if (failure !== lastFailure) {
      const reason = reasons[failure] ?? failure
      log.warn('service.not_notified', `the supervisor does not learn the state of this process: ${reason}`, {
        reason: failure
      })
    }
    lastFailure = failure
    cancelRetry = clock.after(retryMs, flush)
  }

  function tell(kind: 'state' | 'status' | 'beat', text: string): void {
    unsent.set(kind, text)
    flush()
  }

  function enter(state: string): void {
    if (!isStopping) tell('state', state)
  }

  const beatMs = watchdogMs === null ? null : Math.max(leastBeatMs, watchdogMs / 2)
  const endBeats = beatMs === null ? () => {} : clock.every(beatMs, () => tell('beat', 'WATCHDOG=1'))
  return {
    ready: () => enter('READY=1'),
    reloading: () => enter(`RELOADING=1\nMONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping() {
      enter('STOPPING=1')
      isStopping = true
    },
    status(text) {
      const line = text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, maxStatusLength)
      if (line === lastStatus) return
      lastStatus = line
      tell('status', `STATUS=${line}`)
    },
    close() {
      void endBeats()
      void cancelRetry()
    }
  }
}

const reasons: Readonly<Record<string, string>> = {
  EAFNOSUPPORT: 'NOTIFY_SOCKET must be an absolute path, or begin with @',
  EAGAIN: 'its queue is full',
  ECONNREFUSED: 'nobody listens at NOTIFY_SOCKET',
  ENAMETOOLONG: 'NOTIFY_SOCKET is longer than the path of a socket can be (107 bytes)',
  ENOENT: 'the socket of NOTIFY_SOCKET does not exist'
}
