import type { AgentCall, AgentPlugin, ControlStream } from '../../agent/plugin.ts'
import { openHostLoad } from './host-load.ts'
import { capability, Echo, messages, Sample, welcomePart } from './wire.ts'

const everyMs = 60_000
const spreadMs = 5_000 // of the first sample: agents of a fleet can connect at once

const readLoad = openHostLoad()

export default {
  name: 'host-health',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  connected(stream, call) {
    if (stream.welcomePart(welcomePart) === undefined) return // the server stores no samples
    const { clock } = call
    const report = (): void => void send(stream, call)
    const releases = [clock.every(everyMs, report), clock.after(Math.random() * spreadMs, report)]
    const end = (): void => {
      for (const release of releases) release()
    }
    stream.signal.addEventListener('abort', end, { once: true })
  }
} satisfies AgentPlugin

async function send(stream: ControlStream, { clock, log }: AgentCall): Promise<void> {
  try {
    const askedMs = clock.monotonic()
    await stream.request(Echo, {})
    const rtt_ms = Math.round((clock.monotonic() - askedMs) * 100) / 100
    await stream.request(Sample, { ...(await readLoad()), rtt_ms })
  } catch (error) {
    if (stream.signal.aborted) return
    log.debug('host_health.not_reported', `the server did not accept a sample: ${String(error)}`)
  }
}
