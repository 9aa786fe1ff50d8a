// Logs the engine events that matter to operators.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { AgentRules } from '../plugin.ts'
import type { EngineEvent } from './engine.ts'

const throttleMs = 10_000

export function openEngineLog(
  rules: Pick<AgentRules, 'find'>,
  clock: Clock,
  log: Log
): (event: EngineEvent) => void {
  const throttled = openThrottle(clock)

  return event => {
    const spec = 'ruleId' in event ? rules.find(event.ruleId) : undefined
    const rule = spec?.id
    if (event.kind === 'dns-failed') {
      const { host, reason } = event
      const name = spec?.protocol === 'udp' ? 'rule.udp_dns_failed' : 'rule.dns_failed'
      throttled(`${rule} ${host} ${reason}`, suppressed =>
        log.warn(name, `${host} did not resolve: ${reason}`, { rule, host, reason, suppressed })
      )
    } else if (event.kind === 'flow-evicted') {
      const { errno: errno_name } = event
      throttled(`${rule} evicted ${errno_name}`, suppressed =>
        log.info('rule.udp_flow_evicted_icmp', 'target unreachable; the next datagram starts a new flow', {
          rule,
          errno_name,
          suppressed
        })
      )
    } else if (event.kind === 'splice-selected') {
      log.info('proxy.splice_selected', 'connections use the zero-copy path', { rule })
    } else if (event.kind === 'splice-unsupported') {
      log.warn('proxy.splice_unsupported_fallback', 'the system refuses splice; bytes are copied', {
        rule,
        errno_name: event.errno
      })
    } else if (event.kind === 'pipe-size') {
      log.warn('proxy.splice_pipe_size_failed', 'pipes are smaller than requested; raise pipe-max-size', {
        requested_bytes: event.requestedBytes,
        actual_default_bytes: event.actualBytes,
        errno_name: event.errno
      })
    }
  }
}

type Write = (suppressed: number) => void

/**
 * Writes the first line of a key at once. Repetitions are counted and written every 10 s as one line with their number.
 * After 10 s without one, the next line is written at once.
 */
function openThrottle(clock: Clock): (key: string, write: Write) => void {
  const suppressed = new Map<string, number>()

  const schedule = (key: string, write: Write): void =>
    void clock.after(throttleMs, () => {
      const count = suppressed.get(key) ?? 0
      if (count === 0) return void suppressed.delete(key)
      suppressed.set(key, 0)
      write(count)
      schedule(key, write)
    })

  return (key, write) => {
    const count = suppressed.get(key)
    suppressed.set(key, count === undefined ? 0 : count + 1)
    if (count !== undefined) return
    write(0)
    schedule(key, write)
  }
}
