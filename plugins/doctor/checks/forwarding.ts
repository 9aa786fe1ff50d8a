// Rules, targets and quotas that do not forward, or soon will not.
import { defineCheck, type Finding } from '../../cli/check-exports.ts'
import { formatAge, listNames } from '../finding-text.ts'

const pendingMs = 10 * 60_000

type RulesFindingId = 'rules.failed' | 'rules.waiting'

interface RuleRow {
  readonly id: string
  readonly state: string
  readonly reason: string | null
  readonly since: number
}

export const rules = defineCheck<RulesFindingId>({
  name: 'rules',
  roles: ['server'],
  findings: {
    'rules.failed': {
      status: 'warn',
      when: 'the client refused a rule, so it is not forwarded',
      remedy: 'sluice rule show RULE_ID shows the reason, sluice explain-error REASON its remedy'
    },
    'rules.waiting': {
      status: 'warn',
      when: 'a rule of a connected client has been pending or draining for more than ten minutes',
      remedy: 'see the log of the agent, and run sluice agent status on its host'
    }
  },
  async run({ now, query }) {
    const rows = await query<RuleRow>(
      'rules',
      `select id, state, state_reason as reason, state_changed_at as since from rules
       where state = 'failed' or (state in ('pending', 'draining') and state_changed_at < ${now - pendingMs}
       and client_id in (select id from kernel_client where last_seen_at > ${now - pendingMs})) order by id`
    )
    const found: Finding<RulesFindingId>[] = []
    const failed = rows.filter(({ state }) => state === 'failed')
    if (failed.length > 0) {
      const named = failed.map(({ id, reason }) => `${id} (${reason})`)
      found.push({ id: 'rules.failed', message: `failed: ${listNames(named, 3)}` })
    }
    const waiting = rows.filter(({ state }) => state !== 'failed')
    if (waiting.length > 0) {
      const named = waiting.map(({ id, state, since }) => `${id} ${state} for ${formatAge(now - since)}`)
      found.push({ id: 'rules.waiting', message: listNames(named, 3) })
    }
    return found.length > 0 ? found : [{ ok: 'none failed' }]
  }
})

const nearShare = 0.9

interface QuotaRow {
  readonly user: string
  readonly client: string // its name
  readonly used: number
  readonly bytes: number // a month
  readonly start: number // of the period, Unix seconds
}

function monthAfter(secs: number): number {
  const date = new Date(secs * 1000)
  return date.setUTCMonth(date.getUTCMonth() + 1)
}

export const quotas = defineCheck({
  name: 'quotas',
  roles: ['server'],
  findings: {
    'quotas.exhausted': {
      status: 'warn',
      when: 'a quota is exhausted, so rules of the user on that client do not forward',
      remedy: 'raise it with sluice quota set, or clear its usage with sluice quota clear'
    },
    'quotas.near': {
      status: 'warn',
      when: 'more than 90 % of a quota is used',
      remedy: 'raise it with sluice quota set before it is exhausted'
    }
  },
  async run({ now, query }) {
    const rows = await query<QuotaRow>(
      'quota',
      `select user_id as user, coalesce(name, client_id) as client, used - credit as used, monthly_bytes as bytes,
         period_start as start
       from quota left join kernel_client on kernel_client.id = client_id
       where monthly_bytes > 0 and used - credit >= ${nearShare} * monthly_bytes order by user_id, client`
    )
    const find = (
      id: 'quotas.exhausted' | 'quotas.near',
      rows: readonly { user: string; client: string }[]
    ) =>
      rows.length === 0
        ? []
        : [{ id, message: listNames(rows.map(({ user, client }) => `${user} on ${client}`)) }]
    const shares = rows
      .filter(({ start }) => monthAfter(start) > now)
      .map(row => ({ ...row, share: row.used / row.bytes }))
      .sort((a, b) => b.share - a.share)
    const all = [
      ...find(
        'quotas.exhausted',
        shares.filter(({ share }) => share >= 1)
      ),
      ...find(
        'quotas.near',
        shares.filter(({ share }) => share < 1)
      )
    ]
    return all.length > 0 ? all : [{ ok: 'none is nearly used up' }]
  }
})

export const targets = defineCheck({
  name: 'targets',
  roles: ['server'],
  findings: {
    'targets.failed': {
      status: 'warn',
      when: 'a connected client cannot reach a target of a rule',
      remedy:
        'sluice rule show RULE_ID shows the reason and the time of the last failure; check the target and the network path to it'
    }
  },
  async run({ metrics }) {
    const samples = await metrics()
    if (samples === null) return [{ ok: 'not checked: no running server serves metrics' }]
    const failed = samples.filter(({ name }) => name === 'svc_rule_target_failed')
    if (failed.length === 0) return [{ ok: 'no target has failed' }]
    const named = failed.map(
      ({ labels: { target, rule, reason } }) => `${target} of rule ${rule}${reason ? ` (${reason})` : ''}`
    )
    return [{ id: 'targets.failed', message: `${failed.length} failed: ${listNames(named, 3)}` }]
  }
})
