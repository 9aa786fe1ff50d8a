// The enrollment, the connection and the journal of an agent.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../kernel/base/clock.ts'
import { reasonOf } from '../../../kernel/base/errors.ts'
import { type DoctorContext, defineCheck, type Finding } from '../../cli/check-exports.ts'
import { listNames, plural } from '../finding-text.ts'

type FindingId =
  | 'agent.not_enrolled'
  | 'agent.bundle'
  | 'agent.revoked'
  | 'agent.not_running'
  | 'agent.not_connected'
  | 'agent.unreachable_server'
  | 'agent.pin'
  | 'agent.not_in_force'

export const agent = defineCheck<FindingId>({
  name: 'agent',
  roles: ['agent'],
  findings: {
    'agent.not_enrolled': {
      status: 'fail',
      when: 'this host is not enrolled',
      remedy: 'run sluice client enroll NAME where you operate the server, and paste its command here'
    },
    'agent.bundle': {
      status: 'fail',
      when: 'the bundle cannot be read, or other users can read it',
      remedy: 'correct its permissions, or enroll again: sluice agent enroll'
    },
    'agent.revoked': {
      status: 'fail',
      when: 'the server has revoked this agent',
      remedy: 'run sluice client re-enroll NAME where you operate the server, and paste its command here'
    },
    'agent.not_running': {
      status: 'warn',
      when: 'no agent runs here, so nothing is forwarded',
      remedy: 'systemctl start sluice-agent, or sluice agent run'
    },
    'agent.not_connected': {
      status: 'fail',
      when: 'the agent runs but is not connected to its server; it forwards its saved rules',
      remedy: 'the message shows the reason; check that the server runs, and the network path to it'
    },
    'agent.unreachable_server': {
      status: 'fail',
      when: 'the server does not answer from this host',
      remedy: 'check that the server runs, its endpoint (sluice settings show), and firewalls on the path'
    },
    'agent.pin': {
      status: 'fail',
      when: 'the endpoint answers with a certificate that is not the pinned one',
      remedy:
        'if the server was reinstalled, enroll again: sluice client re-enroll NAME; otherwise someone may be intercepting the connection'
    },
    'agent.not_in_force': {
      status: 'warn',
      when: 'the agent has a rule or a limit that is not in force',
      remedy: 'sluice agent status shows the reason for each, sluice explain-error REASON the remedy'
    }
  },
  async run(context) {
    const { endpointsOf, pinsOf, readBundle } = await import('../../../agent/stream/bundle.ts')
    const file = join(context.dir, 'bundle.json')
    let bundle: ReturnType<typeof readBundle>
    try {
      bundle = readBundle(file)
    } catch (error) {
      return [{ id: 'agent.bundle', message: reasonOf(error) }]
    }
    if (bundle === null) return [{ id: 'agent.not_enrolled', message: `there is no ${file}` }]
    if (bundle.revoked_at !== undefined)
      return [{ id: 'agent.revoked', message: `${bundle.client_name} was revoked at ${bundle.revoked_at}` }]
    return context.isRunning
      ? askStatus(context)
      : [
          { id: 'agent.not_running', message: `no process uses ${context.dir}` },
          ...(await Promise.all(endpointsOf(bundle).map(endpoint => tryEndpoint(endpoint, pinsOf(bundle)))))
        ]
  }
})

async function askStatus({ dir }: DoctorContext): Promise<Finding<FindingId>[]> {
  const { askAgent } = await import('../../../agent/local/ask-agent.ts')
  const answer = await askAgent(dir, { command: 'status', args: {} }, systemClock)
  const { connected, reason, server_endpoint, not_in_force, rules } = answer as Status
  const found: Finding<FindingId>[] = connected
    ? [{ ok: `connected to ${server_endpoint}; ${plural(rules.open, 'rule')} open` }]
    : [{ id: 'agent.not_connected', message: `not connected to ${server_endpoint}: ${reason}` }]
  const failed = not_in_force.filter(({ message }) => message !== 'closed') // closed by a schedule
  if (failed.length > 0) {
    const named = failed.map(({ kind, id, reason }) => `${kind} ${id} (${reason})`)
    found.push({ id: 'agent.not_in_force', message: listNames(named, 3) })
  }
  return found
}

type Status = import('../../../agent/local/status-command.ts').AgentStatus

async function tryEndpoint(endpoint: string, pins: readonly string[]): Promise<Finding<FindingId>> {
  const { connectPinned, PinMismatch } = await import('../../../agent/stream/connect-pinned.ts')
  const { signal } = new AbortController()
  try {
    const socket = await connectPinned({ endpoint, pins, clock: systemClock, signal })
    socket.destroy()
    return { ok: `${endpoint} answers with the pinned certificate` }
  } catch (error) {
    const message = `${endpoint}: ${reasonOf(error)}`
    return { id: error instanceof PinMismatch ? 'agent.pin' : 'agent.unreachable_server', message }
  }
}

const maxJournalBytes = 2 ** 30

export const journal = defineCheck({
  name: 'journal',
  roles: ['agent'],
  findings: {
    'journal.large': {
      status: 'warn',
      when: 'saved rules and the delivery journal exceed 1 GiB: the server has not committed the journal for a long time',
      remedy: 'let the agent reach its server: committed entries are deleted after a day'
    },
    'journal.damaged': {
      status: 'fail',
      when: 'SQLite detects damage in the saved state',
      remedy:
        'stop the agent, move state.db elsewhere, and start the agent: the server sends all rules again; unreported bytes are lost'
    }
  },
  async run({ dir }) {
    const file = join(dir, 'state.db')
    if (!existsSync(file)) return [{ ok: 'the first start creates it' }]
    const { damageIn, openStateDatabase } = await import('../../../agent/state/state-database.ts')
    const { statSync } = await import('node:fs')
    let damage: string | null
    try {
      const db = openStateDatabase(dir)
      damage = damageIn(db)
      db.close()
    } catch (error) {
      damage = reasonOf(error)
    }
    if (damage !== null) return [{ id: 'journal.damaged', message: `${file}: ${damage}` }]
    const bytes = statSync(file).size
    const message = `${file} has ${Math.ceil(bytes / 2 ** 20)} MiB`
    return bytes > maxJournalBytes ? [{ id: 'journal.large', message }] : [{ ok: message }]
  }
})
