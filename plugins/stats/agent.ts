import type { AgentCall, AgentPlugin, ControlStream } from '../../agent/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import { LastReport, Ledger, type Live, messages, part, StatsReport } from './wire.ts'

type Journal = AgentCall['journal']

const everyMs = 5_000
const rowsPerPart = 500 // of at most 400 bytes: a frame holds 256 KiB
const livePerPart = 1_000

/** Of the stream that is up, by the agent's journal: a process may hold several agents. */
const reporters = new WeakMap<Journal, () => Promise<void>>()

export default {
  name: 'stats',
  agent: '^1.0.0',
  messages,
  handlers: [
    respond(LastReport, async ({ journal, takeSample }: AgentCall) => {
      takeSample()
      await reporters.get(journal)?.()
      return {}
    })
  ],
  connected(stream, { journal, codec, clock, log }) {
    const told = stream.welcomePart(part)
    journal.reconcile(told ? codec.decode(Ledger, told).booked : {})
    const report = openReporter(stream, journal)
    reporters.set(journal, report)
    let isBusy = false
    const tell = async (): Promise<void> => {
      if (isBusy) return
      isBusy = true
      await report().catch(error => {
        if (!stream.signal.aborted)
          log.warn('stats.report_failed', `the journal keeps it for the next: ${String(error)}`)
      })
      isBusy = false
    }
    const release = clock.every(everyMs, () => void tell())
    stream.signal.addEventListener('abort', release, { once: true })
    void tell()
  },
  async stopping({ journal }: AgentCall) {
    await reporters.get(journal)?.()
  }
} satisfies AgentPlugin

/** One report after the other. The first on a stream is sent in any case: it says what lives. */
function openReporter(stream: ControlStream, journal: Journal): () => Promise<void> {
  let told = ''
  let running: Promise<void> = Promise.resolve()

  async function report(): Promise<void> {
    const live = journal.activePorts().map(gauge => ({
      rule_id: gauge.ruleId,
      port: gauge.port,
      connections: gauge.connections
    }))
    const now = JSON.stringify(live)
    let count = 0
    for (const body of partsOf(journal, live)) {
      if (count === 0 && body.rows.length === 0 && now === told) return
      const { epoch, seq } = await stream.request(StatsReport, { ...body, part: count++ })
      journal.acknowledge(epoch, seq)
    }
    told = now
  }

  return () => {
    running = running.then(report, report)
    return running
  }
}

/** Older epochs first; what lives comes with the end. */
function* partsOf(journal: Journal, live: readonly Live[]): Iterable<Omit<StatsReport, 'part'>> {
  for (const { epoch, seq, gap, rows, isLast } of journal.pending(rowsPerPart)) {
    const head = { epoch, seq, ...(gap && { gap: { from_ms: gap.fromMs, to_ms: gap.toMs } }) }
    const body = {
      ...head,
      rows: rows.map(row => ({
        rule_id: row.ruleId,
        kind: row.kind,
        key: row.key,
        bytes_in: row.bytesIn,
        bytes_out: row.bytesOut,
        datagrams_in: row.datagramsIn,
        datagrams_out: row.datagramsOut,
        connections: row.connections,
        dns_failures: row.dnsFailures,
        failovers: row.failovers,
        overflows: row.overflows,
        rejected: row.rejected
      }))
    }
    const lives = isLast ? Math.max(1, Math.ceil(live.length / livePerPart)) : 1
    for (let i = 0; i < lives; i++) {
      const slice = isLast ? live.slice(i * livePerPart, (i + 1) * livePerPart) : []
      yield { ...body, ...(i > 0 && { rows: [] }), live: slice, last: isLast && i === lives - 1 }
    }
  }
}
