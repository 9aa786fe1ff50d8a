// The rules that an agent has saved: their ports on this host, and the names of their targets.
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { firstFreePort } from '../../../kernel/platform/low-port.ts'
import { loadSavedRules, type SavedRule } from '../../rules/command-exports.ts'
import { type DoctorContext, defineCheck, type Finding } from '../exports.ts'
import { listOf } from '../words.ts'
import { isOutgoing } from './ports.ts'

type PortId = 'rule_ports.outgoing' | 'rule_ports.privileged'

export const rulePorts = defineCheck<PortId>({
  name: 'rule_ports',
  of: ['agent'],
  findings: {
    'rule_ports.outgoing': {
      status: 'warn',
      when: 'a rule listens on a port that the system gives to outgoing connections: after a restart it may be taken',
      remedy: 'reserve it: sysctl net.ipv4.ip_local_reserved_ports=PORT, or move the rule'
    },
    'rule_ports.privileged': {
      status: 'warn',
      when: 'a rule listens on a port that needs CAP_NET_BIND_SERVICE, and this user does not have it',
      remedy: 'run the agent as the unit of sluice service install, which has the capability'
    }
  },
  async run(context) {
    const { savedRules } = await loadSavedRules()
    const rules = savedRules(context.dir)
    const found: Finding<PortId>[] = []
    const outgoing = rules.filter(({ listen_from, listen_to }) =>
      [listen_from, listen_to].some(port => isOutgoing(context, port))
    )
    const named = (rules: readonly SavedRule[]): string =>
      listOf(
        rules.map(({ rule_id, listen_from }) => `${listen_from} of rule ${rule_id}`),
        3
      )
    if (outgoing.length > 0) found.push({ id: 'rule_ports.outgoing', message: named(outgoing) })
    const low = rules.filter(({ listen_from }) => listen_from < firstFreePort())
    if (low.length > 0 && !context.isRunning && !mayBindLow(context))
      found.push({ id: 'rule_ports.privileged', message: named(low) })
    return found.length > 0 ? found : [{ ok: `${rules.length} rules are saved` }]
  }
})

const netBindService = 10 // the number of the capability

function mayBindLow({ host }: Pick<DoctorContext, 'host'>): boolean {
  const [, effective = '0'] = /^CapEff:\s+([0-9a-f]+)$/m.exec(host.read('/proc/self/status') ?? '') ?? []
  return ((BigInt(`0x${effective}`) >> BigInt(netBindService)) & 1n) === 1n
}

type ResolverId = 'resolver.none' | 'resolver.silent' | 'resolver.name'

export const resolver = defineCheck<ResolverId>({
  name: 'resolver',
  of: ['agent'],
  findings: {
    'resolver.none': {
      status: 'fail',
      when: 'rules have targets with names, and /etc/resolv.conf has no name server',
      remedy: 'give one in /etc/resolv.conf, or start systemd-resolved'
    },
    'resolver.silent': {
      status: 'fail',
      when: 'rules have targets with names, and no name server answers',
      remedy: 'check the name servers of /etc/resolv.conf, and the way to them (port 53)'
    },
    'resolver.name': {
      status: 'warn',
      when: 'the name of a target does not resolve on this host',
      remedy: 'correct the name in the rule, or in the zone of your name server'
    }
  },
  async run({ dir, host }) {
    const { openHosts } = await import('../../../agent/resolver/hosts.ts')
    const inFile = openHosts()
    const { savedRules } = await loadSavedRules()
    const hosts = savedRules(dir).flatMap(({ targets }) => targets.map(({ host }) => host))
    const names = [...new Set(hosts)].filter(host => isIP(host) === 0 && inFile(host) === null)
    if (names.length === 0) return [{ ok: 'no target of a saved rule has a name' }]
    const servers = host.nameServers()
    if (servers.length === 0) return [{ id: 'resolver.none', message: 'there is no name server' }]
    return resolve(names.slice(0, maxNames), servers)
  }
})

const maxNames = 50 // that one run asks for

async function resolve(names: readonly string[], servers: readonly string[]): Promise<Finding<ResolverId>[]> {
  const answers = await Promise.all(names.map(name => codeOf(name, servers)))
  const isDead = (code: string | null): boolean => /^(ETIMEOUT|ECONNREFUSED)$/.test(code ?? '')
  if (answers.every(isDead))
    return [{ id: 'resolver.silent', message: `no answer from ${servers.join(', ')} (${answers[0]})` }]
  const wrong = names.filter((_, at) => answers[at] !== null)
  if (wrong.length === 0) return [{ ok: `${names.length} names of targets resolve` }]
  return [{ id: 'resolver.name', message: listOf(wrong) }]
}

/** Returns why a name has no address; null: it has one. */
async function codeOf(name: string, servers: readonly string[]): Promise<string | null> {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  resolver.setServers(servers)
  try {
    await Promise.any([resolver.resolve4(name), resolver.resolve6(name)])
    return null
  } catch (error) {
    return String((error as AggregateError).errors[0]?.code) // of node:dns
  }
}
