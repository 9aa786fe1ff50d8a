// Logs the events of the engine that concern operators.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { EngineEvent } from '../engine.ts'
import type { AgentRules } from '../plugin.ts'
import { openLogThrottle } from './log-throttle.ts'

export function openEngineLog(rules: Pick<AgentRules, 'find'>, clock: Clock, log: Log) {
  const throttled = openLogThrottle(clock)

  return (event: EngineEvent): void => {
    const { id: rule, protocol } = ('ruleId' in event && rules.find(event.ruleId)) || {}
    if (event.kind === 'dns-failed') {
      const { host, reason } = event
      const name = protocol === 'udp' ? 'rule.udp_dns_failed' : 'rule.dns_failed'
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
