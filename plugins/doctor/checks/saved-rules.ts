// The saved rules of an agent: their ports on this host, and the host names of their targets.
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { firstFreePort } from '../../../kernel/platform/low-port.ts'
import { loadSavedRules, type SavedRule } from '../../rules/command-exports.ts'
import { type DoctorContext, defineCheck, type Finding } from '../exports.ts'
import { listNames, plural } from '../finding-text.ts'
import { isOutgoing } from './ports.ts'

type PortFindingId = 'rule_ports.outgoing' | 'rule_ports.privileged'

export const rulePorts = defineCheck<PortFindingId>({
  name: 'rule_ports',
  roles: ['agent'],
  findings: {
    'rule_ports.outgoing': {
      status: 'warn',
      when: 'a rule listens on a port in the range for outgoing connections, so the port may be in use after a restart',
      remedy: 'reserve it: sysctl net.ipv4.ip_local_reserved_ports=PORT, or move the rule'
    },
    'rule_ports.privileged': {
      status: 'warn',
      when: 'a rule listens on a port that needs CAP_NET_BIND_SERVICE, which this user lacks',
      remedy: 'run the agent with the systemd unit of sluice service install, which has the capability'
    }
  },
  async run(context) {
    const { savedRules } = await loadSavedRules()
    const rules = savedRules(context.dir)
    const found: Finding<PortFindingId>[] = []
    const outgoing = rules.filter(({ listen_from, listen_to }) =>
      [listen_from, listen_to].some(port => isOutgoing(context, port))
    )
    const named = (rules: readonly SavedRule[]): string =>
      listNames(
        rules.map(({ rule_id, listen_from }) => `${listen_from} of rule ${rule_id}`),
        3
      )
    if (outgoing.length > 0) found.push({ id: 'rule_ports.outgoing', message: named(outgoing) })
    const low = rules.filter(({ listen_from }) => listen_from < firstFreePort())
    if (low.length > 0 && !context.isRunning && !canBindLowPorts(context))
      found.push({ id: 'rule_ports.privileged', message: named(low) })
    return found.length > 0 ? found : [{ ok: plural(rules.length, 'saved rule') }]
  }
})

const netBindService = 10 // the capability's number

function canBindLowPorts({ host }: Pick<DoctorContext, 'host'>): boolean {
  const [, effective = '0'] = /^CapEff:\s+([0-9a-f]+)$/m.exec(host.read('/proc/self/status') ?? '') ?? []
  return ((BigInt(`0x${effective}`) >> BigInt(netBindService)) & 1n) === 1n
}

type ResolverFindingId = 'resolver.none' | 'resolver.silent' | 'resolver.name'

export const resolver = defineCheck<ResolverFindingId>({
  name: 'resolver',
  roles: ['agent'],
  findings: {
    'resolver.none': {
      status: 'fail',
      when: 'targets have host names, but /etc/resolv.conf has no name server',
      remedy: 'add a name server to /etc/resolv.conf, or start systemd-resolved'
    },
    'resolver.silent': {
      status: 'fail',
      when: 'targets have host names, but no name server answers',
      remedy: 'check the name servers in /etc/resolv.conf and the path to them (port 53)'
    },
    'resolver.name': {
      status: 'warn',
      when: 'the host name of a target does not resolve on this host',
      remedy: 'correct the name in the rule or in its DNS zone'
    }
  },
  async run({ dir, host }) {
    const { openHosts } = await import('../../../agent/resolver/hosts.ts')
    const inFile = openHosts()
    const { savedRules } = await loadSavedRules()
    const hosts = savedRules(dir).flatMap(({ targets }) => targets.map(({ host }) => host))
    const names = [...new Set(hosts)].filter(host => isIP(host) === 0 && inFile(host) === null)
    if (names.length === 0) return [{ ok: 'no target of a saved rule has a host name' }]
    const servers = host.nameServers()
    if (servers.length === 0) return [{ id: 'resolver.none', message: 'there is no name server' }]
    return resolve(names.slice(0, maxNames), servers)
  }
})

const maxNames = 50 // to look up per run

async function resolve(
  names: readonly string[],
  servers: readonly string[]
): Promise<Finding<ResolverFindingId>[]> {
  const answers = await Promise.all(names.map(name => lookUpError(name, servers)))
  const isDead = (code: string | null): boolean => /^(ETIMEOUT|ECONNREFUSED)$/.test(code ?? '')
  if (answers.every(isDead))
    return [{ id: 'resolver.silent', message: `no answer from ${servers.join(', ')} (${answers[0]})` }]
  const wrong = names.filter((_, at) => answers[at] !== null)
  if (wrong.length === 0) return [{ ok: `${names.length} host names resolve` }]
  return [{ id: 'resolver.name', message: listNames(wrong) }]
}

/** Returns the DNS error code for a name, or null if it has an address. */
async function lookUpError(name: string, servers: readonly string[]): Promise<string | null> {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  resolver.setServers(servers)
  try {
    await Promise.any([resolver.resolve4(name), resolver.resolve6(name)])
    return null
  } catch (error) {
    return String((error as AggregateError).errors[0]?.code) // errors of node:dns have a code
  }
}
