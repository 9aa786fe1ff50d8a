import type { AgentCall, AgentPlugin, ControlStream } from '../../agent/plugin.ts'
import {
  type ActivePort,
  CommittedEpochs,
  encodeActive,
  encodeRow,
  LastReport,
  maxLive,
  maxRows,
  messages,
  StatsReport,
  welcomePart
} from '../../agent/wire/journal-report.ts'
import { respond } from '../../kernel/wire/message.ts'

type Journal = AgentCall['journal']

const reportMs = 5_000

/** The reporter of the current stream, keyed by journal because a process may run several agents. */
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
    const bytes = stream.welcomePart(welcomePart)
    journal.reconcile(bytes ? codec.decode(CommittedEpochs, bytes).committed : {})
    const report = openReporter(stream, journal, clock)
    reporters.set(journal, report)
    let isReporting = false
    const reportIfIdle = async (): Promise<void> => {
      if (isReporting) return
      isReporting = true
      await report().catch(error => {
        if (!stream.signal.aborted)
          log.warn(
            'stats.report_failed',
            `a report failed; the next report includes its counts: ${String(error)}`
          )
      })
      isReporting = false
    }
    const release = clock.every(reportMs, () => void reportIfIdle())
    stream.signal.addEventListener('abort', release, { once: true })
    void reportIfIdle()
  },
  async stopping({ journal }: AgentCall) {
    await reporters.get(journal)?.()
  }
} satisfies AgentPlugin

/** Sends reports one at a time. The first report on a stream is sent even if empty: it lists active connections. */
function openReporter(
  stream: ControlStream,
  journal: Journal,
  clock: AgentCall['clock']
): () => Promise<void> {
  let lastActive = ''
  let running: Promise<void> = Promise.resolve()

  async function report(): Promise<void> {
    const active = journal.activePorts()
    const nowActive = JSON.stringify(active)
    let count = 0
    for (const body of toParts(journal, active)) {
      if (count === 0 && body.rows.length === 0 && nowActive === lastActive) return
      const askedMs = clock.monotonic()
      const { epoch, seq, server_time_ms } = await stream.request(StatsReport, { ...body, part: count++ })
      journal.acknowledge(epoch, seq)
      if (server_time_ms !== undefined) journal.setServerTime(server_time_ms, askedMs)
    }
    lastActive = nowActive
  }

  return () => {
    running = running.then(report, report)
    return running
  }
}

/** Yields older epochs first. Active connections come with the last batch, in further parts if they do not fit. */
function* toParts(journal: Journal, active: readonly ActivePort[]): Iterable<Omit<StatsReport, 'part'>> {
  for (const { epoch, seq, gap, rows, isLast } of journal.pending(maxRows)) {
    const head = { epoch, seq, ...(gap && { gap: { from_ms: gap.fromMs, to_ms: gap.toMs } }) }
    const parts = isLast ? Math.max(1, Math.ceil(active.length / maxLive)) : 1
    for (let i = 0; i < parts; i++)
      yield {
        ...head,
        rows: i === 0 ? rows.map(encodeRow) : [],
        live: isLast ? active.slice(i * maxLive, (i + 1) * maxLive).map(encodeActive) : [],
        last: isLast && i === parts - 1
      }
  }
}
