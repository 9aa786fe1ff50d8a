// What agents report, on its way to the ledger: those of one moment share a transaction.
import type { Release } from '../../kernel/base/releases.ts'
import type { ConnectionHooks } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { ActiveConnections } from './active-connections.ts'
import type { Ledger, Report } from './ledger.ts'
import { LastReport, part, Ledger as Told } from './wire.ts'

interface Waiting {
  readonly report: Report
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

const togetherMs = 250

export type Reports = ReturnType<typeof openReports>

interface Services extends Pick<Kernel, 'store' | 'clock' | 'log' | 'codec'> {
  readonly ledger: Ledger
  readonly lives: ActiveConnections
}

export function openReports({ store, clock, log, codec, ledger, lives }: Services) {
  let waiting: Waiting[] = []
  let timer: Release | null = null
  let running: Promise<void> = Promise.resolve()

  /** Resolves when it is on the disk. */
  function take(report: Report): Promise<void> {
    timer ??= clock.after(togetherMs, () => void flush())
    return new Promise((resolve, reject) => waiting.push({ report, resolve, reject }))
  }

  /** One group after the other. */
  function flush(): Promise<void> {
    timer?.()
    timer = null
    running = running.then(bookAll)
    return running
  }

  async function bookAll(): Promise<void> {
    const together = waiting
    waiting = []
    if (together.length === 0) return
    try {
      await book(together)
    } catch (error) {
      if (together.length === 1) return refuse(together, error)
      // One of them took the others along: each for itself.
      for (const one of together) await book([one]).catch(cause => refuse([one], cause))
    }
  }

  async function book(together: readonly Waiting[]): Promise<void> {
    const reports = together.map(({ report }) => report)
    const notices = await store.change(em => ledger.book(reports, em))
    for (const notice of notices) notice()
    for (const report of reports) lives.report(report)
    for (const { resolve } of together) resolve()
  }

  function refuse(together: readonly Waiting[], cause: unknown): void {
    for (const { report, reject } of together) {
      const fields = { client_id: report.clientId, epoch: report.epoch }
      log.error('accounting.not_booked', `the agent keeps it and reports again: ${String(cause)}`, fields)
      reject(new Refused('internal', 'the report could not be booked', { cause }))
    }
  }

  const connection: ConnectionHooks = {
    async welcome({ clientId }) {
      const booked = await store.read(em => ledger.booked(clientId, em))
      return { [part]: codec.encode(Told, { booked }) }
    },
    joined: ({ clientId }) => lives.joined(clientId),
    left: ({ clientId }) => lives.left(clientId),
    async leaving(peer) {
      try {
        await peer.request(LastReport, {})
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        log.debug('stats.no_last_report', error.message, { client_id: peer.clientId })
      }
    }
  }

  return { take, flush, connection }
}
