// Logs the engine events that matter to operators.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { AgentRules } from '../plugin.ts'
import type { EngineEvent } from './engine.ts'

const repeatMs = 10_000
const pipeRepeatMs = 600_000
const maxKeys = 20 // of an owner

type PipeSize = Extract<EngineEvent, { readonly kind: 'pipe-size' }>
type Redial = Extract<EngineEvent, { readonly kind: 'flow-redialed' }>

export function openEngineLog(
  rules: Pick<AgentRules, 'find'>,
  clock: Clock,
  log: Log
): (event: EngineEvent) => void {
  const throttled = openThrottle(clock, repeatMs)
  const throttledPipes = openThrottle(clock, pipeRepeatMs)

  function logRedial({ ruleId, from, to, addresses: [old_address, new_address] }: Redial): void {
    const { id: rule, owner, targets = [] } = rules.find(ruleId) ?? {}
    const nameOf = (at: number) => `${targets[at]?.host}:${targets[at]?.port}`
    const text = `${nameOf(from)} did not answer; the flow goes to ${nameOf(to)} (${new_address})`
    throttled(owner, `${rule} redialed ${old_address} ${new_address}`, suppressed =>
      log.info('rule.udp_flow_redialed', text, { rule, old_address, new_address, suppressed })
    )
  }

  return event => {
    const spec = 'ruleId' in event ? rules.find(event.ruleId) : undefined
    const rule = spec?.id
    const owner = spec?.owner
    if (event.kind === 'dns-failed') {
      const { host, reason } = event
      const name = spec?.protocol === 'udp' ? 'rule.udp_dns_failed' : 'rule.dns_failed'
      throttled(owner, `${rule} ${host} ${reason}`, suppressed =>
        log.warn(name, `${host} did not resolve: ${reason}`, { rule, host, reason, suppressed })
      )
    } else if (event.kind === 'flow-evicted') {
      const { errno: errno_name } = event
      throttled(owner, `${rule} evicted ${errno_name}`, suppressed =>
        log.info('rule.udp_flow_evicted_icmp', 'target unreachable; the next datagram starts a new flow', {
          rule,
          errno_name,
          suppressed
        })
      )
    } else if (event.kind === 'flow-redialed') {
      logRedial(event)
    } else if (event.kind === 'splice-selected') {
      log.info('proxy.splice_selected', 'connections use the zero-copy path', { rule })
    } else if (event.kind === 'splice-unsupported') {
      log.warn('proxy.splice_unsupported_fallback', 'the system refuses splice; bytes are copied', {
        rule,
        errno_name: event.errno
      })
    } else if (event.kind === 'pipe-size') {
      logPipeSize(event, throttledPipes, log)
    }
  }
}

function logPipeSize(event: PipeSize, throttled: Throttle, log: Log): void {
  const { requestedBytes, actualBytes, errno, limit } = event
  throttled(undefined, limit, suppressed =>
    log.warn(
      'proxy.splice_pipe_size_failed',
      `the system gave a pipe of ${actualBytes} bytes instead of ${requestedBytes}; raise ${limit}`,
      {
        requested_bytes: requestedBytes,
        actual_default_bytes: actualBytes,
        errno_name: errno,
        limit,
        suppressed
      }
    )
  )
}

type Write = (suppressed: number) => void
type Throttle = (owner: string | undefined, key: string, write: Write) => void

/**
 * Writes the first line of a key at once. Repetitions are counted and written every `repeatMs` as one line with their
 * number. After `repeatMs` without one, the next line is written at once. Keys beyond 20 of an owner count as one.
 */
function openThrottle(clock: Clock, repeatMs: number): Throttle {
  const owners = new Map<string | undefined, Map<string, number>>() // suppressed lines by key; none is empty

  function forget(owner: string | undefined, key: string): void {
    const keys = owners.get(owner)
    keys?.delete(key)
    if (keys?.size === 0) owners.delete(owner)
  }

  const schedule = (owner: string | undefined, key: string, write: Write): void =>
    void clock.after(repeatMs, () => {
      const keys = owners.get(owner)
      const count = keys?.get(key) ?? 0
      if (count === 0) return forget(owner, key)
      keys?.set(key, 0)
      write(count)
      schedule(owner, key, write)
    })

  return (owner, given, write) => {
    const keys = owners.get(owner) ?? new Map<string, number>()
    owners.set(owner, keys)
    const key = keys.has(given) || keys.size < maxKeys ? given : ''
    const count = keys.get(key)
    keys.set(key, count === undefined ? 0 : count + 1)
    if (count !== undefined) return
    write(0)
    schedule(owner, key, write)
  }
}
