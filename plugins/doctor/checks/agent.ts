// An agent: its enrollment, its connection, and what it was told to forward.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../kernel/base/clock.ts'
import { reasonOf } from '../../../kernel/base/errors.ts'
import { type DoctorContext, defineCheck, type Finding } from '../exports.ts'
import { listOf, plural } from '../words.ts'

type Id =
  | 'agent.not_enrolled'
  | 'agent.bundle'
  | 'agent.revoked'
  | 'agent.not_running'
  | 'agent.not_connected'
  | 'agent.unreachable_server'
  | 'agent.pin'
  | 'agent.not_in_force'

export const agent = defineCheck<Id>({
  name: 'agent',
  of: ['agent'],
  findings: {
    'agent.not_enrolled': {
      status: 'fail',
      when: 'this host is not enrolled',
      remedy: 'run sluice client enroll NAME where you operate the server, and paste its command here'
    },
    'agent.bundle': {
      status: 'fail',
      when: 'the bundle cannot be read, or others may read it',
      remedy: 'correct its rights, or enroll again: sluice agent enroll'
    },
    'agent.revoked': {
      status: 'fail',
      when: 'the server has revoked this agent',
      remedy: 'run sluice client re-enroll NAME where you operate the server, and paste its command here'
    },
    'agent.not_running': {
      status: 'warn',
      when: 'no agent runs here: nothing is forwarded',
      remedy: 'systemctl start sluice-agent, or sluice agent run'
    },
    'agent.not_connected': {
      status: 'fail',
      when: 'the agent runs and is not connected to its server; it forwards what it has saved',
      remedy: 'its reason says why; check that the server runs, and the network on the way to it'
    },
    'agent.unreachable_server': {
      status: 'fail',
      when: 'the server does not answer from this host',
      remedy: 'check that the server runs, its endpoint (sluice settings show), and firewalls on the way'
    },
    'agent.pin': {
      status: 'fail',
      when: 'another certificate than the pinned one answers at the endpoint',
      remedy:
        'if the server was made anew, enroll again: sluice client re-enroll NAME; else somebody is in the way'
    },
    'agent.not_in_force': {
      status: 'warn',
      when: 'a rule or a limit is on this agent and not in force',
      remedy: 'sluice agent status names each with the reason, and sluice explain-error REASON the remedy'
    }
  },
  async run(context) {
    const { endpointsOf, pinsOf, readBundle } = await import('../../../agent/link/bundle.ts')
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
      ? asked(context)
      : [
          { id: 'agent.not_running', message: `nothing uses ${context.dir}` },
          ...(await Promise.all(endpointsOf(bundle).map(endpoint => tried(endpoint, pinsOf(bundle)))))
        ]
  }
})

async function asked({ dir }: DoctorContext): Promise<Finding<Id>[]> {
  const { askAgent } = await import('../../../agent/local/ask-agent.ts')
  const answer = await askAgent(dir, { command: 'status', args: {} }, systemClock)
  const { connected, reason, server_endpoint, not_in_force, rules } = answer as Status
  const found: Finding<Id>[] = connected
    ? [{ ok: `connected to ${server_endpoint}; ${plural(rules.open, 'rule')} open` }]
    : [{ id: 'agent.not_connected', message: `not connected to ${server_endpoint}: ${reason}` }]
  const failed = not_in_force.filter(({ message }) => message !== 'closed') // a schedule may close a rule
  if (failed.length > 0) {
    const named = failed.map(({ kind, id, reason }) => `${kind} ${id} (${reason})`)
    found.push({ id: 'agent.not_in_force', message: listOf(named, 3) })
  }
  return found
}

type Status = import('../../../agent/local/status-command.ts').AgentStatus

async function tried(endpoint: string, pins: readonly string[]): Promise<Finding<Id>> {
  const { connectPinned, PinMismatch } = await import('../../../agent/link/connect-pinned.ts')
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
  of: ['agent'],
  findings: {
    'journal.large': {
      status: 'warn',
      when: 'saved rules and the journal of delivered bytes have more than 1 GiB: the server has not committed them for long',
      remedy: 'let the agent reach its server: what is committed is deleted after a day'
    },
    'journal.damaged': {
      status: 'fail',
      when: 'SQLite finds damage in the saved state',
      remedy:
        'stop the agent, move state.db away, and start it: the server sends all rules again; unreported bytes are lost'
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
