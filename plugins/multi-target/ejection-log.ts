// Logs on the server which targets agents eject, and which return.
import { timestamp } from '../../kernel/base/clock.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openLinePerMinute, type RuleCore } from '../rules/exports.ts'
import type { RuleHealth } from './wire.ts'

const linesPerMinute = 20 // per client and owner

type Targets = RuleHealth['targets']
type Earlier = readonly (Targets[number] | undefined)[]

interface Place {
  readonly client: string
  readonly rule: string
  readonly name: RuleCore['name']
  readonly owner: string
  readonly targets: RuleCore['targets'] // in the order of the report
}

export function openEjectionLog({ clock, log }: Pick<Kernel, 'clock' | 'log'>) {
  const throttled = openLinePerMinute(clock, linesPerMinute)

  return ({ client, rule, name, owner, targets }: Place, before: Earlier, after: Targets): void => {
    for (const [at, { ejected_until_ms: ms, ejected_reason }] of after.entries()) {
      const was = before[at]
      if (was?.ejected_until_ms === ms) continue
      const target = hostAndPort(targets[at])
      const isOut = ms !== undefined
      const reason = isOut ? ejected_reason : was?.ejected_reason
      throttled(`${client} ${owner}`, 1, suppressed => {
        const fields = { client, rule, rule_name: name ?? undefined, target, reason, suppressed }
        if (isOut)
          log.warn('rule.target_ejected', `the client does not dial ${target} until ${timestamp(ms)}`, fields)
        else log.info('rule.target_returned', `the client dials ${target} again`, fields)
      })
    }
  }
}

export const hostAndPort = ({ host, port }: Partial<RuleCore['targets'][number]> = {}): string =>
  host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
