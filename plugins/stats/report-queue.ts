// Batches reports that arrive within 250 ms into one transaction. README.md shows the states of the queue.
import { Fault, storeUnavailable } from '../../kernel/base/errors.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Stats } from './exports.ts'
import type { Ledger } from './ledger.ts'
import type { Report } from './report-validation.ts'

interface Queued {
  readonly report: Report
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface Services extends Pick<Kernel, 'store' | 'clock' | 'log' | 'control'> {
  readonly ledger: Pick<Ledger, 'commit'>
}

const gatherMs = 250
const maxReports = 64 // per transaction, because other changes wait for it

type ReportQueue = Pick<Stats, 'ingest' | 'flush'>

export function openReportQueue({ store, clock, log, control, ledger }: Services): ReportQueue {
  let queue: Queued[] = []
  let timer: Release | null = null
  let committing: Promise<void> = Promise.resolve()

  function ingest(report: Report): Promise<void> {
    timer ??= clock.after(gatherMs, () => void flush())
    return new Promise((resolve, reject) => queue.push({ report, resolve, reject }))
  }

  function flush(): Promise<void> {
    timer?.()
    timer = null
    committing = committing.then(commitQueue)
    return committing
  }

  async function commitQueue(): Promise<void> {
    const all = queue
    queue = []
    for (let at = 0; at < all.length; at += maxReports) await commitGroup(all.slice(at, at + maxReports))
  }

  async function commitGroup(group: readonly Queued[]): Promise<void> {
    try {
      await commit(group)
    } catch (error) {
      if (error instanceof Fault && error.errorCode === storeUnavailable) return postpone(group, error)
      if (group.length === 1) return refuse(group, error, log)
      // One bad report must not fail the others: retry each in a separate transaction.
      for (const one of group) await commit([one]).catch(cause => refuse([one], cause, log))
    }
  }

  async function commit(group: readonly Queued[]): Promise<void> {
    const { inForce, afterCommit } = await store.change(async em => {
      const reports = group.map(({ report }) => report)
      const inForce = await control.servers.inForce(reports, em)
      const own = reports.filter(({ sessionId }) => inForce.has(sessionId))
      return { inForce, afterCommit: own.length === 0 ? [] : await ledger.commit(own, em) }
    })
    for (const call of afterCommit) call()
    for (const { report, resolve, reject } of group)
      if (inForce.has(report.sessionId)) resolve()
      else reject(replaced())
  }

  return { ingest, flush }
}

const replaced = (): Refused => new Refused('wire.closed', 'a newer session has replaced this one')

/** The store is unavailable, which the kernel logs. Agents keep their reports and retransmit them. */
function postpone(group: readonly Queued[], cause: Fault): void {
  for (const { reject } of group) reject(new Refused(cause.errorCode.code, cause.message, { cause }))
}

function refuse(group: readonly Queued[], cause: unknown, log: Services['log']): void {
  for (const { report, reject } of group) {
    const fields = { client_id: report.clientId, epoch: report.epoch }
    log.error(
      'accounting.not_committed',
      `a report was not committed; the agent retransmits it: ${String(cause)}`,
      fields
    )
    reject(new Refused('internal', 'the report could not be committed', { cause }))
  }
}
