// Logs the events of the engine that concern operators.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { EngineEvent } from '../engine.ts'
import type { AgentRules } from '../plugin.ts'
import { openLogThrottle } from './log-throttle.ts'

export function openEngineLog(rules: Pick<AgentRules, 'find'>, clock: Clock, log: Log) {
  const throttled = openLogThrottle(clock)

  function dnsFailed({ ruleId, host, reason }: Extract<EngineEvent, { kind: 'dns-failed' }>): void {
    const { id: rule, protocol } = rules.find(ruleId) ?? {}
    const event = protocol === 'udp' ? 'rule.udp_dns_failed' : 'rule.dns_failed'
    throttled(`${rule} ${host} ${reason}`, suppressed =>
      log.warn(event, `${host} did not resolve: ${reason}`, { rule, host, reason, suppressed })
    )
  }

  function flowEvicted({ ruleId, errno }: Extract<EngineEvent, { kind: 'flow-evicted' }>): void {
    const rule = rules.find(ruleId)?.id
    throttled(`${rule} evicted ${errno}`, suppressed =>
      log.info(
        'rule.udp_flow_evicted_icmp',
        'the target is unreachable; the next datagram starts a new flow',
        {
          rule,
          errno_name: errno,
          suppressed
        }
      )
    )
  }

  return (event: EngineEvent): void => {
    switch (event.kind) {
      case 'dns-failed':
        dnsFailed(event)
        break
      case 'flow-evicted':
        flowEvicted(event)
        break
      case 'splice-selected':
        log.info('proxy.splice_selected', 'connections use the zero-copy path', {
          rule: rules.find(event.ruleId)?.id
        })
        break
      case 'splice-unsupported':
        log.warn('proxy.splice_unsupported_fallback', 'the system refuses splice; bytes are copied', {
          rule: rules.find(event.ruleId)?.id,
          errno_name: event.errno
        })
        break
      case 'pipe-size':
        log.warn('proxy.splice_pipe_size_failed', 'pipes are smaller than requested; raise pipe-max-size', {
          requested_bytes: event.requestedBytes,
          actual_default_bytes: event.actualBytes,
          errno_name: event.errno
        })
    }
  }
}
